/* verb.h - the verbs of the command line: one verb, one file, one record.
 *
 * A record drives the dispatch, the help, the manual page and the completions. A verb is added by a
 * file with `const struct verb verb_x`, a declaration below and a row in verbs.c. A verb with
 * options has a bit in enum option_verb (server/options/options.h), and each of its options names
 * that bit in option_specs.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct error;
struct options;

/* Each value is also the exit status of the program. */
enum verb_result { VERB_DONE = 0, VERB_FAILED = 1, VERB_MISUSED = 2 };

struct verb_call {
	const struct options *options; /* loaded for this verb */
	const char *const *operands;   /* NULL-terminated; their number is checked */
	bool separator;                /* "--" was among the arguments */
	int *status; /* set by a verb that is VERB_DONE with a status other than 0 */
};

/* Fills *err when the result is not VERB_DONE. */
typedef enum verb_result verb_fn(const struct verb_call *call, struct error *err);

struct verb_example {
	const char *command, *what;
};

struct verb {
	const char *name;
	const char *operand;                   /* such as "CLIENT"; NULL: the verb takes none */
	bool operand_needed;                   /* false: the operand may be left out */
	const char *operand_rest;              /* the further operands in the usage; NULL: none */
	const char *(*operand_choice)(size_t); /* the i-th known operand, NULL past the last */
	const char *summary;                   /* one sentence */
	const char *help;                      /* paragraphs, an empty line between two */
	const struct verb_example *examples;   /* the last one has a NULL command */
	unsigned options;                      /* an option_verb bit, or 0 */
	bool hidden;                           /* left out of help and completions */
	verb_fn *run;
};

extern const struct verb verb_serve, verb_connect, verb_doctor, verb_completion, verb_help,
        verb_version, verb_generate, verb_exec, verb_ps, verb_rm, verb_run, verb_shell, verb_logs,
        verb_client, verb_cp, verb_token, verb_cache, verb_port;

/* The i-th verb in the order of the help; NULL past the last. */
const struct verb *verb_at(size_t i);
const struct verb *verb_find(const char *name); /* NULL: there is no such verb */
/* The name of the i-th verb that is not hidden; NULL past the last. */
const char *verb_name_at(size_t i);
