#include "tools/run/answer/run_hint.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "engine/spec.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/run/answer/run_result.h"

enum { MESSAGES_MAX = 20, CAUGHT_MAX = 2048 };
enum hint_kind {
	HINT_NETWORK,
	HINT_SYSTEM_PACKAGES,
	HINT_R_PACKAGES,
	HINT_ROOT,
	HINT_PACKAGES,
	HINT_NODE_PACKAGES,
	HINT_PTRACE,
	HINT_SESSION,
	HINT_STDIN,
	HINT_NO_INPUT,
	HINT_NO_VALUE,
	HINT_SHADOW,
	HINT_JAVA,
	HINT_PIDS, /* Java calls a refused thread an OutOfMemoryError, too */
	HINT_MEMORY,
	HINT_FILE_SIZE,
	HINT_OPEN_FILES,
	HINT_COUNT
};

static const struct hint {
	const char *text;  /* NULL: describe_limit() makes it */
	const char *limit; /* what the note of a limit that was met has in it */
	const char *messages[MESSAGES_MAX];
} hints[HINT_COUNT] = {
	/* Messages of the C library, of curl, git, Node, Go, Java, Rust, Ruby and npm, for a name
	 * that cannot be resolved and for an address without a route. A refused connection is not
	 * one of them: a program gets it if its own server on localhost is not up. pip does not
	 * print why it found nothing. */
	[HINT_NETWORK] = { .text = "a sandbox has no network unless it is given one: "
	                           "install_packages installs packages, other files can be copied "
	                           "in",
	                   .messages = { "Name or service not known",
	                                 "Temporary failure in name resolution", "ould not resolve",
	                                 "unable to resolve host", "Network is unreachable",
	                                 "failed to lookup address information",
	                                 "nodename nor servname", "EAI_AGAIN", "ENOTFOUND",
	                                 "ENETUNREACH", "no such host", "UnknownHostException",
	                                 "Temporary failure resolving", "module lookup disabled",
	                                 "(from versions: none)",
	                                 "problem related to network connectivity",
	                                 "no suitable address found", "ouldn't resolve host",
	                                 "getaddrinfo ENOTFOUND" } },
	/* "PLACE": where the operator can install programs for sandboxes. */
	[HINT_SYSTEM_PACKAGES] = { .text = "packages of the system cannot be installed in a "
	                                   "sandbox, which has no network unless it is given "
	                                   "one and whose programs are not root: the operator "
	                                   "can install them PLACE; install_packages installs "
	                                   "those of Python and JavaScript",
	                           .messages = { "Unable to read /etc/apt/", "are you root?",
	                                         "requires superuser privilege",
	                                         "be run with superuser privileges",
	                                         "Unable to lock database: Permission denied",
	                                         "/var/lib/apt/lists/", "/var/lib/dpkg/lock" } },
	[HINT_R_PACKAGES] = { .text = "a sandbox has no network unless it is given one, and the "
	                              "library of R is read-only: the operator can install "
	                              "packages of R PLACE",
	                      .messages = { "unable to install packages",
	                                    "there is no package called",
	                                    "unable to access index for repository" } },
	[HINT_ROOT] = { .text = "programs of a sandbox are not root and cannot become root: leave "
	                        "sudo out",
	                .messages = { "sudo: command not found", "sudo: not found",
	                              "sudo: effective uid is not 0",
	                              "sudo: The \"no new privileges\" flag is set" } },
	[HINT_PACKAGES] = { .text = "packages that are missing can be installed with "
	                            "install_packages",
	                    .messages = { "No module named '" } },
	/* For import in a file, Node looks into no directory of packages but the project's. */
	[HINT_NODE_PACKAGES] = { .text = "packages that are missing can be installed with "
	                                 "install_packages; those that a file imports must be "
	                                 "listed in the package.json of its directory",
	                         .messages = { "Cannot find package '",
	                                       "Error: Cannot find module '@" } },
	[HINT_PTRACE] = { .text = "debuggers and LeakSanitizer need ptrace, which belljar allows "
	                          "if it is started with --calls debug",
	                  .messages = { "PTRACE_TRACEME", "PTRACE_SEIZE", "PTRACE_ATTACH",
	                                "PTRACE_SETOPTIONS", "ptrace: Operation not permitted",
	                                "LeakSanitizer has encountered a fatal error" } },
	[HINT_SESSION] = { .text = "runs that are given the same `session` keep their variables",
	                   .messages = { "note: an earlier run set '" } },
	[HINT_STDIN] = { .text = "the code reads more than its standard input has: pass what it is "
	                         "to read as `stdin`",
	                 .messages = { "EOF when reading a line",
	                               "at java.base/java.util.Scanner.throwFor" } },
	[HINT_NO_INPUT] = { .text = "the code reads its standard input, which is empty: pass what "
	                            "it is to read as `stdin`" },
	[HINT_NO_VALUE] = { .text = "a run in the background answers only what it prints, not the "
	                            "value of its last expression" },
	/* Sanitizers map terabytes that they never write to, and RLIMIT_DATA counts them. No note
	 * has this limit. */
	[HINT_SHADOW] = { .limit = "shadow:",
	                  .messages = { "ReserveShadowMemoryRange failed",
	                                "can not mmap the shadow memory" } },
	/* The first heap of a virtual machine is a 64th of the machine's memory, and its code for
	 * cgroups finds none in a sandbox. Where the limit is RLIMIT_DATA, a heap of that size is
	 * refused on machines with 64 times the sandbox's memory. */
	[HINT_JAVA] = { .limit = "memory:",
	                .messages = { "insufficient memory for the Java Runtime",
	                              "Could not reserve enough space for" } },
	/* A refused allocation or process is not counted on machines without cgroups, and a file
	 * that is too large is counted on none. */
	[HINT_PIDS] = { .limit = "pids:",
	                .messages = { "fork: retry: Resource temporarily unavailable",
	                              "fork: Resource temporarily unavailable", "cannot fork",
	                              "Cannot fork", "can't start new thread",
	                              "unable to create native thread",
	                              "can't create Thread: Resource temporarily",
	                              "unavailable - fork(2)", "failed to create new OS thread",
	                              ": resource temporarily unavailable",
	                              "code: 'EAGAIN',\n  syscall: 'spawn",
	                              "std::system_error'\n  what():  Resource temporarily",
	                              "BlockingIOError: [Errno 11]" } },
	[HINT_MEMORY] = { .limit = "memory:",
	                  .messages = { "MemoryError", "Cannot allocate memory", "std::bad_alloc",
	                                "java.lang.OutOfMemoryError", "cannot allocate vector",
	                                "failed to allocate memory",
	                                "Array buffer allocation failed", "memory exhausted",
	                                "Out of memory!", "fatal error: out of memory",
	                                "fatal error: runtime: out of memory",
	                                "run time error: out of memory",
	                                "Committing semi space failed",
	                                "CALL_AND_RETRY_LAST Allocation failed" } },
	[HINT_FILE_SIZE] = { .limit = SANDBOX_ONE_FILE, .messages = { SANDBOX_FILE_MAX_MESSAGES } },
	[HINT_OPEN_FILES] = { .limit = "open-files:",
	                      .messages = { "Too many open files", "too many open files" } },
};

