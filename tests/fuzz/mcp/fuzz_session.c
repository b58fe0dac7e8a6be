/* fuzz_session.c - a client sends any lines, over one connection and again as POSTs. Every message
 * of a session is JSON on one line, each POST ends exactly once, and a new session of the same
 * server responds to a ping afterwards. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "mcp/mcp_server.h"
#include "mcp/session.h"
#include "tools/catalogue.h"

static struct view last_sent;
static char last_copy[256];

static void on_send(struct mcp_sink *sink, const struct mcp_message *sent)
{
	const struct view text = sent->text;
	AUTO_JSON json_t *message = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);

	(void)sink;
	if (message == NULL || memchr(text.ptr, '\n', text.len) != NULL)
		abort();
	last_sent.len = text.len < sizeof last_copy ? text.len : sizeof last_copy;
	memcpy(last_copy, text.ptr, last_sent.len);
}

static bool is_busy(struct mcp_sink *sink)
{
	(void)sink;
	return false;
}

static struct mcp_server *make_server(struct loop *loop)
{
	static const struct tools_context context = { .version = "1", .profile = "fuzz" };
	static struct tools_context app;
	struct mcp_config config = {
		.name = "fuzz",
		.version = "1",
		.tools = catalogue_tools,
		.resources = catalogue_resources,
		.templates = catalogue_templates,
		.prompts = catalogue_prompts,
		.lists_change = true,
		.resources_change = true,
		.limits = mcp_default_limits,
		.app = &app,
	};

	app = context;
	config.limits.page_size = 1;
	config.limits.max_calls = 4;
	config.limits.max_subscriptions = 2;
	return mcp_server_new(loop, &config);
}

static size_t done_count;

static void on_done(struct mcp_sink *sink)
{
	(void)sink;
	done_count++;
}

static const char *get_param(void *ctx, const char *name)
{
	(void)name;
	return ctx;
}

/* The sink of a POST that belongs to a session is used until the session is closed. */
static void post_lines(struct mcp_server *server, const struct mcp_caller *caller, struct view rest)
{
	static const char *const versions[] = { NULL, "2026-07-28", "2025-11-25", "x" };
	struct mcp_sink sink = { .send = on_send, .is_busy = is_busy, .done = on_done };
	struct mcp_session *shared = mcp_session_new(server, &sink, caller);
	size_t posts = 0;
	struct view line;

	done_count = 0;
	for (; view_next_line(&rest, &line); posts++) {
		const struct mcp_headers headers = { .version = versions[posts % 4],
			                             .param = get_param };
		struct mcp_input *input = mcp_input_new(server, line);
		struct mcp_session *alone;

		if (mcp_input_route(input, &headers) != MCP_ROUTE_ALONE) {
			mcp_session_receive_on(shared, input, &sink, &headers);
			continue;
		}
		alone = mcp_session_new(server, &sink, caller);
		mcp_session_receive_on(alone, input, &sink, &headers);
		mcp_session_close(alone);
	}
	mcp_session_close(shared);
	if (done_count != posts)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}";
	static const char pong[] = "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"result\":{}}";
	struct view rest = { (const char *)data, size };
	struct mcp_sink sink = { .send = on_send, .is_busy = is_busy };
	const struct mcp_caller caller = { "me", MCP_SCOPE_ALL, .has_roots = true };
	struct mcp_session *session;
	struct mcp_server *server;
	struct loop *loop;
	struct view line;
	struct error err;

	if (loop_new(&loop, &err) < 0)
		abort();
	server = make_server(loop);
	session = mcp_session_new(server, &sink, &caller);
	while (view_next_line(&rest, &line))
		mcp_session_receive(session, line);
	mcp_server_list_changed(server, NULL, MCP_LIST_TOOLS);
	mcp_session_close(session);
	post_lines(server, &caller, (struct view){ (const char *)data, size });
	session = mcp_session_new(server, &sink, &caller);
	mcp_session_receive(session, view_of(ping));
	if (last_sent.len != strlen(pong) || memcmp(last_copy, pong, last_sent.len) != 0)
		abort();
	mcp_session_close(session);
	(void)mcp_server_free(server);
	(void)loop_free(loop);
	return 0;
}
