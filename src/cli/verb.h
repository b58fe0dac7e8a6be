/* verb.h - what the program can be told to do: one verb, one file, one record.
 *
 * A record drives the dispatch, the help, the manual page and the completions. To add a
 * verb: its file with `const struct verb verb_x`, a line below, a line in verbs.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct error;
struct options;

/* Also the program's exit status. */
enum verb_result { VERB_DONE = 0, VERB_FAILED = 1, VERB_MISUSED = 2 };

struct verb_call {
	const struct options *options; /* loaded for this verb */
	const char *const *operands;   /* NULL-terminated, their number checked */
	int *status;                   /* the exit status of VERB_DONE, if not 0 */
};

/* Fills *err when the result is not VERB_DONE. */
typedef enum verb_result verb_fn(const struct verb_call *call, struct error *err);

struct verb_example {
	const char *command, *what;
};

struct verb {
	const char *name;
	const char *operand;                   /* "CLIENT"; NULL: takes none */
	bool operand_needed;                   /* else it may be left out */
	bool operand_rest;                     /* any number may follow */
	const char *(*operand_choice)(size_t); /* the i-th known operand, NULL behind the last */
	const char *summary;                   /* one sentence */
	const char *help;                      /* paragraphs, an empty line between two */
	const struct verb_example *examples;   /* ends with a NULL command */
	unsigned options;                      /* an option_verb bit, or 0 */
	bool hidden;                           /* not in help and completions */
	verb_fn *run;
};

extern const struct verb verb_serve, verb_connect, verb_doctor, verb_completion, verb_help,
        verb_version, verb_generate, verb_exec, verb_ps, verb_rm, verb_run, verb_shell, verb_logs,
        verb_client, verb_cp;

/* In the order of the help; NULL behind the last. */
const struct verb *verb_at(size_t i);
const struct verb *verb_find(const char *name); /* NULL if there is none */
const char *verb_name_at(size_t i);             /* without the hidden ones */