static bool has_message(const struct hint *hint, struct view text)
{
	for (size_t i = 0; text.len != 0 && i < MESSAGES_MAX && hint->messages[i] != NULL; i++)
		if (memmem(text.ptr, text.len, hint->messages[i], strlen(hint->messages[i])) !=
		    NULL)
			return true;
	return false;
}

/* Programs that say nothing if they are asked to (curl -s, wget -q), and the exit code that means a
 * name which cannot be resolved. */
static const struct {
	const char *program;
	int code;
} silent[] = { { "curl", 6 }, { "wget", 4 } };

/* A pipeline, a "!" of a session or a script hides the exit code of a silent program. Without a
 * network it can reach the sandbox itself only. */
static bool is_silent_pass(const struct run_result *result, const struct run_fit *fit)
{
	const char *label = result->state->label;

	if (fit->out.len + fit->errors.len != 0 || strstr(label, "://") == NULL ||
	    strstr(label, "localhost") != NULL || strstr(label, "127.0.0.1") != NULL ||
	    result->limits_of == NULL || sandbox_network_mode(result->limits_of) != NET_MODE_NONE)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		if (strstr(label, silent[i].program) != NULL)
			return true;
	return false;
}

/* Code that catches the error and prints it passes, and its message is on stdout. There only whole
 * phrases count, and only in a short output: a long one is rather a text about networks. */
