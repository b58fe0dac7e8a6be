/* option_specs.c - the table of all options (see options.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/trusted/trusted_names.h"
#include "server/options/options.h"

enum { KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB };

static const char *const log_levels[] = {
#define X(name, word) word,
	LOG_LEVELS(X)
#undef X
	        NULL,
};
_Static_assert(ARRAY_LEN(log_levels) == LOG_LEVEL_COUNT + 1, "a word for each level");

static const char *const engines[] = { "native", NULL };
_Static_assert(ARRAY_LEN(engines) == ENGINE_CHOICES + 1, "a word for each engine");

static const char *const root_choices[] = { "auto", "yes", "no", NULL };
_Static_assert(ARRAY_LEN(root_choices) == ROOTS_CHOICES + 1, "a word for each choice");

static const char *const call_profiles[] = { "standard", "strict", "debug", NULL };
_Static_assert(ARRAY_LEN(call_profiles) == SPEC_SYSCALLS_COUNT + 1, "a word for each profile");

static bool is_profile(const char *text)
{
	return strcmp(text, "default") == 0;
}

static bool is_not_empty(const char *text)
{
	return text[0] != '\0';
}

static bool is_sandbox_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return text[len] == '\0' && len >= 1 && len <= 64;
}

static bool is_trusted_list(const char *text)
{
	struct error ignored;
	uint64_t set;

	return trusted_parse(text, &set, &ignored) == 0 && set != 0;
}

/* Clients use the name as a key in their configuration files and as part of tool names. */
static bool is_server_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return text[len] == '\0' && len >= 1 && len <= 32;
}

/* Every verb that starts sandboxes. */
enum { SANDBOXES = FOR_SERVE | FOR_EXEC | FOR_RUN | FOR_SHELL | FOR_CP };

/* The limits of a sandbox have one source, SPEC_LIMITS: its numbers as constants, by name. */
enum {
#define X(name, initial, min, max, ...)                                                            \
	LIMIT_INITIAL_##name = (initial), LIMIT_MIN_##name = (min), LIMIT_MAX_##name = (max),
	SPEC_LIMITS(X)
#undef X
};

#define FLAG(field)   .type = OPTION_TYPE_FLAG, .offset = offsetof(struct options, field)
#define TEXT(field)   .type = OPTION_TYPE_TEXT, .offset = offsetof(struct options, field)
#define PATH(field)   .type = OPTION_TYPE_PATH, .offset = offsetof(struct options, field)
#define CHOICE(field) .type = OPTION_TYPE_CHOICE, .offset = offsetof(struct options, field)
#define NUMBER(field) .type = OPTION_TYPE_NUMBER, .offset = offsetof(struct options, field)
#define SIZE(field)   .type = OPTION_TYPE_SIZE, .offset = offsetof(struct options, field)

#define RANGE(initial_, min_, max_) .initial = (initial_), .min = (min_), .max = (max_)
/* A setting of the server: from a flag, the environment or the file. */
#define SETTING .verbs = FOR_SERVE, .in_file = true

