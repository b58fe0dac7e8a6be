/* options.h - every setting of the program, in one table.
 *
 * A row of option_specs drives the command line (--max-line), the environment
 * (BELLJAR_MAX_LINE), the configuration file (max_line), the help, the manual page and
 * the completions. To add an option: a member of struct options, an id, a row.
 *
 * Most options may come from any of these sources. Options that are part of one command (write,
 * json, keep) are flags only: an environment variable left over from earlier must not make
 * `connect` edit a file.
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
#include "egress/net_policy.h"
#include "engine/spec.h"

struct error;

enum engine_choice { ENGINE_AUTO, ENGINE_NATIVE, ENGINE_DOCKER, ENGINE_CHOICES };
enum docker_root { DOCKER_ROOT_READ_ONLY, DOCKER_ROOT_WRITABLE, DOCKER_ROOTS };
enum roots_choice { ROOTS_AUTO, ROOTS_YES, ROOTS_NO, ROOTS_CHOICES };
enum auth_choice { AUTH_NONE, AUTH_TOKEN, AUTH_CHOICES };

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
	OPTION_HTTP,
	OPTION_STDIO,
	OPTION_SSE,
	OPTION_HOST,
	OPTION_PORT,
	OPTION_AUTH,
	OPTION_TOKEN_FILE,
	OPTION_ALLOW_UNAUTHENTICATED,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_ALLOW_HOST,
	OPTION_ALLOW_ORIGIN,
	OPTION_ACCESS_LOG,
	OPTION_MAX_CONNECTIONS,
	OPTION_MAX_SESSIONS,
	OPTION_SESSION_IDLE,
	OPTION_HTTP_TIMEOUT,
	OPTION_HTTP_IDLE,
	OPTION_PUBLIC_URL,
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
	OPTION_MEMORY_MAX, /* the ceilings, in the order of the limits from OPTION_MEMORY on */
	OPTION_SWAP_MAX,
	OPTION_CPU_MAX,
	OPTION_PIDS_MAX,
	OPTION_DISK_MAX,
	OPTION_INODES_MAX,
	OPTION_FILE_SIZE_MAX,
	OPTION_OPEN_FILES_MAX,
	OPTION_GPU_MAX,
	OPTION_CDI_DIRS,
	OPTION_NETWORK,
	OPTION_NETWORK_MAX,
	OPTION_ALLOW_HOSTS,
	OPTION_ASK_HOSTS,
	OPTION_DENY_HOSTS,
	OPTION_NETWORK_CONNECTIONS,
	OPTION_NETWORK_BYTES,
	OPTION_NETWORK_RATE,
	OPTION_NETWORK_DIAL,
	OPTION_SECRET,
	OPTION_SECRET_FILE,
	OPTION_INTERCEPT_TLS,
	OPTION_INTERCEPT_CA,
	OPTION_PIP_INDEX,
	OPTION_NPM_REGISTRY,
	OPTION_PACKAGE_CACHE,
	OPTION_NO_AUTO_PACKAGES,
	OPTION_ONE_ID,
	OPTION_NO_CGROUPS,
	OPTION_NO_QUOTA,
	OPTION_REQUIRE,
	OPTION_ENGINE,
	OPTION_IMAGE,
	OPTION_IMAGES,
	OPTION_DOCKER_HOST,
	OPTION_DOCKER_RUNTIME,
	OPTION_DOCKER_ROOT,
	OPTION_PROFILE,
	OPTION_NO_PERSISTENT,
	OPTION_TRUST_USER_HEADER,
	OPTION_ARTIFACT_LIMIT,
	OPTION_ALLOW_PATH,
	OPTION_ROOTS,
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
	OPTION_COPY_TRUSTED,
	OPTION_COPY_EXECUTABLES,
	OPTION_PREVIEW,
	OPTION_LANGUAGE,
	OPTION_KEEP,
	OPTION_WITH,
	OPTION_SANDBOX,
	OPTION_USER,
	OPTION_TIMEOUT,
	OPTION_TERMINAL,
	OPTION_JSON,
	OPTION_WRITE,
	OPTION_NAME,
	OPTION_FILE,
	OPTION_URL,
	OPTION_TOKEN_ENV,
	OPTION_SCOPES,
	OPTION_EXPIRES,
	OPTION_NOTE,
	OPTION_COUNT,
};

