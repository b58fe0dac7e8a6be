#include "tools/packages/project_command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/view.h"
#include "engine/spec.h"
#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "tools/files/edit_lock.h"

enum { WORD_SIZE = 300, COMMAND_MAX = 256 * 1024 };

/* --- the words of a command --- */

enum token { TOKEN_WORD, TOKEN_BREAK, TOKEN_END };

struct scanner {
	struct view rest;
	char word[WORD_SIZE]; /* without quotes */
	bool is_plain;        /* the shell expands nothing in it, and it is complete */
	char here[64];        /* the delimiter of a here-document that begins on the next line */
};

static void skip_byte(struct scanner *scanner)
{
	scanner->rest.ptr++;
	scanner->rest.len--;
}

static char next_byte(const struct scanner *scanner)
{
	return scanner->rest.len != 0 ? scanner->rest.ptr[0] : '\0';
}

static bool is_break(char byte)
{
	return byte != '\0' && strchr(";&|()\n", byte) != NULL;
}

/* Reads the delimiter behind "<<". */
static void read_here(struct scanner *scanner)
{
	size_t len = 0;

	while (scanner->rest.len != 0 && strchr("<- \t", next_byte(scanner)) != NULL)
		skip_byte(scanner);
	while (scanner->rest.len != 0 && strchr(" \t\n;&|()<>", next_byte(scanner)) == NULL) {
		char byte = next_byte(scanner);

		if (strchr("'\"\\", byte) == NULL && len + 1 < sizeof scanner->here)
			scanner->here[len++] = byte;
		skip_byte(scanner);
	}
	scanner->here[len] = '\0';
}

static void skip_here(struct scanner *scanner)
{
	struct view line;

	while (scanner->here[0] != '\0' && view_next_line(&scanner->rest, &line)) {
		while (line.len != 0 && line.ptr[0] == '\t') {
			line.ptr++;
			line.len--;
		}
		if (view_is(line, scanner->here))
			break;
	}
	scanner->here[0] = '\0';
}

/* The bytes of one word, until a space or a break that is not quoted. */
static void read_word(struct scanner *scanner)
{
	char quote = '\0';
	size_t len = 0;

	scanner->is_plain = true;
	for (; scanner->rest.len != 0; skip_byte(scanner)) {
		char byte = next_byte(scanner);

		if (quote == '\0' && (isspace((unsigned char)byte) || is_break(byte)))
			break;
		if (quote == '\0' && byte == '<' && view_starts(scanner->rest, "<<") &&
		    !view_starts(scanner->rest, "<<<")) {
			read_here(scanner);
			scanner->is_plain = false;
			break;
		}
		if (byte == '\\' && quote != '\'' && scanner->rest.len > 1) {
			skip_byte(scanner);
			scanner->is_plain = false;
			continue;
		}
		if (quote == byte || (quote == '\0' && (byte == '\'' || byte == '"'))) {
			quote = quote == byte ? '\0' : byte;
			continue;
		}
		if (len + 1 == sizeof scanner->word ||
		    (quote != '\'' && byte != '\0' && strchr("$`~*?[{<>", byte) != NULL))
			scanner->is_plain = false;
		if (len + 1 < sizeof scanner->word)
			scanner->word[len++] = byte;
	}
	scanner->word[len] = '\0';
}

static enum token next_token(struct scanner *scanner)
{
	struct view line;

	while (next_byte(scanner) != '\n' && isspace((unsigned char)next_byte(scanner)))
		skip_byte(scanner);
	if (scanner->rest.len == 0)
		return TOKEN_END;
	if (next_byte(scanner) == '#') {
		(void)view_next_line(&scanner->rest, &line);
		skip_here(scanner);
		return TOKEN_BREAK;
	}
	if (is_break(next_byte(scanner))) {
		bool is_line = next_byte(scanner) == '\n';

		skip_byte(scanner);
		if (is_line)
			skip_here(scanner);
		return TOKEN_BREAK;
	}
	read_word(scanner);
	return TOKEN_WORD;
}

/* --- programs --- */

/* Programs of a project; `words`: only with one of these as the first argument, else with any. */
static const struct starter {
	const char *name;
	bool is_python, takes_script;
	const char *words;
} starters[] = {
	{ "python", true, true, NULL },
	{ "pip", true, false, " install " },
	{ "pip3", true, false, " install " },
	{ "pytest", true, true, NULL },
	{ "flask", true, false, NULL },
	{ "uvicorn", true, false, NULL },
	{ "gunicorn", true, false, NULL },
	{ "streamlit", true, false, NULL },
	{ "celery", true, false, NULL },
	{ "django-admin", true, false, NULL },
	{ "node", false, true, NULL },
	{ "nodejs", false, true, NULL },
	{ "tsx", false, true, NULL },
	{ "ts-node", false, true, NULL },
	{ "npm", false, false, " install i ci run run-script start test t exec " },
	{ "npx", false, false, NULL },
	{ "yarn", false, false, NULL },
	{ "pnpm", false, false, NULL },
};

/* "python3.11" is python. A program elsewhere than in the directories of the system and in the
 * sandbox's environment has an environment of its own, which installed packages are no part of. */