/* clang-format off */
/* Two options for each limit of a sandbox: the default, and the most that a caller may ask for. */
#define LIMIT(ID, name_, TYPE, field, word_, help_)                                                \
	[OPTION_##ID] = { name_, TYPE(limits.field), .verbs = SANDBOXES, .in_file = true,          \
		RANGE(LIMIT_INITIAL_##field, LIMIT_MIN_##field, LIMIT_MAX_##field),                \
		.word = word_, .help = help_ },                                                    \
	[OPTION_##ID##_MAX] = { name_ "-max", TYPE(limits_max.field), SETTING, .word = word_,      \
		RANGE(0, LIMIT_MIN_##field, LIMIT_MAX_##field),                                    \
		.computed = "--" name_ " if that is given, else a share of this machine",          \
		.help = "The most that a client may ask for instead of --" name_ "." }

const struct option_spec option_specs[OPTION_COUNT] = {
	[OPTION_CONFIG] = { "config", PATH(config), .verbs = SANDBOXES | FOR_DOCTOR, .word = "FILE",
		.help = "The configuration file to read instead of the usual one." },
	[OPTION_LOG_LEVEL] = { "log-level", CHOICE(log_level), .in_file = true,
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS,
		.word = "LEVEL", .initial_text = "warning", .choices = log_levels,
		.help = "How much to log on standard error." },
	[OPTION_MAX_LINE] = { "max-line", SIZE(max_line), SETTING, .word = "SIZE",
		RANGE(10 * MIB, KIB, 64 * MIB),
		.help = "Longest message a client may send, in bytes." },
	[OPTION_MAX_DEPTH] = { "max-depth", NUMBER(max_depth), SETTING, .word = "N",
		RANGE(64, 8, 512),
		.help = "Deepest nesting of arrays and objects in a message." },
	[OPTION_MAX_VALUES] = { "max-values", NUMBER(max_values), SETTING, .word = "N",
		RANGE(200000, 1000, 10000000),
		.help = "Most JSON values in a message." },
	[OPTION_MAX_BATCH] = { "max-batch", NUMBER(max_batch), SETTING, .word = "N",
		RANGE(100, 1, 1000),
		.help = "Most messages in a batch." },
	[OPTION_MAX_CALLS] = { "max-calls", NUMBER(max_calls), SETTING, .word = "N",
		RANGE(256, 1, 10000),
		.help = "Most calls in progress per client." },
	[OPTION_MAX_HELD] = { "max-held", SIZE(max_held), SETTING, .word = "SIZE",
		RANGE(64 * MIB, MIB, GIB),
		.help = "Most bytes of messages whose calls are in progress, per client." },
	[OPTION_MAX_SUBSCRIPTIONS] = { "max-subscriptions", NUMBER(max_subscriptions), SETTING,
		.word = "N", RANGE(1000, 1, 100000),
		.help = "Most resource subscriptions and open listen streams per client." },
	[OPTION_MAX_QUEUE] = { "max-queue", SIZE(max_queue), SETTING, .word = "SIZE",
		RANGE(64 * MIB, MIB, GIB),
		.help = "Most bytes queued for a client that does not read." },
	[OPTION_PAGE_SIZE] = { "page-size", NUMBER(page_size), SETTING, .word = "N",
		RANGE(100, 1, 1000),
		.help = "Entries per page of a list." },
	[OPTION_GRACE] = { "grace", NUMBER(grace_ms), SETTING, .word = "MS",
		RANGE(2000, 0, 60000),
		.help = "Milliseconds that running calls get to stop when the client disconnects "
			"or the server shuts down." },
	[OPTION_STATE_DIR] = { "state-dir", PATH(state_dir), .in_file = true, .word = "DIR",
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS | FOR_DOCTOR,
		.help = "The directory that holds sandboxes and their database, instead of the "
			"usual one." },
	[OPTION_TOOLS_DIR] = { "tools-dir", PATH(tools_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory that sandboxes see read-only as /tools." },
	[OPTION_SKILLS_DIR] = { "skills-dir", PATH(skills_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory that sandboxes see read-only as /skills." },
	[OPTION_MOUNTS] = { "mounts", TEXT(mounts), .verbs = SANDBOXES, .in_file = true,
		.word = "SOURCE:TARGET,...", .accepts = is_not_empty, .expected = "a list",
		.help = "More directories that sandboxes see read-only: SOURCE on this machine, "
			"TARGET inside." },
	LIMIT(MEMORY, "memory", SIZE, memory, "SIZE",
		"Most memory that all processes of a sandbox use together."),
	LIMIT(SWAP, "swap", SIZE, swap, "SIZE",
		"Most swap space a sandbox uses in addition to its memory."),
	LIMIT(CPU, "cpu", NUMBER, cpu, "N",
		"Processors that a sandbox may keep busy, in thousandths."),
	LIMIT(PIDS, "pids", NUMBER, pids, "N",
		"Most processes and threads of a sandbox."),
	LIMIT(DISK, "disk", SIZE, disk, "SIZE",
		"Most disk space that the files of a sandbox take."),
	LIMIT(INODES, "inodes", NUMBER, inodes, "N",
		"Most files of a sandbox."),
	LIMIT(FILE_SIZE, "file-size", SIZE, file_size, "SIZE",
		"Largest single file in a sandbox."),
	LIMIT(OPEN_FILES, "open-files", NUMBER, files, "N",
		"Most files that a process in a sandbox has open; fewer where all its processes "
		"could fill an eighth of the host's fs.file-max."),
	[OPTION_CALLS] = { "calls", CHOICE(calls), .verbs = SANDBOXES, .in_file = true,
		.word = "PROFILE", .initial_text = "standard", .choices = call_profiles,
		.help = "The system calls that programs may make: strict leaves out those that are "
			"rarely needed, debug adds those of debuggers." },
	[OPTION_GPU] = { "gpu", TEXT(gpu), .verbs = SANDBOXES, .in_file = true, .word = "WHICH",
		.initial_text = "none", .accepts = is_not_empty,
		.expected = "none, auto, a number or a name",
		.help = "Graphics processors that a sandbox may use: none, auto for all, a number "
			"of them, or one by its name." },
	[OPTION_GPU_MAX] = { "gpu-max", TEXT(gpu_max), SETTING, .word = "WHICH",
		.accepts = is_not_empty, .expected = "none, auto, a number or a name",
		.help = "Graphics processors that a client may ask for instead of --gpu, in the "
			"same words. Without this option: those of --gpu." },
	[OPTION_CDI_DIRS] = { "cdi-dirs", TEXT(cdi_dirs), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR:...", .initial_text = "/etc/cdi:/var/run/cdi", .accepts = is_not_empty,
		.expected = "directories with : between",
		.help = "Directories with descriptions of graphics processors (Container Device "
			"Interface)." },
	[OPTION_ONE_ID] = { "one-id", FLAG(one_id), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use no subordinate user ids, even where there are some. This is weaker." },
	[OPTION_NO_CGROUPS] = { "no-cgroups", FLAG(no_cgroups), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use no cgroups, even where they are available. This is weaker." },
	[OPTION_NO_QUOTA] = { "no-quota", FLAG(no_quota), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use no disk quotas, even where they are available. This is weaker." },
	[OPTION_REQUIRE] = { "require", TEXT(require), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true, .word = "LAYER,...", .accepts = is_not_empty,
		.expected = "names of layers",
		.help = "Refuse to start unless these layers are on; 'belljar doctor' lists "
			"them." },
	[OPTION_ENGINE] = { "engine", CHOICE(engine), .verbs = SANDBOXES, .in_file = true,
		.word = "ENGINE", .initial_text = "native", .choices = engines,
		.help = "What creates sandboxes: native is belljar itself." },
	[OPTION_PROFILE] = { "profile", TEXT(profile), SETTING, .word = "NAME",
		.initial_text = "default", .accepts = is_profile,
		.expected = "the name of a profile: default",
		.help = "The set of tools that clients get." },
	[OPTION_ALLOW_PATH] = { "allow-path", TEXT(allow_path), SETTING, .word = "DIR:...",
		.accepts = is_not_empty, .expected = "directories with : between",
		.help = "Directories of this machine that copy_in may read and copy_out may "
			"write." },
	[OPTION_ROOTS] = { "roots", CHOICE(roots), SETTING, .word = "WHETHER",
		.initial_text = "auto", .choices = root_choices,
		.help = "Whether copy_in and copy_out may use the directories that a client "
			"declares as its roots; auto is no for root and yes for other users." },
	[OPTION_NO_ROOTS] = { "no-roots", FLAG(no_roots), SETTING,
		.help = "The same as --roots no." },
	[OPTION_IDLE] = { "idle", NUMBER(idle_s), SETTING, .word = "SECONDS",
		RANGE(900, 0, 31536000),
		.help = "Seconds without use after which a sandbox sleeps: its processes end, its "
			"files stay; 0 is never. If given, it is also the most that a client "
			"may ask for." },
	[OPTION_LIFETIME] = { "lifetime", NUMBER(lifetime_s), SETTING, .word = "SECONDS",
		RANGE(2592000, 0, 315360000),
		.help = "Seconds after its creation when a sandbox is deleted; 0 is never. If "
			"given, it is also the most that a client may ask for." },
	[OPTION_OWNER_SANDBOXES] = { "owner-sandboxes", NUMBER(owner.sandboxes), SETTING,
		.word = "N", RANGE(1000, 0, 1000000),
		.help = "Most sandboxes of one owner; 0 is no limit." },
	[OPTION_OWNER_PROCESSES] = { "owner-processes", NUMBER(owner.processes), SETTING,
		.word = "N", RANGE(256, 0, 1000000),
		.help = "Most runs and background processes of one owner at a time; 0 is no "
			"limit." },
	[OPTION_OWNER_MEMORY] = { "owner-memory", SIZE(owner.memory), SETTING, .word = "SIZE",
		RANGE(0, 0, 65536ULL * GIB), .computed = "four times this machine's memory",
		.help = "Most memory of all awake sandboxes of one owner, added up by their "
			"limits; 0 is no limit." },
	[OPTION_OWNER_DISK] = { "owner-disk", SIZE(owner.disk), SETTING, .word = "SIZE",
		RANGE(0, 0, 1048576ULL * GIB),
		.computed = "four times the file system of the state directory",
		.help = "Most disk space of all sandboxes of one owner, added up by their limits; "
			"0 is no limit." },
	[OPTION_ANSWER_WITHIN] = { "answer-within", NUMBER(answer_ms), SETTING, .word = "MS",
		RANGE(45000, 100, 86400000),
		.help = "Milliseconds after which a call returns; a program that still runs "
			"continues, and process_output reads its output." },
	[OPTION_RUN_TIMEOUT] = { "run-timeout", NUMBER(run_timeout_s), SETTING, .word = "SECONDS",
		RANGE(300, 1, 86400),
		.help = "Seconds after which a program started without timeout_s is killed." },
	[OPTION_MAX_OUTPUT] = { "max-output", SIZE(max_output), SETTING, .word = "SIZE",
		RANGE(24000, 2000, MIB),
		.help = "Most bytes of text in one result; of longer output, the beginning and the "
			"end." },
	[OPTION_OUTPUT_FILE] = { "output-file", SIZE(output_file), SETTING, .word = "SIZE",
		RANGE(256 * MIB, MIB, 1024ULL * GIB),
		.help = "Largest file that keeps the whole of an output too long for a result." },
	[OPTION_PICTURE_PIXELS] = { "picture-pixels", NUMBER(picture_pixels), SETTING, .word = "N",
		RANGE(1500000, 10000, 100000000),
		.help = "Most pixels of a picture that code produces." },
	[OPTION_PICTURE_BYTES] = { "picture-bytes", SIZE(picture_bytes), SETTING, .word = "SIZE",
		RANGE(700 * KIB, 10 * KIB, 8 * MIB),
		.help = "Most bytes of a picture that code produces." },
	[OPTION_COPY_SIZE] = { "copy-size", SIZE(copy_size), SETTING, .word = "SIZE",
		RANGE(2ULL * GIB, MIB, 1024ULL * GIB),
		.help = "Most bytes of one copy between this machine and a sandbox." },
	[OPTION_COPY_TRUSTED] = { "copy-trusted", TEXT(copy_trusted), .verbs = FOR_SERVE | FOR_CP,
		.in_file = true, .word = "KIND,...", .accepts = is_trusted_list,
		.expected = "'all', or kinds that the manual page lists",
		.help = "Copy these kinds of files to this machine although programs here execute "
			"or trust them by themselves: 'all', or kinds such as git-hooks and "
			"agents, which the manual page lists." },
	[OPTION_COPY_EXECUTABLES] = { "copy-executables", FLAG(copy_executables),
		.verbs = FOR_SERVE | FOR_CP, .in_file = true,
		.help = "Let files that are copied to this machine stay executable, also those "
			"that were not executable here before." },
	[OPTION_PREVIEW] = { "preview", FLAG(preview), .verbs = FOR_CP, .flag_only = true,
		.help = "Write nothing, and print what would change as a list and a diff." },
	[OPTION_LANGUAGE] = { "language", TEXT(language), .verbs = FOR_RUN, .flag_only = true,
		.word = "NAME", .accepts = is_not_empty, .expected = "the name of a language",
		.help = "The language of the code, if the file's name does not show it." },
	[OPTION_KEEP] = { "keep", FLAG(keep), .verbs = FOR_RUN, .flag_only = true,
		.help = "Keep the sandbox when the code has ended, and print its id." },
	[OPTION_WITH] = { "with", TEXT(with), .verbs = FOR_RUN, .flag_only = true,
		.word = "PATH:...", .accepts = is_not_empty, .expected = "paths with : between",
		.help = "Copy these files, and what these directories contain, into /workspace, "
			"and run the code there beside them." },
	[OPTION_SANDBOX] = { "sandbox", TEXT(sandbox), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true, .word = "NAME", .accepts = is_sandbox_name,
		.expected = "a name of letters, digits, . _ -",
		.help = "The sandbox to use, by name or id. If there is none of that name it is "
			"created and kept. Without this option a new one is created and deleted "
			"afterwards." },
	[OPTION_TIMEOUT] = { "timeout", NUMBER(timeout_s), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true, .word = "SECONDS", RANGE(0, 0, 1000000),
		.help = "Seconds after which the program is killed; 0 is never." },
	[OPTION_TERMINAL] = { "terminal", FLAG(terminal), .verbs = FOR_EXEC, .flag_only = true,
		.help = "Give the program a terminal of its own, as 'belljar shell' does; -t is "
			"short for it." },
	[OPTION_JSON] = { "json", FLAG(json), .verbs = FOR_DOCTOR | FOR_PS | FOR_LOGS | FOR_CLIENT,
		.flag_only = true,
		.help = "Print the report as JSON." },
	[OPTION_WRITE] = { "write", FLAG(write), .verbs = FOR_CONNECT, .flag_only = true,
		.help = "Edit the client's file, after making a backup beside it." },
	[OPTION_NAME] = { "name", TEXT(name), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "NAME", .initial_text = "belljar", .accepts = is_server_name,
		.expected = "1 to 32 letters, digits, '_' or '-'",
		.help = "The name of this server in the client." },
	[OPTION_FILE] = { "file", PATH(file), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "FILE",
		.help = "The file to edit instead of the client's usual one." },
};
/* clang-format on */

static const char *convert_name(const char *prefix, const char *name, bool upper,
                                char out[OPTION_NAME_SIZE])
{
	(void)snprintf(out, OPTION_NAME_SIZE, "%s%s", prefix, name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '-' ? '_' : upper ? (char)toupper((unsigned char)*p) : *p;
	return out;
}

const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return convert_name(OPTION_VARIABLE_PREFIX, spec->name, true, out);
}

const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return convert_name("", spec->name, false, out);
}

char option_separator(const struct option_spec *spec)
{
	size_t len = spec->word != NULL ? strlen(spec->word) : 0;

	return len > 4 && strcmp(spec->word + len - 3, "...") == 0 ? spec->word[len - 4] : '\0';
}
