/* language_input.c - recognizes code that reads its standard input, for hints. */
#include <ctype.h>
#include <string.h>

#include "kernels/languages.h"

enum { WORDS_MAX = 4 };

static const struct reader {
	const char *languages; /* names with blanks around them */
	const char *words[WORDS_MAX];
} readers[] = {
	{ " python ", { "sys.stdin", "input(" } },
	{ " javascript typescript ", { "process.stdin", "readFileSync(0", "/dev/stdin" } },
	{ " bash sh zsh fish ", { "read " } },
	{ " ruby ", { "gets", "STDIN", "$stdin" } },
	{ " java kotlin scala groovy ", { "System.in", "readLine", "readln" } },
	{ " c cpp ", { "scanf", "cin", "stdin", "getchar" } },
	{ " go ", { "fmt.Scan", "os.Stdin" } },
	{ " rust ", { "stdin()" } },
	{ " perl ", { "STDIN", "<>" } },
	{ " r ", { "readline(", "stdin" } },
	{ " php lua ", { "STDIN", "php://stdin", "io.read" } },
};

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether the code has the word, and not only as the end of a longer word. */
static bool has_word(struct view code, const char *word)
{
	const size_t len = strlen(word);
	const char *at = code.ptr;

	while (code.len != 0 && (at = memmem(at, (size_t)(code.ptr + code.len - at), word, len))) {
		if (at == code.ptr || !is_letter(at[-1]) || !is_letter(word[0]))
			return true;
		at++;
	}
	return false;
}

bool language_reads_input(const struct language *language, struct view code)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		if (!view_list_has(view_of(readers[i].languages), ' ', language->name))
			continue;
		for (size_t w = 0; w < WORDS_MAX && readers[i].words[w] != NULL; w++)
			if (has_word(code, readers[i].words[w]))
				return true;
	}
	return false;
}
