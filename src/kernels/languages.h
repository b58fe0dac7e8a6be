/* languages.h - the languages of run_code as a table: how their programs are found, under which
 * name code is saved, how it is compiled and run.
 *
 * Which languages a sandbox has is found out inside it by a probe: one shell script made from the
 * table, which looks along PATH and prints a line for each language it finds.
 *
 * To add a language, add a row to languages.c. Its runners are the ways to run it, each with the
 * program to look for, the best for most users first. A language with a kernel (kernels.h) has
 * sessions; without one, code is saved to a file, compiled if there is a command for that, and
 * run. The words of language_input.c show that its code reads standard input. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct arena;
struct buf;
struct error;
struct kernel_program;

enum { LANGUAGES_MAX = 48, LANGUAGE_RUNNERS_MAX = 8, LANGUAGE_ARGS_MAX = 12 };

/* One way to run a language. `compile` and `run` are whole command lines, in which {program} stands
 * for the path that was found, {file} for the saved code, {dir} for its directory, {out} for the
 * compiled program and {memory} for the bytes of memory that the sandbox may use; see
 * language_argument(). */
struct language_runner {
	const char *program; /* looked for along PATH */
	/* A shell test that must succeed too, where $P is the program's path and `has NAME` looks
	 * for a further program along PATH; or NULL. */
	const char *needs;
	/* A shell test that only the probe with versions makes, because it takes longer, or NULL:
	 * the program compiles and links. `builds ARGUMENTS...` runs it on its standard input. */
	const char *check;
	const char *compile[LANGUAGE_ARGS_MAX]; /* NULL at [0]: the language is not compiled */
	const char *run[LANGUAGE_ARGS_MAX];
	/* Descriptor 3 of the program is a socket on which it tells the server what it displays:
	 * SHOWN and CLEARED of sandbox/interpreter/kernel_wire.h. */
	bool has_displays;
	/* RLIMIT_DATA is set below the memory limit: for programs that raise an error when an
	 * allocation fails, which the kernel would otherwise kill. */
	bool limits_data;
	/* The kernel of fresh runs by this runner, if it is another one than that of the language;
	 * or NULL. */
	const struct kernel_program *kernel;
	const char *version[4]; /* arguments with which the program prints its version */
};

struct language {
	const char *name;                    /* "javascript" */
	const char *title;                   /* "JavaScript" */
	const char *aliases;                 /* " js node " with a space on both sides of each */
	const char *extensions;              /* " js mjs cjs ", for `belljar run FILE` */
	const char *file;                    /* "main.js": the name under which code is saved */
	const struct kernel_program *kernel; /* keeps state between runs; or NULL */
	struct language_runner runners[LANGUAGE_RUNNERS_MAX]; /* the first that is found is used */
};

extern const struct language languages[];
extern const size_t language_count;

/* By name or alias, in any case; or NULL. */
const struct language *language_find(const char *name);
const struct language *language_by_file(const char *path); /* by extension; or NULL */
/* By the interpreter that the code's first line names ("#!/usr/bin/env python3"); or NULL. */
const struct language *language_by_shebang(struct view code);
/* Whether code of this language seems to read its standard input. */
bool language_reads_input(const struct language *language, struct view code);
/* Writes "python, javascript, ...", as many whole names as fit. Returns out. */
const char *language_names(char *out, size_t size);
/* Like language_names(), for the languages that have sessions. */
const char *language_session_names(char *out, size_t size);

/* The values of the words in braces. */
struct language_paths {
	const char *program, *file, *dir, *out, *memory;
};
/* Appends one argument of a command line, with its words in braces replaced. */
MUST_CHECK int language_argument(const char *argument, const struct language_paths *paths,
                                 struct buf *ret, struct error *err);
/* A whole command line of a runner, with the words in braces replaced and the arguments `more` (or
 * NULL) appended. The result is allocated in the arena and points to the strings of `more`. */
const char *const *language_command(const char *const *command, const struct language_paths *paths,
                                    const char *const *more, struct arena *arena) RETURNS_NONNULL;

/* The languages of a sandbox, by index into languages[]. */
struct language_found {
	bool known; /* a probe has run */
	struct {
		signed char runner; /* index into runners[]; -1: not installed */
		char path[128];     /* of the program */
		char version[64];   /* one printable line, or "" */
	} of[LANGUAGES_MAX];
};

/* Writes a script for `sh -c` that prints one line "LANGUAGE RUNNER PATH" for each language it
 * finds, where the first two are indexes; with `versions` a tab and the version follow. Without
 * versions it is fast: it starts no process but those of runners with `needs`. */
MUST_CHECK int language_probe_script(struct buf *script, bool versions, struct error *err);
/* Sets ERR_NOT_FOUND, which names the languages that are installed. Returns -1. */
int language_not_found(const struct language_found *found, const struct language *language,
                       struct error *err);
/* Decodes what a probe printed. The sandbox is hostile, so any text is accepted: lines that do not
 * follow the format, or that name a language twice, are ignored. */
void language_probe_parse(struct view text, struct language_found *ret);
