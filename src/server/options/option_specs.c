#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

static const char *const call_profiles[] = { "standard", "strict", "debug", NULL };
_Static_assert(ARRAY_LEN(call_profiles) == SPEC_SYSCALLS_COUNT + 1, "a word for each profile");

static bool is_profile(const char *text)
{
	return strcmp(text, "default") == 0;
}

static bool is_any(const char *text)
{
	return text[0] != '\0';
}

static bool is_sandbox(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return text[len] == '\0' && len >= 1 && len <= 64;
}

/* The name becomes a key in other programs' files and part of their tools' names. */
static bool is_server_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return text[len] == '\0' && len >= 1 && len <= 32;
}

/* Everything that makes sandboxes. */
enum { SANDBOXES = FOR_SERVE | FOR_EXEC | FOR_RUN | FOR_SHELL | FOR_CP };

#define LIMIT(value, least, most)                                                                  \
	.verbs = SANDBOXES, .in_file = true, .fallback = (value), .min = (least), .max = (most)
#define FLAG(field)   .type = OPTION_TYPE_FLAG, .offset = offsetof(struct options, field)
#define TEXT(field)   .type = OPTION_TYPE_TEXT, .offset = offsetof(struct options, field)
#define PATH(field)   .type = OPTION_TYPE_PATH, .offset = offsetof(struct options, field)
#define CHOICE(field) .type = OPTION_TYPE_CHOICE, .offset = offsetof(struct options, field)
#define NUMBER(field) .type = OPTION_TYPE_NUMBER, .offset = offsetof(struct options, field)
#define SIZE(field)   .type = OPTION_TYPE_SIZE, .offset = offsetof(struct options, field)

