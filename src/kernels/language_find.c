/* language_find.c - finds languages by name and by file; replaces the words in braces of their
 * commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "kernels/languages.h"

enum { ARGUMENT_SIZE = 16 * 1024 }; /* bytes; the longest of the table is java_snippets.java */

/* Writes " word " in lower case, as it stands in the lists of the table. Returns false for a word
 * that no list can have. */
static bool make_list_entry(const char *word, char *out, size_t size)
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

	if (!make_list_entry(name, listed, sizeof(listed)))
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

	if (dot == NULL || !make_list_entry(dot + 1, listed, sizeof(listed)))
		return NULL;
	for (size_t i = 0; i < language_count; i++)
		if (strstr(languages[i].extensions, listed) != NULL)
			return &languages[i];
	return NULL;
}

/* Cuts the next word off the line; empty at its end. */
static struct view cut_word(struct view *line)
{
	struct view word;

	while (line->len != 0 && (*line->ptr == ' ' || *line->ptr == '\t')) {
		line->ptr++;
		line->len--;
	}
	word = (struct view){ line->ptr, 0 };
	while (line->len != 0 && strchr(" \t\r", *line->ptr) == NULL) {
		line->ptr++;
		line->len--;
		word.len++;
	}
	return word;
}

/* python3.12 is python, perl5 is perl. */
static const struct language *find_versioned(struct view program)
{
	char name[32];

	if (program.len >= sizeof name)
		return NULL;
	memcpy(name, program.ptr, program.len);
	name[program.len] = '\0';
	for (size_t len = program.len; len != 0; len--) {
		const struct language *found = language_find(name);

		if (found != NULL || strchr("0123456789.", name[len - 1]) == NULL)
			return found;
		name[len - 1] = '\0';
	}
	return NULL;
}

const struct language *language_by_shebang(struct view code)
{
	const char *end = code.len != 0 ? memchr(code.ptr, '\n', code.len) : NULL;
	struct view line = { code.ptr, end != NULL ? (size_t)(end - code.ptr) : code.len };
	struct view word;

	if (!view_starts(line, "#!"))
		return NULL;
	line.ptr += 2;
	line.len -= 2;
	word = cut_word(&line);
	for (const char *slash; (slash = memrchr(word.ptr, '/', word.len)) != NULL;)
		word = (struct view){ slash + 1, word.len - (size_t)(slash + 1 - word.ptr) };
	/* env may have options and variables before the program. */
	if (view_is(word, "env"))
		do
			word = cut_word(&line);
		while (word.len != 0 &&
		       (*word.ptr == '-' || memchr(word.ptr, '=', word.len) != NULL));
	return find_versioned(word);
}

static const char *list_names(bool with_session, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < language_count; i++) {
		int n;

		if (with_session && languages[i].kernel == NULL)
			continue;
		n = snprintf(out + len, size - len, "%s%s", len == 0 ? "" : ", ",
		             languages[i].name);
		if (n < 0 || (size_t)n >= size - len) {
			out[len] = '\0'; /* the name did not fit */
			break;
		}
		len += (size_t)n;
	}
	return out;
}

const char *language_names(char *out, size_t size)
{
	return list_names(false, out, size);
}

const char *language_session_names(char *out, size_t size)
{
	return list_names(true, out, size);
}

int language_argument(const char *argument, const struct language_paths *paths, struct buf *ret,
                      struct error *err)
{
	const struct {
		const char *word, *value;
	} words[] = {
		{ "{program}", paths->program }, { "{file}", paths->file },
		{ "{dir}", paths->dir },         { "{out}", paths->out },
		{ "{memory}", paths->memory },
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

const char *const *language_command(const char *const *command, const struct language_paths *paths,
                                    const char *const *more, struct arena *arena)
{
	size_t count = 0, extra = 0;
	const char **argv;

	while (count < LANGUAGE_ARGS_MAX && command[count] != NULL)
		count++;
	while (more != NULL && more[extra] != NULL)
		extra++;
	argv = arena_new(arena, count + extra + 1, sizeof *argv);
	for (size_t i = 0; i < count; i++) {
		char text[ARGUMENT_SIZE] = "";
		struct buf filled = buf_fixed(text, sizeof text);
		struct error full; /* cannot happen: the text is larger than any argument */

		(void)!language_argument(command[i], paths, &filled, &full);
		argv[i] = arena_text(arena, text);
	}
	for (size_t i = 0; i < extra; i++)
		argv[count + i] = more[i];
	return argv;
}
