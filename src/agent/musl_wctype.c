/* wide.c - what letters are, for musl's regular expressions.
 *
 * The agent stays in the C locale, where a character is a byte and only ASCII has letters.
 * musl would link its tables of all of Unicode (13 KiB) to say the same; these four, found
 * first, keep them out. Other C libraries bring their own. */
#include <wctype.h>

#ifndef __GLIBC__
int iswalpha(wint_t c)
{
	return (c | 0x20) - 'a' < 26;
}

int iswpunct(wint_t c)
{
	return c - '!' < '~' - '!' + 1 && !iswalpha(c) && c - '0' >= 10;
}

wint_t towlower(wint_t c)
{
	return c - 'A' < 26 ? c | 0x20 : c;
}

wint_t towupper(wint_t c)
{
	return c - 'a' < 26 ? c & ~0x20U : c;
}
#endif