/* clang-format off */
const struct option_spec option_specs[OPTION_COUNT] = {
	[OPTION_CONFIG] = { "config", PATH(config), .verbs = SANDBOXES | FOR_DOCTOR, .word = "FILE",
		.help = "The configuration file to read instead of the usual one." },
	[OPTION_LOG_LEVEL] = { "log-level", CHOICE(log_level),
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS,
		.in_file = true,
		.word = "LEVEL", .fallback = "warning", .choices = log_levels,
		.help = "How much to log on standard error." },
	[OPTION_MAX_LINE] = { "max-line", SIZE(max_line), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "10M", .min = KIB, .max = 64 * MIB,
		.help = "Longest message a client may send, in bytes." },
	[OPTION_MAX_DEPTH] = { "max-depth", NUMBER(max_depth), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "64", .min = 8, .max = 512,
		.help = "Deepest nesting of arrays and objects in a message." },
	[OPTION_MAX_VALUES] = { "max-values", NUMBER(max_values), .verbs = FOR_SERVE,
		.in_file = true, .word = "N", .fallback = "200000", .min = 1000, .max = 10000000,
		.help = "Most JSON values in a message." },
	[OPTION_MAX_BATCH] = { "max-batch", NUMBER(max_batch), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "100", .min = 1, .max = 1000,
		.help = "Most messages in a batch." },
	[OPTION_MAX_CALLS] = { "max-calls", NUMBER(max_calls), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "256", .min = 1, .max = 10000,
		.help = "Most calls in progress per client." },
	[OPTION_MAX_HELD] = { "max-held", SIZE(max_held), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "64M", .min = MIB, .max = GIB,
		.help = "Bytes of messages whose calls are in progress, per client." },
	[OPTION_MAX_SUBSCRIPTIONS] = { "max-subscriptions", NUMBER(max_subscriptions),
		.verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "1000", .min = 1, .max = 100000,
		.help = "Most resource subscriptions and open listen streams per client." },
	[OPTION_MAX_QUEUE] = { "max-queue", SIZE(max_queue), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "64M", .min = MIB, .max = GIB,
		.help = "Most bytes that may wait for a client that does not read." },
	[OPTION_PAGE_SIZE] = { "page-size", NUMBER(page_size), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "100", .min = 1, .max = 1000,
		.help = "Entries per page of a list." },
	[OPTION_GRACE] = { "grace", NUMBER(grace_ms), .verbs = FOR_SERVE, .in_file = true,
		.word = "MS", .fallback = "2000", .min = 0, .max = 60000,
		.help = "Milliseconds running calls get to stop when the client goes away or the "
			"server is told to end." },
	[OPTION_STATE_DIR] = { "state-dir", PATH(state_dir),
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS | FOR_DOCTOR, .in_file = true,
		.word = "DIR",
		.help = "Where sandboxes are kept instead of the usual place." },
	[OPTION_TOOLS_DIR] = { "tools-dir", PATH(tools_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory sandboxes see read-only as /tools." },
	[OPTION_SKILLS_DIR] = { "skills-dir", PATH(skills_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory sandboxes see read-only as /skills." },
	[OPTION_MOUNTS] = { "mounts", TEXT(mounts), .verbs = SANDBOXES, .in_file = true,
		.word = "SOURCE:TARGET,...", .accepts = is_any, .expected = "a list",
		.help = "More directories sandboxes see read-only, and where." },
	[OPTION_MEMORY] = { "memory", SIZE(limits.memory), LIMIT("1G", 16ULL * MIB, 1024ULL * GIB),
		.word = "SIZE", .help = "Memory of all processes of a sandbox." },
	[OPTION_SWAP] = { "swap", SIZE(limits.swap), LIMIT("0", 0, 1024ULL * GIB),
		.word = "SIZE", .help = "Swap space a sandbox may use besides." },
	[OPTION_CPU] = { "cpu", NUMBER(limits.cpu), LIMIT("2000", 10, 1024000),
		.word = "N", .help = "Processors a sandbox may keep busy, in thousandths." },
	[OPTION_PIDS] = { "pids", NUMBER(limits.pids), LIMIT("512", 16, 65536),
		.word = "N", .help = "Processes and threads of a sandbox." },
	[OPTION_DISK] = { "disk", SIZE(limits.disk), LIMIT("2G", MIB, 16384ULL * GIB),
		.word = "SIZE", .help = "What the files of a sandbox may take." },
	[OPTION_INODES] = { "inodes", NUMBER(limits.inodes), LIMIT("200000", 64, 100000000),
		.word = "N", .help = "Number of files of a sandbox." },
	[OPTION_FILE_SIZE] = { "file-size", SIZE(limits.file_size),
		LIMIT("1G", MIB, 16384ULL * GIB),
		.word = "SIZE", .help = "Size of a single file in a sandbox." },
	[OPTION_OPEN_FILES] = { "open-files", NUMBER(limits.files), LIMIT("4096", 32, 1048576),
		.word = "N", .help = "Files a process in a sandbox may have open." },
	[OPTION_CALLS] = { "calls", CHOICE(calls), .verbs = SANDBOXES, .in_file = true,
		.word = "PROFILE", .fallback = "standard", .choices = call_profiles,
		.help = "The system calls programs may make: strict leaves out what is rarely "
			"needed, debug lets debuggers work." },
	[OPTION_GPU] = { "gpu", TEXT(gpu), .verbs = SANDBOXES, .in_file = true, .word = "WHICH",
		.fallback = "none", .accepts = is_any, .expected = "none, auto, a number or a name",
		.help = "Graphics processors a sandbox may use: none, auto for all, so many, "
			"or one by its name." },
	[OPTION_CDI_DIRS] = { "cdi-dirs", TEXT(cdi_dirs), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR:...", .fallback = "/etc/cdi:/var/run/cdi", .accepts = is_any,
		.expected = "directories with : between",
		.help = "Where processors are described, in the Container Device Interface." },
	[OPTION_ONE_ID] = { "one-id", FLAG(one_id), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Do without subordinate ids, even if there are some: weaker." },
	[OPTION_NO_CGROUPS] = { "no-cgroups", FLAG(no_cgroups), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true, .help = "Do without cgroups, even if they could be had: weaker." },
	[OPTION_NO_QUOTA] = { "no-quota", FLAG(no_quota), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Do without disk quotas, even if they could be had: weaker." },
	[OPTION_REQUIRE] = { "require", TEXT(require), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true, .word = "LAYER,...", .accepts = is_any,
		.expected = "names of layers",
		.help = "Refuse to start unless these layers, by doctor's names, are on." },
	[OPTION_ENGINE] = { "engine", CHOICE(engine), .verbs = SANDBOXES, .in_file = true,
		.word = "ENGINE", .fallback = "native", .choices = engines,
		.help = "What carries sandboxes: native is belljar itself." },
	[OPTION_PROFILE] = { "profile", TEXT(profile), .verbs = FOR_SERVE, .in_file = true,
		.word = "NAME", .fallback = "default", .accepts = is_profile,
		.expected = "the name of a profile: default",
		.help = "The set of tools to offer." },
	[OPTION_ALLOW_PATH] = { "allow-path", TEXT(allow_path), .verbs = FOR_SERVE, .in_file = true,
		.word = "DIR:...", .accepts = is_any, .expected = "directories with : between",
		.help = "Directories of this machine that copy_in may read and copy_out may "
			"write." },
	[OPTION_NO_ROOTS] = { "no-roots", FLAG(no_roots), .verbs = FOR_SERVE, .in_file = true,
		.help = "Do not count the directories a client declares as its roots among those "
			"that may be copied from and to." },
	[OPTION_IDLE] = { "idle", NUMBER(idle_s), .verbs = FOR_SERVE, .in_file = true,
		.word = "SECONDS", .fallback = "900", .min = 0, .max = 31536000,
		.help = "A sandbox sleeps after so long without work: its processes end, its files "
			"stay; 0 is never." },
	[OPTION_LIFETIME] = { "lifetime", NUMBER(lifetime_s), .verbs = FOR_SERVE, .in_file = true,
		.word = "SECONDS", .fallback = "2592000", .min = 0, .max = 315360000,
		.help = "A sandbox is deleted so long after it was made; 0 is never." },
	[OPTION_OWNER_SANDBOXES] = { "owner-sandboxes", NUMBER(owner.sandboxes),
		.verbs = FOR_SERVE, .in_file = true, .word = "N", .fallback = "1000", .min = 0,
		.max = 1000000, .help = "Sandboxes one owner may have; 0 is any number." },
	[OPTION_OWNER_PROCESSES] = { "owner-processes", NUMBER(owner.processes),
		.verbs = FOR_SERVE, .in_file = true, .word = "N", .fallback = "256", .min = 0,
		.max = 1000000,
		.help = "Runs and background processes of one owner at a time; 0 is any number." },
	[OPTION_OWNER_MEMORY] = { "owner-memory", SIZE(owner.memory), .verbs = FOR_SERVE,
		.in_file = true, .word = "SIZE", .fallback = "0", .min = 0, .max = 65536ULL * GIB,
		.help = "Memory of all awake sandboxes of one owner, by their limits; 0 is any." },
	[OPTION_OWNER_DISK] = { "owner-disk", SIZE(owner.disk), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "0", .min = 0, .max = 1048576ULL * GIB,
		.help = "Disk of all sandboxes of one owner, by their limits; 0 is any." },
	[OPTION_ANSWER_WITHIN] = { "answer-within", NUMBER(answer_ms), .verbs = FOR_SERVE,
		.in_file = true, .word = "MS", .fallback = "45000", .min = 100, .max = 86400000,
		.help = "A call answers after so many milliseconds; what still runs goes on and "
			"can be asked for with process_output." },
	[OPTION_RUN_TIMEOUT] = { "run-timeout", NUMBER(run_timeout_s), .verbs = FOR_SERVE,
		.in_file = true, .word = "SECONDS", .fallback = "300", .min = 1, .max = 86400,
		.help = "What was started without timeout_s is ended after so long." },
	[OPTION_MAX_OUTPUT] = { "max-output", SIZE(max_output), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "24000", .min = 2000, .max = MIB,
		.help = "Bytes of text in one answer; of more, the beginning and the end." },
	[OPTION_OUTPUT_FILE] = { "output-file", SIZE(output_file), .verbs = FOR_SERVE,
		.in_file = true, .word = "SIZE", .fallback = "256M", .min = MIB,
		.max = 1024ULL * GIB,
		.help = "Largest file that keeps the whole of an output too long for an answer." },
	[OPTION_PICTURE_PIXELS] = { "picture-pixels", NUMBER(picture_pixels), .verbs = FOR_SERVE,
		.in_file = true, .word = "N", .fallback = "1500000", .min = 10000, .max = 100000000,
		.help = "Most pixels of a picture that comes back from code." },
	[OPTION_PICTURE_BYTES] = { "picture-bytes", SIZE(picture_bytes), .verbs = FOR_SERVE,
		.in_file = true, .word = "SIZE", .fallback = "700K", .min = 10 * KIB,
		.max = 8 * MIB,
		.help = "Most bytes of a picture in an answer." },
	[OPTION_COPY_SIZE] = { "copy-size", SIZE(copy_size), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "2G", .min = MIB, .max = 1024ULL * GIB,
		.help = "Most bytes of one copy between this machine and a sandbox." },
	[OPTION_LANGUAGE] = { "language", TEXT(language), .verbs = FOR_RUN, .flag_only = true,
		.word = "NAME", .accepts = is_any, .expected = "the name of a language",
		.help = "The language of the code, if the file's name does not tell." },
	[OPTION_KEEP] = { "keep", FLAG(keep), .verbs = FOR_RUN, .flag_only = true,
		.help = "Keep the sandbox when the code has ended, and tell its id." },
	[OPTION_SANDBOX] = { "sandbox", TEXT(sandbox), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true, .word = "NAME", .accepts = is_sandbox,
		.expected = "a name of letters, digits, . _ -",
		.help = "The sandbox to use, by name or id; made if there is none of that name, "
			"and kept. Without it a new one is made and thrown away." },
	[OPTION_TIMEOUT] = { "timeout", NUMBER(timeout_s), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true,
		.word = "SECONDS", .fallback = "0", .min = 0, .max = 1000000,
		.help = "End the program after so long; 0 is never." },
	[OPTION_JSON] = { "json", FLAG(json), .verbs = FOR_DOCTOR | FOR_PS | FOR_LOGS | FOR_CLIENT,
		.flag_only = true,
		.help = "Print the report as JSON." },
	[OPTION_WRITE] = { "write", FLAG(write), .verbs = FOR_CONNECT, .flag_only = true,
		.help = "Edit the client's file, after making a backup beside it." },
	[OPTION_NAME] = { "name", TEXT(name), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "NAME", .fallback = "belljar", .accepts = is_server_name,
		.expected = "1 to 32 letters, digits, '_' or '-'",
		.help = "What the client calls this server." },
	[OPTION_FILE] = { "file", PATH(file), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "FILE",
		.help = "The file to edit instead of the client's usual one." },
};
/* clang-format on */

static const char *spell(const char *prefix, const char *name, bool upper,
                         char out[OPTION_NAME_SIZE])
{
	(void)snprintf(out, OPTION_NAME_SIZE, "%s%s", prefix, name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '-' ? '_' : upper ? (char)toupper((unsigned char)*p) : *p;
	return out;
}

const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return spell(OPTION_VARIABLE_PREFIX, spec->name, true, out);
}

const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return spell("", spec->name, false, out);
}
