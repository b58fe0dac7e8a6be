/* languages.h - the languages run_code knows, as a table: how to find what runs them, under which
 * name the code is saved, how it is compiled.
 *
 * What is there is found out inside a sandbox, by looking where its programs would look: a probe
 * is one shell script made from the table, which prints a line for each language it finds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;
struct kernel_program;

enum { LANGUAGES_MAX = 40, LANGUAGE_RUNNERS_MAX = 5, LANGUAGE_ARGS_MAX = 10 };

/* One way to run it. `compile` and `run` are whole command lines, in which {program} is what was
 * found, {file} the saved code, {dir} its directory, {out} a program to be made there; see
 * language_argument(). */
struct language_runner {
	const char *program; /* looked for in PATH */
	/* A shell test that must hold too, where $P is the program's path; or NULL. */
	const char *needs;
	const char *compile[LANGUAGE_ARGS_MAX]; /* NULL at [0]: there is no such step */
	const char *run[LANGUAGE_ARGS_MAX];
	const char *version[4]; /* arguments that make it tell its version */
};

struct language {
	const char *name;                    /* "javascript" */
	const char *title;                   /* "JavaScript" */
	const char *aliases;                 /* " js node " with a space on both sides of each */
	const char *extension;               /* "js"; first of the list for `belljar run FILE` */
	const char *extensions;              /* " js mjs cjs " */
	const char *file;                    /* "main.js" */
	const struct kernel_program *kernel; /* that keeps state and starts fast; or NULL */
	struct language_runner runners[LANGUAGE_RUNNERS_MAX]; /* the first that is there is used */
};

extern const struct language languages[];
extern const size_t language_count;

/* By name or alias, whatever the case; NULL: there is none. */
const struct language *language_find(const char *name);
const struct language *language_by_file(const char *path); /* by extension; or NULL */
/* "python, javascript, ..." */
const char *language_names(char *out, size_t size);

/* What stands for the words in braces. */
struct language_paths {
	const char *program, *file, *dir, *out;
};
/* Adds one argument of a command line to *ret, with its words in braces replaced. */
MUST_CHECK int language_argument(const char *argument, const struct language_paths *place,
                                 struct buf *ret, struct error *err);

/* What a sandbox has, by index into languages[]. */
struct language_found {
	bool known; /* the probe was asked */
	struct {
		signed char runner; /* -1: it is not there */
		char path[128];     /* of the program */
		char version[64];   /* as it says it, one line; "" if it did not say */
	} of[LANGUAGES_MAX];
};

/* Writes a script for `sh -c` that prints one line "LANGUAGE RUNNER PATH" for each language it finds,
 * where the first two are indexes; with `versions` a tab and the version follow. Without versions it
 * is fast: it starts no process but those of runners with `needs`. */
MUST_CHECK int language_probe_script(struct buf *script, bool versions, struct error *err);
/* ERR_NOT_FOUND: the language is not there, and which are. */
int language_not_found(const struct language_found *found, const struct language *language,
                       struct error *err);
/* What a probe printed; the text may be anything. Lines that make no sense are passed over. */
void language_probe_parse(struct view text, struct language_found *ret);
