#include "tools/run/network_note.h"

#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"
#include "sandbox/process/process.h"
#include "tools/run/run_result.h"

/* Messages of the C library, of curl, git, Node, Go, Java, Rust and Ruby, for a name that cannot be
 * resolved and for an address without a route. A refused connection is not one of them: that is
 * what a program gets whose own server on localhost is not up. */
static const char *const messages[] = {
	"Name or service not known",
	"Temporary failure in name resolution",
	"ould not resolve",
	"unable to resolve host",
	"Network is unreachable",
	"failed to lookup address information",
	"nodename nor servname",
	"EAI_AGAIN",
	"ENOTFOUND",
	"ENETUNREACH",
	"no such host",
	"UnknownHostException",
	"Temporary failure resolving",
	"module lookup disabled",
	"(from versions: none)", /* pip, which does not print why with `retries = 0` */
};

static bool has_message(struct view text)
{
	for (size_t i = 0; i < ARRAY_LEN(messages); i++)
		if (memmem(text.ptr, text.len, messages[i], strlen(messages[i])) != NULL)
			return true;
	return false;
}

bool failed_for_network(const struct process_state *state, const struct run_fit *fit)
{
	if (state->phase != PROCESS_ENDED ||
	    (state->end.code == 0 && state->end.signal == 0 && state->error_name == NULL))
		return false;
	return has_message(buf_view(&fit->errors)) || has_message(buf_view(&fit->out)) ||
	       (state->error_message != NULL && has_message(view_of(state->error_message)));
}
