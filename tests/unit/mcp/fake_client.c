#include "unit/mcp/fake_client.h"

static void on_send(struct mcp_sink *sink, const struct mcp_message *sent)
{
	const struct view text = sent->text;
	struct peer *peer = container_of(sink, struct peer, sink);
	json_t *message = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);

	assert_non_null(message);
	json_push(peer->sent, message);
}

static bool is_busy(struct mcp_sink *sink)
{
	return container_of(sink, struct peer, sink)->busy;
}

void peer_join_as(struct peer *peer, struct mcp_server *server, const char *owner)
{
	*peer = (struct peer){ .sink = { .send = on_send, .is_busy = is_busy }, .server = server };
	peer->sent = json_list();
	peer->session = mcp_session_new(
	        server, &peer->sink,
	        &(struct mcp_caller){ owner, MCP_SCOPE_ALL, .has_roots = true });
}

void peer_join(struct peer *peer, struct mcp_server *server)
{
	peer_join_as(peer, server, "me");
}

void peer_leave(struct peer *peer)
{
	if (peer->session != NULL)
		mcp_session_close(peer->session);
	json_decref(peer->sent);
}

void peer_open(struct peer *peer, struct mcp_config *config)
{
	struct loop *loop;
	struct error err;

	CHECK_OK(loop_new(&loop, &err), err);
	config->name = "test";
	config->version = "1";
	config->app = peer;
	if (config->limits.max_line == 0)
		config->limits = mcp_default_limits;
	peer_join(peer, mcp_server_new(loop, config));
	peer->loop = loop;
}

void peer_close(struct peer *peer)
{
	peer_leave(peer);
	(void)mcp_server_free(peer->server);
	(void)loop_free(peer->loop);
}

void peer_send(struct peer *peer, const char *line)
{
	mcp_session_receive(peer->session, view_of(line));
}

const char *peer_next(struct peer *peer)
{
	static char *texts[2];
	static int turn;
	json_t *first = json_array_get(peer->sent, 0);
	size_t len;

	if (first == NULL)
		return "(nothing)";
	turn ^= 1;
	free(texts[turn]);
	texts[turn] = json_write(first, &len);
	(void)json_array_remove(peer->sent, 0);
	return texts[turn];
}

void peer_check(const struct mcp_config *config, const char *line, const char *want)
{
	struct mcp_config copy = *config;
	struct peer peer;

	peer_open(&peer, &copy);
	peer_send(&peer, line);
	CHECK_NEXT(&peer, want);
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct peer *peer = ctx;

	assert_ptr_equal(call, peer->held);
	peer->cancelled++;
}

int peer_hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct peer *peer = mcp_call_app(call);

	(void)args, (void)err;
	peer->held = call;
	mcp_call_on_cancel(call, on_cancel, peer);
	return 0;
}