static bool prints_network_error(struct view out)
{
	const struct hint *hint = &hints[HINT_NETWORK];

	if (out.len == 0 || out.len > CAUGHT_MAX)
		return false;
	for (size_t i = 0; i < MESSAGES_MAX && hint->messages[i] != NULL; i++)
		if (strchr(hint->messages[i], ' ') != NULL &&
		    memmem(out.ptr, out.len, hint->messages[i], strlen(hint->messages[i])) != NULL)
			return true;
	return false;
}

static bool is_silent_failure(const struct process_state *state, const struct run_fit *fit)
{
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		if (state->end.code == silent[i].code && fit->errors.len == 0 &&
		    strstr(state->label, silent[i].program) != NULL)
			return true;
	return false;
}

bool run_hint_is_network(struct view out, struct view errors, bool has_failed)
{
	return has_message(&hints[HINT_NETWORK], errors) ||
	       (has_failed && has_message(&hints[HINT_NETWORK], out));
}

/* A pipeline such as "pip install x 2>&1 | tail" hides the failure: the exit code is that of tail,
 * and the messages are on stdout. */
static bool merges_streams(const struct process_state *state)
{
	return strstr(state->label, "2>&1") != NULL || strstr(state->label, "|&") != NULL ||
	       strstr(state->label, "&>") != NULL;
}

/* The hint for a run that passed, for instance "!pip install" in a cell, or a command whose failure
 * a script passes over. Only messages about errors count that rarely mean anything else. */
static bool is_for_passed_run(enum hint_kind kind)
{
	return kind == HINT_NETWORK || kind == HINT_SYSTEM_PACKAGES || kind == HINT_R_PACKAGES ||
	       kind == HINT_PTRACE || kind == HINT_SHADOW || kind == HINT_PIDS ||
	       kind == HINT_FILE_SIZE;
}

static bool is_silent(const struct process_state *state, const struct run_fit *fit)
{
	return fit->out.len == 0 && fit->errors.len == 0 && state->display_count == 0;
}

/* Code that finds no input fails in many ways, or ends without a word, as callbacks of Node that
 * are never called. */
static bool lacks_input(const struct process_state *state, const struct run_fit *fit)
{
	bool has_failed = state->error_name != NULL || state->end.code != 0;

	return state->lacks_input && state->end.signal == 0 && !state->end.compile_failed &&
	       !state->end.timed_out && (has_failed || is_silent(state, fit));
}

/* The message of an error may name only what failed: its cause is in the traceback. */
static bool error_has_message(const struct hint *hint, const struct process_state *state)
{
	const char *const error[] = { state->error_name, state->error_message,
		                      state->error_traceback };

	for (size_t i = 0; i < ARRAY_LEN(error); i++)
		if (error[i] != NULL && has_message(hint, view_of(error[i])))
			return true;
	return false;
}

static enum hint_kind find_hint(const struct run_result *result, const struct run_fit *fit)
{
	const struct process_state *state = result->state;
	bool has_passed = state->end.code == 0 && state->end.signal == 0 &&
	                  state->error_name == NULL;

