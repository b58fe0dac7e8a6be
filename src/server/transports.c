#include "server/transports.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "loop/loop.h"
#include "server/http/http_service.h"
#include "server/options/options.h"
#include "server/profile_mounts.h"
#include "tools/run/wait/wait_process.h"
#include "transport/stdio.h"

int transports_prepare(struct transports *transports, const struct options *options,
                       struct error *err)
{
	*transports = (struct transports){ .options = options };
	if (!http_service_is_wanted(options))
		return 0;
	return http_service_prepare(options, &transports->http, err);
}

static void answer_waiting_calls(void *ctx)
{
	(void)ctx;
	wait_process_end_all();
}

/* Calls over HTTP that wait for a process have half of the grace period to end by themselves; then
 * they are answered with what there is. */
void transports_close(struct transports *transports)
{
	uint64_t grace_ms;

	if (transports->stdio != NULL)
		stdio_close(transports->stdio);
	if (transports->http == NULL || transports->answer_timer == NULL)
		return;
	grace_ms = transports->options->grace_ms;
	http_service_stop(transports->http, grace_ms);
	loop_timer_start(transports->answer_timer, grace_ms / 2);
}

static void report_closed(struct transports *transports)
{
	if ((transports->stdio == NULL || transports->stdio_is_closed) &&
	    (transports->http == NULL || transports->http_is_closed))
		transports->events.closed(transports->events.ctx,
		                          transports->has_failed ? &transports->why : NULL);
}

/* The client on standard input and output has started this process: when it is gone, the server
 * ends, with HTTP too. */
static void on_stdio_closed(void *ctx, const struct error *why)
{
	struct transports *transports = ctx;

	transports->stdio_is_closed = true;
	if (why != NULL) {
		transports->has_failed = true;
		transports->why = *why;
	}
	transports_close(transports);
	report_closed(transports);
}

static void on_http_closed(void *ctx)
{
	struct transports *transports = ctx;

	transports->http_is_closed = true;
	report_closed(transports);
}

static const char *why_not_ready(void *ctx)
{
	const struct transports *transports = ctx;

	return transports->events.why_not_ready(transports->events.ctx);
}

/* The locale of messages, from the variables that setlocale(3) reads, in its order: a client that
 * starts the server passes on those of its user. */
static const char *find_locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale != NULL && locale[0] != '\0')
			return locale;
	}
	return NULL;
}

static int start_stdio(struct transports *transports, struct loop *loop, struct mcp_server *mcp,
                       const char *owner, struct error *err)
{
	const struct stdio_config config = {
		.owner = owner,
		.locale = find_locale(),
		.in_fd = STDIN_FILENO,
		.out_fd = STDOUT_FILENO,
		.max_queue = transports->options->max_queue,
		.grace_ms = transports->options->grace_ms,
		.closed = on_stdio_closed,
		.ctx = transports,
	};

	if (stdio_new(loop, mcp, &config, &transports->stdio, err) < 0)
		return -1;
	log_info("belljar %s serves one client on standard input and output", BELLJAR_VERSION);
	return 0;
}

int transports_start(struct transports *transports, struct loop *loop, struct mcp_server *mcp,
                     const struct profile_mounts *mounts, const char *owner,
                     const struct transports_events *events, struct error *err)
{
	const struct http_service_events http_events = { why_not_ready, on_http_closed, transports,
		                                         events->tools };

	transports->events = *events;
	transports->answer_timer = loop_timer_new(loop, answer_waiting_calls, transports);
	if (transports->http != NULL)
		http_service_start(transports->http, loop, mounts->mounts, mounts->count + 1, owner,
		                   &http_events);
	if (transports->http != NULL && !transports->options->stdio)
		return 0;
	return start_stdio(transports, loop, mcp, owner, err);
}

void transports_done(struct transports *transports)
{
	(void)stdio_free(transports->stdio);
	(void)http_service_free(transports->http);
	(void)loop_timer_free(transports->answer_timer);
	*transports = (struct transports){ 0 };
}
