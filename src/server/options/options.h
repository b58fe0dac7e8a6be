/* options.h - every setting of the program, in one table.
 *
 * A row of option_specs drives the command line (--max-line), the environment
 * (BELLJAR_MAX_LINE), the configuration file (max_line), the help, the manual page and
 * the completions. To add an option: a member of struct options, an id, a row.
 *
 * Settings may come from anywhere. What says what to do this once (write, json) comes
 * from flags only: a variable left behind must not make `connect` edit a file.
 *
 *   options_parse_args -> options_load -> use -> options_done, option_args_done
 *
 * A flag wins over the environment, the environment over the file, the file over the
 * default. Texts in struct options are its own copies and live until options_done(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/log.h"
#include "engine/spec.h"

struct error;

enum engine_choice { ENGINE_NATIVE, ENGINE_CHOICES };

struct options {
	const char *config; /* the file that was read; NULL: there is none */
	enum log_level log_level;
	uint64_t max_line;          /* bytes of one message */
	uint64_t max_depth;         /* JSON nesting of a message */
	uint64_t max_values;        /* JSON values of a message */
	uint64_t max_batch;         /* messages in a batch */
	uint64_t max_calls;         /* calls in progress per client */
	uint64_t max_held;          /* bytes of messages whose calls are in progress */
	uint64_t max_subscriptions; /* subscriptions and listen streams per client */
	uint64_t max_queue;         /* bytes waiting for a client that does not read */
	uint64_t page_size;         /* entries per page of a list */
	uint64_t grace_ms;          /* for running calls, when client or server end */
	const char *state_dir;      /* NULL: the usual one */
	const char *tools_dir, *skills_dir, *mounts; /* directories of the host to show; or NULL */
	struct spec_limits limits; /* of a sandbox, unless somebody says otherwise */
	enum spec_syscalls calls;
	bool one_id, no_cgroups, no_quota; /* weaker than could be had */
	const char *require;               /* layers without which nothing starts; NULL: none */
	const char *gpu;                   /* none, auto, a number, a name */
	const char *cdi_dirs;              /* ":" between */
	enum engine_choice engine;
	const char *profile;         /* the set of tools */
	const char *allow_path;      /* directories to copy from and to, ":" between; or NULL */
	bool no_roots;               /* directories the client names do not count */
	uint64_t idle_s, lifetime_s; /* of a sandbox, unless somebody says otherwise; 0: never */
	struct {
		uint64_t sandboxes, processes, memory, disk;
	} owner;                          /* what one owner may have; 0: as much as there is */
	uint64_t answer_ms;               /* a call answers after so long, whatever still runs */
	uint64_t run_timeout_s;           /* of what was started without one */
	uint64_t max_output, output_file; /* bytes: of text in an answer, of a file that has all */
	uint64_t picture_pixels, picture_bytes;
	uint64_t copy_size;   /* bytes of one copy */
	const char *language; /* run; NULL: by the file's name */
	bool keep;            /* run */
	const char *sandbox;  /* exec; NULL: a new one, for this once */
	uint64_t timeout_s;   /* exec; 0: none */
	bool json;            /* doctor */
	bool write;           /* connect */
	const char *name;     /* connect */
	const char *file;     /* connect; NULL: the client's usual file */
	uint64_t flags;       /* bit OPTION_X: said on the command line, this once */

	struct arena texts;
};