/* Where the value of an option came from. */
enum option_source {
	OPTION_FROM_TABLE, /* the default */
	OPTION_FROM_FILE,
	OPTION_FROM_ENVIRONMENT,
	OPTION_FROM_FLAG,
};

struct options {
	const char *config; /* the file that was read; NULL: none */
	enum log_level log_level;
	uint64_t max_line;              /* bytes of one message */
	uint64_t max_depth;             /* JSON nesting of a message */
	uint64_t max_values;            /* JSON values of a message */
	uint64_t max_batch;             /* messages in a batch */
	uint64_t max_calls;             /* calls in progress per client */
	uint64_t max_held;              /* bytes of messages whose calls are in progress */
	uint64_t max_subscriptions;     /* subscriptions and listen streams per client */
	uint64_t max_queue;             /* bytes queued for a client that does not read */
	uint64_t page_size;             /* entries per page of a list */
	uint64_t grace_ms;              /* for running calls, when the client or the server ends */
	const char *http;               /* addresses to listen on, separated by ","; or NULL */
	const char *host;               /* without brackets */
	uint64_t port;                  /* 0: any free one */
	const char *token_file;         /* NULL: the usual one */
	const char *tls_cert, *tls_key; /* PEM files; both or neither */
	const char *allow_host, *allow_origin; /* separated by ","; or NULL */
	enum auth_choice auth;                 /* who may call over HTTP */
	bool stdio;                            /* serve standard input and output beside HTTP */
	bool sse;                              /* listen on host and port, as older servers do */
	bool allow_unauthenticated; /* AUTH_NONE on addresses that other machines reach */
	bool access_log;
	uint64_t max_connections, max_sessions;
	uint64_t session_idle_s, http_timeout_s, http_idle_s;
	const char *public_url; /* where clients reach the first address of HTTP; or NULL */
	const char *state_dir;  /* NULL: the default one */
	const char *tools_dir, *skills_dir, *mounts; /* shared directories of the host; or NULL */
	struct spec_limits limits;     /* of a sandbox, unless its creator sets others */
	struct spec_limits limits_max; /* the most that its creator may set; 0: not given */
	enum spec_syscalls calls;
	bool one_id, no_cgroups, no_quota; /* do not use what is available: weaker */
	const char *require;  /* layers without which the server does not start; NULL: none */
	const char *gpu;      /* none, auto, a number, a name */
	const char *gpu_max;  /* the most that the creator of a sandbox may ask for; or NULL */
	const char *cdi_dirs; /* separated by ":" */
	enum net_mode network, network_max;
	const char *allow_hosts, *ask_hosts, *deny_hosts; /* separated by ","; or NULL */
	struct {
		uint64_t connections, bytes, rate, dial_s;
	} gate;                           /* limits on the network of one sandbox; 0: no limit */
	const char *secret, *secret_file; /* of hosts; or NULL */
	bool intercept_tls;               /* secrets are inserted in TLS, too */
	const char *intercept_ca;         /* a file with further CAs of such hosts; or NULL */
	const char *pip_index, *npm_registry; /* URLs; NULL: as pip and npm are configured here */
	uint64_t package_cache;               /* bytes; 0: packages are not kept */
	bool no_auto_packages;                /* runs that lack a module do not install it */
	enum engine_choice engine;
	enum docker_root docker_root;
	const char *image;                        /* of sandboxes, in the docker engine; or NULL */
	const char *images;                       /* those that a client may have pulled; or NULL */
	const char *docker_host, *docker_runtime; /* or NULL */
	const char *profile;                      /* the set of tools */
	bool no_persistent;                       /* of the profile code-sandbox */
	bool trust_user_header;  /* HTTP: the header x-user-id names a user of the caller */
	uint64_t artifact_mib;   /* most that GET /artifacts/FILE answers */
	const char *allow_path;  /* directories to copy from and to, separated by ":"; or NULL */
	enum roots_choice roots; /* whether directories that the client declares are used */
	bool no_roots;           /* like ROOTS_NO, whatever `roots` is */
	uint64_t idle_s, lifetime_s; /* of a sandbox, unless its creator sets others; 0: never */
	struct {
		uint64_t sandboxes, processes, memory, disk;
	} owner;                /* quotas of one owner; 0: no limit, or not given */
	uint64_t answer_ms;     /* soft deadline of a call */
	uint64_t run_timeout_s; /* deadline of programs started without one */
	uint64_t max_output,
	        output_file; /* bytes: of text in a result, of the file with all of it */
	uint64_t picture_pixels, picture_bytes;
	uint64_t copy_size;       /* bytes of one copy */
	const char *copy_trusted; /* kinds of trusted files that copies may write; or NULL */
	bool copy_executables;    /* copies may write new executable files */
	bool preview;             /* cp */
	bool keep;                /* run */
	bool terminal;            /* exec */
	bool json;                /* doctor, ps, logs, client, token */
	bool write;               /* connect */
	const char *language;     /* run; NULL: derived from the file name */
	const char *with;         /* run; files and directories, separated by ":"; or NULL */
	const char *sandbox;      /* exec, run; NULL: a new temporary one */
	const char *user; /* exec, run, shell, ps, logs, cp, rm: whose sandboxes; NULL: one's own */
	uint64_t timeout_s;    /* exec, run; 0: none */
	const char *name;      /* connect */
	const char *file;      /* connect; NULL: the client's usual file */
	const char *url;       /* connect, client; NULL: standard input and output */
	const char *token_env; /* connect, client: the variable that holds the token; or NULL */
	const char *scopes, *expires, *note; /* token add */

