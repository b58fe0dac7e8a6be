#include "server/server.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "loop/loop.h"
#include "mcp/server.h"
#include "server/options.h"
#include "tools/catalogue.h"
#include "transport/stdio.h"

static const char icon_svg[] =
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9"
        "IjAgMCAyNCAyNCIgZmlsbD0ibm9uZSIgc3Ryb2tlPSIjMzQ2IiBzdHJva2Utd2lkdGg9IjEuNSI+PHBhdGggZD0iTT"
        "YgMTlWMTBhNiA2IDAgMCAxIDEyIDB2OSIvPjxwYXRoIGQ9Ik0zIDE5aDE4djJIM3oiLz48Y2lyY2xlIGN4PSIxMiIg"
        "Y3k9IjMiIHI9IjEiLz48L3N2Zz4=";

static const struct mcp_icon icon = { .src = icon_svg,
	                              .mime_type = "image/svg+xml",
	                              .sizes = "any" };

/* The limits a caller may meet, by the names of their options. */
static const enum option_id shown_limits[] = {
	OPTION_MAX_LINE,          OPTION_MAX_DEPTH, OPTION_MAX_VALUES,
	OPTION_MAX_BATCH,         OPTION_MAX_CALLS, OPTION_MAX_HELD,
	OPTION_MAX_SUBSCRIPTIONS, OPTION_MAX_QUEUE, OPTION_PAGE_SIZE,
};

/* A terminal that closes ends us as cleanly as being told to. */
static const int ending_signals[] = { SIGTERM, SIGINT, SIGHUP };

struct server {
	struct loop *loop;
	struct mcp_server *mcp;
	struct stdio *stdio;
	struct loop_signal *signals[ARRAY_LEN(ending_signals)];
	bool stopping;
	bool broken; /* `why` says why */
	struct error why;
	struct tools_context context;
	struct tools_limit limits[ARRAY_LEN(shown_limits)];
	char limit_names[ARRAY_LEN(shown_limits)][OPTION_NAME_SIZE];
};

static void fill_context(struct server *server, const struct options *options)
{
	for (size_t i = 0; i < ARRAY_LEN(shown_limits); i++) {
		const struct option_spec *spec = &option_specs[shown_limits[i]];
		struct tools_limit *limit = &server->limits[i];

		limit->name = option_key(spec, server->limit_names[i]);
		limit->help = spec->help;
		memcpy(&limit->value, (const char *)options + spec->offset, sizeof limit->value);
	}
	server->context = (struct tools_context){
		.version = BELLJAR_VERSION,
		.profile = "default",
		.limits = server->limits,
		.limit_count = ARRAY_LEN(shown_limits),
		.started_ms = clock_now_ms(),
	};
}

static struct mcp_server *make_mcp(struct server *server, const struct options *options)
{
	const struct mcp_config config = {
		.name = "belljar",
		.title = "Belljar",
		.version = BELLJAR_VERSION,
		.help = "Runs untrusted code in isolated sandboxes on this machine.",
		.instructions = catalogue_instructions,
		.icon = &icon,
		.tools = catalogue_tools,
		.resources = catalogue_resources,
		.templates = catalogue_templates,
		.prompts = catalogue_prompts,
		.cache_ms = 60000,
		.limits = {
			.json = { .depth = options->max_depth, .values = options->max_values },
			.max_line = options->max_line,
			.max_batch = options->max_batch,
			.max_calls = options->max_calls,
			.max_held = options->max_held,
			.max_subscriptions = options->max_subscriptions,
			.page_size = options->page_size,
		},
		.app = &server->context,
	};

	return mcp_server_new(server->loop, &config);
}

static void on_ended(void *ctx, const struct error *why)
{
	struct server *server = ctx;

	server->broken = why != NULL;
	if (why != NULL)
		server->why = *why;
	loop_stop(server->loop);
}

/* A second signal does not wait for anybody. */
static void on_signal(void *ctx)
{
	struct server *server = ctx;

	if (server->stopping)
		loop_stop(server->loop);
	server->stopping = true;
	log_info("told to end");
	stdio_end(server->stdio);
}

static int serve(struct server *server, const struct options *options, struct error *err)
{
	const struct stdio_config config = {
		.in_fd = STDIN_FILENO,
		.out_fd = STDOUT_FILENO,
		.max_queue = options->max_queue,
		.grace_ms = options->grace_ms,
		.ended = on_ended,
		.ctx = server,
	};

	if (stdio_open(server->loop, server->mcp, &config, &server->stdio, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
		server->signals[i] = loop_signal_new(server->loop, ending_signals[i], on_signal,
		                                     server);
	log_info("belljar %s serves one client on standard input and output", BELLJAR_VERSION);
	loop_run(server->loop);
	log_info("ended");
	if (!server->broken)
		return 0;
	*err = server->why;
	return -1;
}

int server_run(const struct options *options, struct error *err)
{
	struct server server = { 0 };
	int r;

	log_set_level(options->log_level);
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a client that left is an error, not a death */
	if (loop_new(&server.loop, err) < 0)
		return -1;
	fill_context(&server, options);
	server.mcp = make_mcp(&server, options);
	r = serve(&server, options, err);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
		(void)loop_signal_free(server.signals[i]);
	(void)stdio_free(server.stdio);
	(void)mcp_server_free(server.mcp);
	(void)loop_free(server.loop);
	return r;
}
