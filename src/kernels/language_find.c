/* language_find.c - finds languages by name and by file; replaces the words in braces of their
 * commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernels/languages.h"

/* Writes " word " in lower case, as it stands in the lists of the table. False: no list has it. */
static bool make_listed(const char *word, char *out, size_t size)
{
	size_t len = strlen(word);

	if (len == 0 || len + 3 > size || strpbrk(word, " \t\r\n") != NULL)
		return false;
	(void)snprintf(out, size, " %s ", word);
	for (char *c = out; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return true;
}

const struct language *language_find(const char *name)
{
	char listed[32];

	if (!make_listed(name, listed, sizeof(listed)))
		return NULL;
	for (size_t i = 0; i < language_count; i++) {
		struct view wanted = { listed + 1, strlen(listed) - 2 };

		if (view_is(wanted, languages[i].name) ||
		    strstr(languages[i].aliases, listed) != NULL)
			return &languages[i];
	}
	return NULL;
}

const struct language *language_by_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash != NULL ? slash : path, '.');
	char listed[32];

	if (dot == NULL || !make_listed(dot + 1, listed, sizeof(listed)))
		return NULL;
	for (size_t i = 0; i < language_count; i++)
		if (strstr(languages[i].extensions, listed) != NULL)
			return &languages[i];
	return NULL;
}

const char *language_names(char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < language_count; i++) {
		int n = snprintf(out + len, size - len, "%s%s", i == 0 ? "" : ", ",
		                 languages[i].name);

		if (n < 0 || (size_t)n >= size - len) {
			out[len] = '\0'; /* the name did not fit */
			break;
		}
		len += (size_t)n;
	}
	return out;
}

int language_argument(const char *argument, const struct language_paths *paths, struct buf *ret,
                      struct error *err)
{
	const struct {
		const char *word, *value;
	} words[] = {
		{ "{program}", paths->program },
		{ "{file}", paths->file },
		{ "{dir}", paths->dir },
		{ "{out}", paths->out },
	};

	while (*argument != '\0') {
		struct view add = { argument, 1 };
		size_t taken = 1;

		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			if (!view_starts(view_of(argument), words[i].word))
				continue;
			add = view_of(words[i].value);
			taken = strlen(words[i].word);
		}
		if (buf_add(ret, add, err) < 0)
			return -1;
		argument += taken;
	}
	return 0;
}
