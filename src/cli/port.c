#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/num.h"
#include "cli/support/attachment.h"
#include "cli/verb.h"
#include "sandbox/port/port_forward.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"

enum { BACKLOG = 128 };

struct port {
	struct attachment *attachment;
	struct sandbox *sandbox; /* held; NULL: not awake yet */
	struct port_forward *forward;
	uint16_t inside, local;
	int listener;
};

/* --- the local port --- */

static int listen_local(uint16_t wanted, int *ret, uint16_t *ret_port, struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons(wanted),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return error_sys(err, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return error_sys(err, "listen on port %u of 127.0.0.1", wanted);
	*ret_port = ntohs(address.sin_port);
	*ret = TAKE_FD(fd);
	return 0;
}

/* Without a port of the caller's choice the same number is taken if it is free, because programs
 * inside may print it. */
static int choose_local(struct port *port, const char *text, struct error *err)
{
	uint64_t wanted;

	if (text != NULL) {
		if (num_parse_u64(text, 0, UINT16_MAX, &wanted, err) < 0)
			return error_wrap(err, "LOCAL");
		return listen_local((uint16_t)wanted, &port->listener, &port->local, err);
	}
	if (listen_local(port->inside, &port->listener, &port->local, err) == 0)
		return 0;
	return listen_local(0, &port->listener, &port->local, err);
}

/* --- forwarding --- */

static void on_refused(void *ctx, const struct error *why)
{
	const struct port *port = ctx;

	if (why->errnum == ECONNREFUSED)
		log_warning("a connection was closed: no program listens on port %u in the "
		            "sandbox yet",
		            port->inside);
	else
		log_warning("a connection was closed: %s", why->msg);
}

static void on_sandbox_end(void *ctx, const struct error *why)
{
	struct port *port = ctx;
	struct error err;

	(void)why;
	(void)error_set(&err, ERR_SYSTEM, "the sandbox has ended");
	port->forward = port_forward_free(port->forward);
	attachment_fail(port->attachment, &err);
}

static int start_forward(void *ctx, struct attachment *attachment, struct error *err)
{
	struct port *port = ctx;
	struct port_forward_options options = { .loop = attachment_loop(attachment),
		                                .listener = port->listener,
		                                .port = port->inside,
		                                .refused = on_refused,
		                                .ctx = port };
	char line[64];
	int len;

	port->attachment = attachment;
	port->sandbox = attachment_sandbox(attachment);
	sandbox_hold(port->sandbox);
	sandbox_notify_end(port->sandbox, on_sandbox_end, port);
	options.channel = sandbox_channel(port->sandbox);
	port->forward = port_forward_new(&options);
	/* stdio would keep the line in its buffer while a script waits for it. */
	len = snprintf(line, sizeof line, "http://127.0.0.1:%u\n", port->local);
	return fd_write_all(STDOUT_FILENO, (struct view){ line, (size_t)len }, err);
}

/* False: the command itself ends at the signal, because it runs no program that could get it. */
static bool stop_on_signal(void *ctx, int number)
{
	(void)ctx, (void)number;
	return false;
}

static void stop_forward(void *ctx)
{
	struct port *port = ctx;

	port->forward = port_forward_free(port->forward);
	if (port->sandbox == NULL)
		return;
	sandbox_cancel_notify_end(port->sandbox, on_sandbox_end, port);
	sandbox_release(port->sandbox);
}

static const struct attachment_events attachment_events = { start_forward, stop_on_signal,
	                                                    stop_forward };

static enum verb_result run_port(const struct verb_call *call, struct error *err)
{
	static struct port port;
	const struct attachment_options options = { .call = call,
		                                    .sandbox = call->operands[0],
		                                    .must_exist = true };
	enum verb_result result;
	uint64_t inside;

	port = (struct port){ .listener = -1 };
	if (call->operands[1] == NULL || (call->operands[2] != NULL && call->operands[3] != NULL)) {
		(void)error_set(err, ERR_INVALID,
		                "expected SANDBOX PORT [LOCAL], such as: belljar port work 8000");
		return VERB_MISUSED;
	}
	if (num_parse_u64(call->operands[1], 1, UINT16_MAX, &inside, err) < 0) {
		(void)error_wrap(err, "PORT");
		return VERB_MISUSED;
	}
	port.inside = (uint16_t)inside;
	/* The confined process may accept connections, but not listen. */
	if (choose_local(&port, call->operands[2], err) < 0)
		return err->kind == ERR_SYSTEM ? VERB_FAILED : VERB_MISUSED;
	result = attachment_run(&options, &attachment_events, &port, err);
	(void)close(port.listener);
	return result;
}

static const struct verb_example examples[] = {
	{ "belljar port work 8000", "Reach port 8000 of the sandbox 'work' as 127.0.0.1:8000." },
	{ "belljar port work 8000 9000", "The same as 127.0.0.1:9000." },
	{ "belljar port work 8000 0", "The same on a port that is free." },
	{ NULL, NULL },
};

const struct verb verb_port = {
	.name = "port",
	.operand = "SANDBOX",
	.operand_needed = true,
	.operand_rest = "PORT [LOCAL]",
	.summary = "Forward a local port to a port of a sandbox.",
	.help = "Listens on 127.0.0.1 and forwards each connection to the port of the sandbox's "
	        "own loopback interface (127.0.0.1, or ::1 if nothing listens there), until it is "
	        "stopped with Ctrl-C. Prints the address. Without LOCAL the same port is used if "
	        "it is free, otherwise another one. The sandbox needs no network for this. If a "
	        "server has the sandbox awake, the connections go through that server; otherwise "
	        "this command wakes the sandbox, and its processes end with it.\n\n"
	        "Every user of this machine can connect to the local port. Pages that it serves "
	        "were written by code in the sandbox: a browser shows them with the origin of the "
	        "local address.",
	.examples = examples,
	.options = FOR_PORT,
	.run = run_port,
};
