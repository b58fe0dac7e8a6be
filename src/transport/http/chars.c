#include "transport/http/chars.h"

#define TEXT   CHAR_VALUE
#define TOKEN  (CHAR_VALUE | CHAR_TOKEN)
#define SIGN   (CHAR_VALUE | CHAR_TOKEN | CHAR_TARGET) /* also a character of paths */
#define PATH   (CHAR_VALUE | CHAR_TARGET)
#define HOST   (SIGN | CHAR_HOST)
#define LETTER HOST
#define HEX    (HOST | CHAR_HEX)
#define DIGIT  (HEX | CHAR_DIGIT)

/* Host names of machines, not all of RFC 3986: letters, digits, '-', '.' and '_'. */
const unsigned char char_classes[256] = {
	['\t'] = TEXT,          [' '] = TEXT,        ['"'] = TEXT,           ['<'] = TEXT,
	['>'] = TEXT,           ['['] = TEXT,        ['\\'] = TEXT,          [']'] = TEXT,
	['{'] = TEXT,           ['}'] = TEXT,        ['#'] = TOKEN,          ['^'] = TOKEN,
	['`'] = TOKEN,          ['|'] = TOKEN,       ['!'] = SIGN,           ['$'] = SIGN,
	['%'] = SIGN,           ['&'] = SIGN,        ['\''] = SIGN,          ['*'] = SIGN,
	['+'] = SIGN,           ['~'] = SIGN,        ['('] = PATH,           [')'] = PATH,
	[','] = PATH,           ['/'] = PATH,        [':'] = PATH,           [';'] = PATH,
	['='] = PATH,           ['?'] = PATH,        ['@'] = PATH,           ['-'] = HOST,
	['.'] = HOST,           ['_'] = HOST,        ['0' ... '9'] = DIGIT,  ['A' ... 'F'] = HEX,
	['G' ... 'Z'] = LETTER, ['a' ... 'f'] = HEX, ['g' ... 'z'] = LETTER, [0x80 ... 0xff] = TEXT,
};