static const struct starter *find_starter(const char *word)
{
	static const char *const places[] = { "/usr/bin/", "/usr/local/bin/", "/bin/",
		                              SPEC_PYTHON "/bin/" };
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (strncmp(word, places[i], strlen(places[i])) == 0) {
			word += strlen(places[i]);
			break;
		}
	len = strlen(word);
	if (strncmp(word, "python", 6) == 0 && strspn(word + 6, "0123456789.") == len - 6)
		len = 6;
	for (size_t i = 0; i < ARRAY_LEN(starters); i++)
		if (strlen(starters[i].name) == len && memcmp(starters[i].name, word, len) == 0)
			return &starters[i];
	return NULL;
}

/* Words in front of a program: of the shell, programs that run another one, their options and
 * numbers, and variables. */
static bool is_prefix(const char *word)
{
	static const char words[] = " env exec time nohup command sudo timeout nice stdbuf do then "
	                            "else if while until ! { ";
	char padded[WORD_SIZE + 3];

	(void)snprintf(padded, sizeof padded, " %s ", word);
	return strstr(words, padded) != NULL || word[0] == '-' || isdigit((unsigned char)word[0]) ||
	       (strchr(word, '=') != NULL && strchr(word, '=') != word);
}

static bool is_question(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	       strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool suits_starter(const struct starter *starter, const char *argument)
{
	char padded[WORD_SIZE + 3];

	(void)snprintf(padded, sizeof padded, " %.*s ", WORD_SIZE, argument);
	return !is_question(argument) &&
	       (starter->words == NULL || strstr(starter->words, padded) != NULL);
}

/* --- directories --- */

static bool add_dir(struct project_place *place, const char *base, const char *path)
{
	AUTO_FREE char *joined = mem_format("%s/%s", path[0] == '/' ? "" : base, path);
	AUTO_FREE char *normal = normalize_path(joined);

	if (place->dir_count == ARRAY_LEN(place->dirs) || strlen(normal) >= PROJECT_DIR_SIZE ||
	    (place->dir_count == 1 && strcmp(place->dirs[0], normal) == 0))
		return false;
	memcpy(place->dirs[place->dir_count++], normal, strlen(normal) + 1);
	return true;
}

static bool enter_dir(struct project_place *place, const char *path)
{
	char base[PROJECT_DIR_SIZE];

	memcpy(base, place->dirs[0], sizeof base);
	place->dir_count = 0;
	return add_dir(place, base, path);
}

/* Adds the directory of the script, if the argument is the path of one in another directory. */
static void add_script(struct project_place *place, const char *word)
{
	static const char *const endings[] = { ".py", ".js", ".mjs", ".cjs", ".ts" };
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; slash != NULL && slash != word && i < ARRAY_LEN(endings); i++)
		if (view_ends(view_of(word), endings[i])) {
			AUTO_FREE char *dir = mem_format("%.*s", (int)(slash - word), word);

			(void)add_dir(place, place->dirs[0], dir);
			return;
		}
}

/* --- the run --- */

/* Reads the first argument of the program that has just been read. */
static bool read_argument(struct scanner argument, const struct starter *starter,
                          struct project_place *place)
{
	if (next_token(&argument) != TOKEN_WORD)
		argument.word[0] = '\0';
	if (!suits_starter(starter, argument.word))
		return false;
	place->is_python = starter->is_python;
	if (starter->takes_script && argument.is_plain)
		add_script(place, argument.word);
	return true;
}

static bool find_in_command(struct view command, struct project_place *place)
{
	struct scanner scanner = { .rest = command };
	bool is_start = true; /* of a simple command */
	enum token token;

	while ((token = next_token(&scanner)) != TOKEN_END) {
		const struct starter *starter;

		if (token == TOKEN_BREAK) {
			is_start = true;
			continue;
		}
		if (!is_start || is_prefix(scanner.word))
			continue;
		is_start = false;
		if (strcmp(scanner.word, "cd") == 0) {
			if (next_token(&scanner) != TOKEN_WORD || !scanner.is_plain ||
			    !enter_dir(place, scanner.word))
				return false;
			continue;
		}
		starter = find_starter(scanner.word);
		if (starter != NULL && read_argument(scanner, starter, place))
			return true;
	}
	return false;
}

static bool find_in_argv(const char *const *argv, struct project_place *place)
{
	const struct starter *starter = find_starter(argv[0]);
	const char *argument = argv[1] != NULL ? argv[1] : "";

	if (starter == NULL || !suits_starter(starter, argument))
		return false;
	place->is_python = starter->is_python;
	if (starter->takes_script)
		add_script(place, argument);
	return true;
}

bool project_place_find(const struct process_options *options, struct project_place *ret)
{
	const char *name = options->language != NULL ? options->language->name : NULL;

	*ret = (struct project_place){ 0 };
	if (!add_dir(ret, SPEC_WORKSPACE, options->cwd != NULL ? options->cwd : "."))
		return false;
	if (options->argv != NULL)
		return find_in_argv(options->argv, ret);
	if (name == NULL)
		return find_in_command(view_of(options->command), ret);
	if (strcmp(name, "bash") == 0)
		return options->code.len <= COMMAND_MAX && find_in_command(options->code, ret);
	ret->is_python = strcmp(name, "python") == 0;
	return ret->is_python || strcmp(name, "javascript") == 0 || strcmp(name, "typescript") == 0;
}