enum option_id {
	OPTION_CONFIG,
	OPTION_LOG_LEVEL,
	OPTION_MAX_LINE,
	OPTION_MAX_DEPTH,
	OPTION_MAX_VALUES,
	OPTION_MAX_BATCH,
	OPTION_MAX_CALLS,
	OPTION_MAX_HELD,
	OPTION_MAX_SUBSCRIPTIONS,
	OPTION_MAX_QUEUE,
	OPTION_PAGE_SIZE,
	OPTION_GRACE,
	OPTION_STATE_DIR,
	OPTION_TOOLS_DIR,
	OPTION_SKILLS_DIR,
	OPTION_MOUNTS,
	OPTION_MEMORY,
	OPTION_SWAP,
	OPTION_CPU,
	OPTION_PIDS,
	OPTION_DISK,
	OPTION_INODES,
	OPTION_FILE_SIZE,
	OPTION_OPEN_FILES,
	OPTION_CALLS,
	OPTION_GPU,
	OPTION_CDI_DIRS,
	OPTION_ONE_ID,
	OPTION_NO_CGROUPS,
	OPTION_NO_QUOTA,
	OPTION_REQUIRE,
	OPTION_ENGINE,
	OPTION_PROFILE,
	OPTION_ALLOW_PATH,
	OPTION_NO_ROOTS,
	OPTION_IDLE,
	OPTION_LIFETIME,
	OPTION_OWNER_SANDBOXES,
	OPTION_OWNER_PROCESSES,
	OPTION_OWNER_MEMORY,
	OPTION_OWNER_DISK,
	OPTION_ANSWER_WITHIN,
	OPTION_RUN_TIMEOUT,
	OPTION_MAX_OUTPUT,
	OPTION_OUTPUT_FILE,
	OPTION_PICTURE_PIXELS,
	OPTION_PICTURE_BYTES,
	OPTION_COPY_SIZE,
	OPTION_LANGUAGE,
	OPTION_KEEP,
	OPTION_SANDBOX,
	OPTION_TIMEOUT,
	OPTION_JSON,
	OPTION_WRITE,
	OPTION_NAME,
	OPTION_FILE,
	OPTION_COUNT,
};
_Static_assert(OPTION_COUNT <= 64, "a bit for each");

/* The verbs that take options at all, as bits. */
enum option_verb {
	FOR_SERVE = 1 << 0,
	FOR_DOCTOR = 1 << 1,
	FOR_CONNECT = 1 << 2,
	FOR_EXEC = 1 << 3,
	FOR_PS = 1 << 4,
	FOR_RM = 1 << 5,
	FOR_RUN = 1 << 6,
	FOR_SHELL = 1 << 7,
	FOR_CP = 1 << 8,
	FOR_LOGS = 1 << 9,
	FOR_CLIENT = 1 << 10,
};

enum option_type {
	OPTION_TYPE_FLAG,   /* bool */
	OPTION_TYPE_TEXT,   /* const char *, held against `accepts` */
	OPTION_TYPE_PATH,   /* const char * */
	OPTION_TYPE_CHOICE, /* an enum: the index into `choices` */
	OPTION_TYPE_NUMBER, /* uint64_t */
	OPTION_TYPE_SIZE,   /* uint64_t, written with K, M or G if wanted */
};

struct option_spec {
	const char *name; /* "max-line" */
	enum option_type type;
	unsigned verbs;             /* option_verb bits */
	bool in_file;               /* may stand in the configuration file */
	bool flag_only;             /* not from the environment either */
	size_t offset;              /* in struct options */
	const char *word;           /* what the help calls the value; NULL for flags */
	const char *fallback;       /* the default as one would write it; NULL: none */
	uint64_t min, max;          /* numbers and sizes */
	const char *const *choices; /* NULL-terminated */
	bool (*accepts)(const char *text);
	const char *expected; /* what `accepts` wants, for the error message */
	const char *help;     /* one sentence */
};

extern const struct option_spec option_specs[OPTION_COUNT];

#define OPTION_VARIABLE_PREFIX "BELLJAR_"
enum { OPTION_NAME_SIZE = 64 };
/* BELLJAR_MAX_LINE and max_line from max-line. Both return out. */
const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE]);
const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE]);

/* What the command line said behind the verb; the strings are argv's. */
struct option_args {
	const char *flags[OPTION_COUNT]; /* the value's text ("true" for flags), or NULL */
	bool help;                       /* --help or -h */
	size_t operand_count;
	const char **operands; /* NULL-terminated */
};

/* args is NULL-terminated. `verb` is one bit, or 0 for a verb without options. */
MUST_CHECK int options_parse_args(struct option_args *ret, unsigned verb, char *const *args,
                                  struct error *err);
void option_args_done(struct option_args *args);

/* Everything from its source, checked. The file is read only for verbs that take an
 * option that may stand in it; for others `config` is the file that was named, if any. */
MUST_CHECK int options_load(struct options *ret, unsigned verb,
                            const char *const flags[OPTION_COUNT], char *const *environment,
                            struct error *err);
void options_done(struct options *options);
