#include "tools/run/answer/run_hint.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"
#include "sandbox/process/process.h"
#include "tools/run/answer/run_result.h"

enum { MESSAGES_MAX = 16, HINT_NETWORK = 0, HINT_PACKAGES = 2 };

static const struct hint {
	const char *text; /* "PLACE": where the operator can install programs for sandboxes */
	const char *messages[MESSAGES_MAX];
} hints[] = {
	/* Messages of the C library, of curl, git, Node, Go, Java, Rust and Ruby, for a name that
	 * cannot be resolved and for an address without a route. A refused connection is not one of
	 * them: a program gets it if its own server on localhost is not up. pip does not print why
	 * it found nothing. */
	{ "a sandbox has no network unless it is given one: install_packages installs packages, "
	  "other files can be copied in",
	  { "Name or service not known", "Temporary failure in name resolution", "ould not resolve",
	    "unable to resolve host", "Network is unreachable",
	    "failed to lookup address information", "nodename nor servname", "EAI_AGAIN",
	    "ENOTFOUND", "ENETUNREACH", "no such host", "UnknownHostException",
	    "Temporary failure resolving", "module lookup disabled", "(from versions: none)" } },
	{ "packages of the system cannot be installed in a sandbox, whose programs are not root: "
	  "the operator can install them PLACE; install_packages installs those of Python and "
	  "JavaScript",
	  { "are you root?", "requires superuser privilege", "be run with superuser privileges",
	    "Unable to lock database: Permission denied", "/var/lib/dpkg/lock" } },
	[HINT_PACKAGES] = { "packages that are missing can be installed with install_packages",
	                    { "No module named '", "Cannot find package '",
	                      "Error: Cannot find module '@" } },
	{ "debuggers and LeakSanitizer need ptrace, which belljar allows if it is started with "
	  "--calls debug",
	  { "PTRACE_TRACEME", "PTRACE_SEIZE", "PTRACE_ATTACH", "ptrace: Operation not permitted",
	    "LeakSanitizer has encountered a fatal error" } },
	{ "runs that are given the same `session` keep their variables",
	  { "note: an earlier run set '" } },
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

static const char *find_hint(const struct run_result *result, const struct run_fit *fit)
{
	const struct process_state *state = result->state;
	const char *error = state->error_message != NULL ? state->error_message : "";

	if (state->phase != PROCESS_ENDED)
		return NULL;
	/* For "!pip install" in a cell, and for a command whose failure a script passes over, only
	 * stderr counts, and only messages about the network. */
	if (state->end.code == 0 && state->end.signal == 0 && state->error_name == NULL)
		return run_hint_is_network((struct view){ 0 }, buf_view(&fit->errors), false)
		               ? hints[HINT_NETWORK].text
		               : NULL;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (has_message(&hints[i], buf_view(&fit->errors)) ||
		    has_message(&hints[i], buf_view(&fit->out)) ||
		    has_message(&hints[i], view_of(error)))
			return hints[i].text;
	return is_silent_failure(state, fit) ? hints[HINT_NETWORK].text : NULL;
}

bool run_hint(const struct run_result *result, const struct run_fit *fit, char out[RUN_HINT_SIZE])
{
	const char *text = find_hint(result, fit), *place;

	/* The remark tells more about a package than that it can be installed. */
	if (text == NULL || (result->knows_packages && text == hints[HINT_PACKAGES].text))
		return false;
	place = strstr(text, "PLACE");
	if (place == NULL)
		(void)snprintf(out, RUN_HINT_SIZE, "%s", text);
	else
		(void)snprintf(out, RUN_HINT_SIZE, "%.*s%s%s", (int)(place - text), text,
		               result->programs_place, place + strlen("PLACE"));
	return true;
}
