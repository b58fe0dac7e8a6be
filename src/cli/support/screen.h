/* screen.h - a program in a sandbox that has a terminal of its own, connected to the one of this
 * process: for `shell` and `exec --terminal`. */
#pragma once
#include "cli/verb.h"

struct error;

struct screen_options {
	const struct verb_call *call;
	const char *sandbox; /* name or id; NULL: a new temporary sandbox */
	const char *const *argv;
	const char *what; /* the description for the history; NULL: the arguments */
};

/* Fails as misuse if standard input and output are not a terminal. */
enum verb_result screen_run(const struct screen_options *options, struct error *err);