	struct arena texts;
	unsigned verb; /* enum option_verb: the one that the options were read for */
	enum option_source sources[OPTION_COUNT];
};

/* The verbs that take options, as bits. */
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
	FOR_TOKEN = 1 << 11,
	FOR_PORT = 1 << 12,
	FOR_CACHE = 1 << 13,
};

enum option_type {
	OPTION_TYPE_FLAG,   /* bool */
	OPTION_TYPE_TEXT,   /* const char *, checked by `accepts` */
	OPTION_TYPE_PATH,   /* const char * */
	OPTION_TYPE_CHOICE, /* an enum: the index into `choices` */
	OPTION_TYPE_NUMBER, /* uint64_t */
	OPTION_TYPE_SIZE,   /* uint64_t; K, M or G may follow */
};

struct option_spec {
	const char *name; /* "max-line" */
	enum option_type type;
	unsigned verbs;             /* enum option_verb bits */
	bool in_file;               /* may stand in the configuration file */
	bool flag_only;             /* neither in the file nor in the environment */
	const char *also_variable;  /* a variable of older servers that sets it too; or NULL */
	size_t offset;              /* in struct options */
	const char *word;           /* placeholder of the value in the help; NULL for flags */
	const char *initial_text;   /* the default of texts, paths and choices; NULL: none */
	uint64_t initial, min, max; /* of numbers and sizes; `initial` is the default */
	/* Describes the default of a number or size that is only known when belljar starts. The
	 * value in struct options is then 0 unless it was given. */
	const char *computed;
	const char *const *choices; /* NULL-terminated */
	bool (*accepts)(const char *text);
	const char *expected; /* what `accepts` accepts, for the error message */
	const char *help;     /* one sentence */
};

extern const struct option_spec option_specs[OPTION_COUNT];

#define OPTION_VARIABLE_PREFIX "BELLJAR_"
enum { OPTION_NAME_SIZE = 64 };
/* Convert "max-line" to "BELLJAR_MAX_LINE" and to "max_line". Both return out. */
const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE]);
const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE]);
/* The separator between the entries of a list, taken from the option's word: ':' for "DIR:...".
 * Returns NUL if the option is not a list. */
char option_separator(const struct option_spec *spec);

/* The command line behind the verb; the strings are argv's, or lists made of several. */
struct option_args {
	const char *flags[OPTION_COUNT]; /* the value's text ("true" for flags), or NULL */
	bool help;                       /* --help or -h */
	bool separator;                  /* "--" ended the flags */
	size_t operand_count;
	const char **operands; /* NULL-terminated */
	struct arena texts;    /* lists that were given in parts */
};

/* args is NULL-terminated. `verb` is one bit, or 0 for a verb without options. */
MUST_CHECK int options_parse_args(struct option_args *ret, unsigned verb, char *const *args,
                                  struct error *err);
void option_args_done(struct option_args *args);

/* Reads all options from their sources and checks them. The file is read only for verbs that take
 * an option that may stand in it; for the others `config` is the file that was named, if any. */
MUST_CHECK int options_load(struct options *ret, unsigned verb,
                            const char *const flags[OPTION_COUNT], char *const *environment,
                            struct error *err);
void options_done(struct options *options);
/* The trusted files that copies may write on the host, as a set of base/trusted/trusted_names.h. */
uint64_t options_exports(const struct options *options);