	if (state->phase != PROCESS_ENDED)
		return HINT_COUNT;
	for (enum hint_kind kind = 0; kind < HINT_COUNT; kind++) {
		const struct hint *hint = &hints[kind];

		if (hint->limit != NULL &&
		    (result->limits_of == NULL || strstr(state->end.note, hint->limit) != NULL))
			continue;
		if (has_passed && !is_for_passed_run(kind))
			continue;
		if (kind == HINT_FILE_SIZE && strstr(state->end.note, SANDBOX_NO_ROOM) != NULL)
			continue;
		if (has_message(hint, buf_view(&fit->errors)) ||
		    ((!has_passed || merges_streams(state)) &&
		     has_message(hint, buf_view(&fit->out))) ||
		    error_has_message(hint, state))
			return kind;
	}
	if (has_passed ? is_silent_pass(result, fit) || prints_network_error(buf_view(&fit->out))
	               : is_silent_failure(state, fit))
		return HINT_NETWORK;
	if (has_passed && state->lacks_value && is_silent(state, fit))
		return HINT_NO_VALUE;
	return lacks_input(state, fit) ? HINT_NO_INPUT : HINT_COUNT;
}

static void describe_limit(enum hint_kind kind, struct sandbox *sandbox, char out[RUN_HINT_SIZE])
{
	const struct spec_limits *limits = &sandbox_row(sandbox)->spec.limits;
	const struct spec_limits *max = sandbox_ceilings(sandbox);
	char more[SANDBOX_MORE_SIZE], stacks[64] = "";
	struct engine_counters counters;
	bool has_cgroups = sandbox_counts(sandbox, &counters);

	/* Without cgroups the memory limit is RLIMIT_DATA, and stacks of threads are data. */
	if (!has_cgroups)
		(void)snprintf(stacks, sizeof stacks, ", whose stacks are part of %llu MiB",
		               (unsigned long long)(limits->memory >> 20));
	if (kind == HINT_SHADOW)
		(void)snprintf(out, RUN_HINT_SIZE, "sanitizers map more memory than %s",
		               has_cgroups ? "a program of run_code may: use run_command"
		                           : "a sandbox without cgroups may: valgrind works, and "
		                             "'belljar doctor' says how the operator gets cgroups");
	else if (kind == HINT_JAVA)
		(void)snprintf(out, RUN_HINT_SIZE,
		               "memory: java plans with the memory of the machine, and the limit "
		               "of the sandbox is %llu MiB: pass -XX:MaxRAM=%llum to java, "
		               "-J-XX:MaxRAM=%llum to javac",
		               (unsigned long long)(limits->memory >> 20),
		               (unsigned long long)(limits->memory >> 20),
		               (unsigned long long)(limits->memory >> 20));
	else if (kind == HINT_MEMORY)
		(void)snprintf(out, RUN_HINT_SIZE,
		               "memory: an allocation was refused, the limit is %llu MiB: use "
		               "less, %s",
		               (unsigned long long)(limits->memory >> 20),
		               sandbox_more_while_awake(sandbox, "memory_mb", limits->memory,
		                                        max->memory, SPEC_MIB(1), more));
	else if (kind == HINT_PIDS)
		(void)snprintf(out, RUN_HINT_SIZE,
		               "pids: the limit is %llu processes and threads%s: start fewer, %s",
		               (unsigned long long)limits->pids, stacks,
		               sandbox_more_while_awake(sandbox, "pids", limits->pids, max->pids, 1,
		                                        more));
	else if (kind == HINT_OPEN_FILES)
		(void)snprintf(out, RUN_HINT_SIZE,
		               "open-files: a program may have at most %llu files open: close "
		               "some before it opens others",
		               (unsigned long long)limits->files);
	else
		(void)sandbox_file_max(sandbox, out);
}

bool run_hint(const struct run_result *result, const struct run_fit *fit, char out[RUN_HINT_SIZE])
{
	enum hint_kind kind = find_hint(result, fit);
	const char *text, *place;

	/* The remark tells more about a package than that it can be installed. */
	if (kind == HINT_COUNT ||
	    (result->knows_packages && (kind == HINT_PACKAGES || kind == HINT_NODE_PACKAGES)))
		return false;
	text = hints[kind].text;
	if (text == NULL) {
		describe_limit(kind, result->limits_of, out);
		return true;
	}
	place = strstr(text, "PLACE");
	if (place == NULL)
		(void)snprintf(out, RUN_HINT_SIZE, "%s", text);
	else
		(void)snprintf(out, RUN_HINT_SIZE, "%.*s%s%s", (int)(place - text), text,
		               result->programs_place, place + strlen("PLACE"));
	return true;
}
