#include "base/error.h"
#include "cli/verb.h"
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "server/server.h"

static enum verb_result run_serve(const struct verb_call *call, struct error *err)
{
	if (doctor_require(call->options, DOCTOR_ENGINE_TRIED, err) < 0)
		return err->kind == ERR_INVALID ? VERB_MISUSED : VERB_FAILED;
	return server_run(call->options, err) < 0 ? VERB_FAILED : VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar serve", "Serve, as an MCP client would start it." },
	{ "belljar serve --log-level debug 2>belljar.log", "Write a full log to a file." },
	{ "belljar serve --http 127.0.0.1:8000", "Serve any number of clients over HTTP." },
	{ "belljar serve --http :8443 --auth token --tls-cert c.pem --tls-key k.pem",
	  "Serve other machines, for users with tokens." },
	{ "belljar serve --require cgroups,seccomp", "Refuse to start without these layers." },
	{ "BELLJAR_MAX_LINE=1M belljar serve", "Accept messages of at most 1 MiB." },
	{ NULL, NULL },
};

const struct verb verb_serve = {
	.name = "serve",
	.summary = "Serve MCP on standard input and output, or over HTTP.",
	.help = "Reads one JSON-RPC message per line from standard input and answers on standard "
	        "output until the input ends. The log goes to standard error. An MCP client starts "
	        "this by itself; 'belljar connect' prints the entry for its configuration.\n\n"
	        "With --http, --sse or sockets of systemd, serves any number of clients over HTTP "
	        "instead, until a signal ends the server, and prints each address on standard "
	        "output.",
	.examples = examples,
	.options = FOR_SERVE,
	.run = run_serve,
};
