#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/port_links.h"
#include "tools/support/work.h"

struct expose_args {
	int64_t port;
	const char *sandbox;
};

static const struct param params[] = {
	ARG_REQUIRED(struct expose_args, port, INT, "", .min = 1, .max = UINT16_MAX),
	WORK_PARAM_SANDBOX(struct expose_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD("url", STRING, "For programs that send the owner's token."),
	FIELD("link", STRING, "For a browser; whoever has it can open the port."),
	FIELD("expires_in_s", INT, "Seconds until the link ends."),
	FIELD("listening", BOOL, "Whether a program listens on the port now."),
	{ 0 },
};

struct expose {
	struct work work;
	uint16_t port;
	struct channel_stream *stream; /* NULL: the port was tried */
};

static void answer_link(struct expose *expose, bool is_listening)
{
	struct work *work = &expose->work;
	const struct tools_context *context = work->context;
	const struct sandbox_row *row = sandbox_row(work->sandbox);
	struct port_link_target target = { .port = expose->port };
	char key[PORT_LINK_KEY + 1];
	AUTO_FREE char *url = NULL, *link = NULL;
	json_t *info = json_obj();

	(void)snprintf(target.owner, sizeof target.owner, "%s", mcp_call_owner(work->call));
	(void)snprintf(target.sandbox, sizeof target.sandbox, "%s", row->spec.id);
	port_links_add(context->port_links, &target, key);
	url = mem_format("%s/ports/%s/%u/", context->url, row->spec.id, expose->port);
	link = mem_format("%s~%s/", url, key);
	json_set(info, "url", json_str(url));
	json_set(info, "link", json_str(link));
	json_set(info, "expires_in_s", json_int(PORT_LINK_MS / 1000));
	json_set(info, "listening", json_boolean(is_listening));
	work_answer(work, NULL, info);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct expose *expose = ctx;

	if (message->type != WIRE_LINKED)
		return;
	channel_cancel(expose->stream);
	expose->stream = NULL;
	answer_link(expose, true);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct expose *expose = ctx;

	(void)failure;
	expose->stream = NULL;
	if (why->errnum == ECONNREFUSED)
		answer_link(expose, false);
	else
		work_fail(&expose->work, why);
}

static int try_port(struct work *work, struct error *err)
{
	static const struct channel_stream_events events = { .message = on_message,
		                                             .failed = on_failed };
	struct expose *expose = container_of(work, struct expose, work);
	const struct wire_message request = { .type = WIRE_CONNECT, .port.port = expose->port };
	struct channel *channel = sandbox_channel(work->sandbox);

	if (channel == NULL)
		return work_sandbox_gone(err);
	return channel_open(channel, &request, &events, expose, &expose->stream, err);
}

static void end_expose(struct work *work)
{
	struct expose *expose = container_of(work, struct expose, work);

	if (expose->stream != NULL)
		channel_cancel(expose->stream);
}

static int expose_port(struct mcp_call *call, const void *args, struct error *err)
{
	static const struct work_callbacks callbacks = { .start = try_port, .done = end_expose };
	const struct expose_args *a = args;
	struct work *work;

	if (work_start(call, sizeof(struct expose), &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	container_of(work, struct expose, work)->port = (uint16_t)a->port;
	return 0;
}

static bool has_http(const void *app)
{
	const struct tools_context *context = app;

	return context->url != NULL;
}

const struct mcp_tool tool_expose_port = {
	.name = "expose_port",
	.title = "Open a port of a sandbox",
	.help = "Get a URL for a port that a program in the sandbox listens on.",
	.more = "The program listens on 127.0.0.1 or on all addresses. The sandbox needs no "
	        "network for this. The link is for the user's browser and ends after an hour; "
	        "give it to the user as it is. Pages have an origin of their own and no cookies, "
	        "and paths should be relative: the prefix of the URL is in the field "
	        "X-Forwarded-Prefix of each request. WebSockets work.",
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct expose_args),
	.output = output,
	.is_offered = has_http,
	.call = expose_port,
};
