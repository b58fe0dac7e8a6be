/* talk.h - one session without a transport: lines in, the messages sent back in a list. */
#pragma once
#include "base/cleanup.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "unit/test.h"
#include "json/json.h"

struct talk {
	struct mcp_sink sink;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_session *session;
	json_t *sent;
	bool busy;
	struct mcp_call *held; /* by the tool "hold" */
	int cancelled;
};

static inline void talk_on_send(struct mcp_sink *sink, struct view text)
{
	struct talk *talk = container_of(sink, struct talk, sink);
	json_t *message = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);

	assert_non_null(message);
	json_push(talk->sent, message);
}

static inline bool talk_is_busy(struct mcp_sink *sink)
{
	return container_of(sink, struct talk, sink)->busy;
}

static inline void talk_begin(struct talk *talk, struct mcp_config *config)
{
	struct error err;

	*talk = (struct talk){ .sink = { talk_on_send, talk_is_busy } };
	CHECK_OK(loop_new(&talk->loop, &err), err);
	talk->sent = json_list();
	config->name = "test";
	config->version = "1";
	config->app = talk;
	if (config->limits.max_line == 0)
		config->limits = mcp_default_limits;
	talk->server = mcp_server_new(talk->loop, config);
	talk->session = mcp_session_new(talk->server, &talk->sink);
}

static inline void talk_end(struct talk *talk)
{
	if (talk->session != NULL)
		mcp_session_close(talk->session);
	(void)mcp_server_free(talk->server);
	(void)loop_free(talk->loop);
	json_decref(talk->sent);
}

static inline void talk_say(struct talk *talk, const char *line)
{
	mcp_session_receive(talk->session, view_of(line));
}

/* The next message sent, as text; it stays valid until the second next. */
static inline const char *talk_next(struct talk *talk)
{
	static char *texts[2];
	static int turn;
	json_t *first = json_array_get(talk->sent, 0);
	size_t len;

	if (first == NULL)
		return "(silence)";
	turn ^= 1;
	free(texts[turn]);
	texts[turn] = json_write(first, &len);
	(void)json_array_remove(talk->sent, 0);
	return texts[turn];
}

#define CHECK_NEXT(talk, want) assert_string_equal(talk_next(talk), want)
#define CHECK_SILENCE(talk)    assert_string_equal(talk_next(talk), "(silence)")
