#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "mcp/server.h"
#include "sandbox/manager.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/porter.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/context.h"
#include "server/instructions.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"
#include "tools/catalogue.h"
#include "tools/files/watch_files.h"
#include "tools/resources/resources.h"
#include "tools/support/work.h"
#include "transport/stdio.h"

static const char icon_svg[] =
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9"
        "IjAgMCAyNCAyNCIgZmlsbD0ibm9uZSIgc3Ryb2tlPSIjMzQ2IiBzdHJva2Utd2lkdGg9IjEuNSI+PHBhdGggZD0iTT"
        "YgMTlWMTBhNiA2IDAgMCAxIDEyIDB2OSIvPjxwYXRoIGQ9Ik0zIDE5aDE4djJIM3oiLz48Y2lyY2xlIGN4PSIxMiIg"
        "Y3k9IjMiIHI9IjEiLz48L3N2Zz4=";

static const struct mcp_icon icon = { .src = icon_svg,
	                              .mime_type = "image/svg+xml",
	                              .sizes = "any" };

/* SIGHUP, from a terminal that closes, is a request to shut down like the others. */
static const int stop_signals[] = { SIGTERM, SIGINT, SIGHUP };

enum {
	STOP_TIMEOUT_MS = 5000, /* for sandboxes to fall asleep */
	PREPARE_MS = 1, /* delay of the prepared sandbox, so that a waiting message goes first */
};

struct server {
	const struct options *options;
	struct loop *loop;
	struct runtime *runtime;     /* NULL: no sandbox can be created; the context says why */
	struct skills *skills;       /* or NULL */
	void **prompts, **resources; /* the catalogue's, then those of the skills */
	enum host_roots roots;       /* decided while the server still has the user's id */
	struct porter porter;
	struct host *host;
	struct mcp_server *mcp;
	struct watch_files *watch;
	struct stdio *stdio;
	struct loop_signal *signals[ARRAY_LEN(stop_signals)];
	struct loop_timer *stop_timer, *prepare_timer;
	bool has_signal, is_stopping;
	bool has_failed; /* with `why` */
	struct error why;
	struct server_context context;
	char instructions[2048]; /* written before the first client is served */
};

/* Joins two NULL-terminated tables. */
static void **join_tables(const void *const *first, const void *const *second)
{
	size_t count = 0, at = 0;
	void **all;

	while (first[count] != NULL)
		count++;
	for (size_t i = 0; second != NULL && second[i] != NULL; i++)
		count++;
	all = mem_array(count + 1, sizeof *all);
	for (size_t i = 0; first[i] != NULL; i++)
		memcpy(&all[at++], &first[i], sizeof *all);
	for (size_t i = 0; second != NULL && second[i] != NULL; i++)
		memcpy(&all[at++], &second[i], sizeof *all);
	return all;
}

static void add_skills(struct server *server)
{
	const struct skills *skills = server->skills;

	server->prompts = join_tables((const void *const *)catalogue_prompts,
	                              skills != NULL ? (const void *const *)skills_prompts(skills)
	                                             : NULL);
	server->resources = join_tables(
	        (const void *const *)catalogue_resources,
	        skills != NULL ? (const void *const *)skills_resources(skills) : NULL);
	server->context.tools.skills = skills;
}

/* The process may have written any file of the sandbox: notify the clients that subscribed to
 * one. */
static void on_process_ended(void *ctx, const struct sandbox_row *row)
{
	struct server *server = ctx;
	char prefix[SANDBOX_NAME_MAX + 16];

	(void)snprintf(prefix, sizeof prefix, "sandbox://%s/", row->spec.id);
	mcp_server_resources_updated(server->mcp, prefix);
	if (row->name[0] == '\0')
		return;
	(void)snprintf(prefix, sizeof prefix, "sandbox://%s/", row->name);
	mcp_server_resources_updated(server->mcp, prefix);
}

static void on_subscribed(void *app)
{
	struct tools_context *tools = app;
	struct server_context *context = container_of(tools, struct server_context, tools);

	watch_files_check(container_of(context, struct server, context)->watch);
}

static void on_roots(void *app, const char *const *paths, size_t count)
{
	const struct tools_context *context = app;

	if (context->host != NULL)
		host_set_roots(context->host, paths, count);
}

static struct mcp_server *make_mcp(struct server *server, const struct options *options)
{
	const struct mcp_config config = {
		.name = "belljar",
		.title = "Belljar",
		.version = BELLJAR_VERSION,
		.help = "Runs untrusted code in isolated sandboxes on this machine.",
		.instructions = server->instructions,
		.icon = &icon,
		.tools = catalogue_tools,
		.resources = (const struct mcp_resource *const *)server->resources,
		.templates = catalogue_templates,
		.prompts = (const struct mcp_prompt *const *)server->prompts,
		.resources_change = true,
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
		.app = &server->context.tools,
		.roots = server->roots == HOST_ROOTS_ON ? on_roots : NULL,
		.subscribed = on_subscribed,
	};

	return mcp_server_new(server->loop, &config);
}

/* --- shutting down --- */

static void stop_loop(void *ctx)
{
	struct server *server = ctx;

	loop_stop(server->loop);
}

/* The connection is closed and all calls have returned: put the sandboxes to sleep. */
static void on_closed(void *ctx, const struct error *why)
{
	struct server *server = ctx;

	server->is_stopping = true;
	if (why != NULL && !server->has_failed) {
		server->has_failed = true;
		server->why = *why;
	}
	if (server->runtime == NULL) {
		loop_stop(server->loop);
		return;
	}
	loop_timer_start(server->stop_timer, STOP_TIMEOUT_MS);
	runtime_stop(server->runtime, stop_loop, server);
}

/* A second signal stops the loop at once. */
static void on_signal(void *ctx)
{
	struct server *server = ctx;

	if (server->has_signal)
		loop_stop(server->loop);
	server->has_signal = true;
	log_info("shutting down on a signal");
	stdio_close(server->stdio);
}

/* --- the runtime --- */

static void stop_with_error(struct server *server, const struct error *why)
{
	log_error("%s", why->msg);
	if (!server->has_failed) {
		server->has_failed = true;
		server->why = *why;
	}
	if (server->stdio != NULL)
		stdio_close(server->stdio);
}

/* If layers are required, the server shuts down. Otherwise it keeps running, and every tool reports
 * the reason: clients show the result of a tool, but not why a server exited. */
static void report_unavailable(struct server *server, const struct error *why)
{
	server_context_set_unavailable(&server->context, why);
	if (server->options->require != NULL)
		stop_with_error(server, why);
	else
		log_error("no sandbox can be created: %s", why->msg);
}

static void prepare_sandbox(void *ctx)
{
	struct server *server = ctx;
	const struct sandbox_options options = tools_sandbox_options(&server->context.tools);

	if (!server->is_stopping && server->context.tools.manager != NULL)
		manager_prepare(server->context.tools.manager, &options);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct server *server = ctx;

	if (why != NULL) {
		report_unavailable(server, why);
		return;
	}
	server_context_set_layers(&server->context, runtime_report(server->runtime));
	loop_timer_start(server->prepare_timer, PREPARE_MS);
}

/* The spawner cannot be started again, because the server has given up its rights. Exit: the client
 * can start the server again. */
static void on_lost(void *ctx, const struct error *why)
{
	struct server *server = ctx;

	if (!server->is_stopping && server->context.tools.manager != NULL)
		stop_with_error(server, why);
}

static int start_runtime(struct server *server, struct runtime_base *base, struct error *err)
{
	if (runtime_new(server->loop, base, server->options, on_ready, server, &server->runtime,
	                err) < 0)
		return -1;
	runtime_on_lost(server->runtime, on_lost, server);
	runtime_on_process_end(server->runtime, on_process_ended, server);
	return server_context_set_runtime(&server->context, server->runtime, server->options, err);
}

/* --- serving --- */

static int serve_client(struct server *server, struct error *err)
{
	const struct stdio_config config = {
		.in_fd = STDIN_FILENO,
		.out_fd = STDOUT_FILENO,
		.max_queue = server->options->max_queue,
		.grace_ms = server->options->grace_ms,
		.closed = on_closed,
		.ctx = server,
	};

	if (stdio_new(server->loop, server->mcp, &config, &server->stdio, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		server->signals[i] = loop_signal_new(server->loop, stop_signals[i], on_signal,
		                                     server);
	log_info("belljar %s serves one client on standard input and output", BELLJAR_VERSION);
	loop_run(server->loop);
	log_info("shut down");
	if (!server->has_failed)
		return 0;
	*err = server->why;
	return -1;
}

/* As root, a client could declare any directory of any user, and so could a server that was taken
 * over: root has to ask for roots. */
static enum host_roots choose_roots(const struct options *options)
{
	if (options->no_roots || options->roots == ROOTS_NO)
		return HOST_ROOTS_OFF;
	return options->roots == ROOTS_AUTO && geteuid() == 0 ? HOST_ROOTS_OFF_AS_ROOT
	                                                      : HOST_ROOTS_ON;
}

/* The porter is forked before confine_server(): it opens directories with the rights of the user
 * who started belljar. */
static int start_porter(struct server *server, const char *state, struct error *err)
{
	const struct porter_config config = { .paths = server->options->allow_path,
		                              .state = state,
		                              .accepts_roots = server->roots == HOST_ROOTS_ON,
		                              .exports = options_exports(server->options) };

	return porter_start(&config, &server->porter, err);
}

static int make_host(struct server *server, struct error *err)
{
	struct porter *porter = &server->porter;

	if (host_new(server->loop, TAKE_FD(porter->socket),
	             (const char *const *)porter->directories, porter->count, server->roots,
	             &server->host, err) < 0)
		return -1;
	server->context.tools.host = server->host;
	return 0;
}

/* Everything that needs the rights of the user who started belljar, then gives them up. */
static int prepare_server(struct server *server, struct runtime_base *base, bool *has_base,
                          struct error *err)
{
	const struct options *options = server->options;
	struct confine_needs needs = { NULL };
	struct error why;

	*has_base = runtime_prepare(options, base, &why) == 0;
	if (!*has_base && options->require != NULL) {
		*err = why;
		return -1;
	}
	if (*has_base)
		needs.state = base->state;
	if ((options->skills_dir != NULL &&
	     skills_load(options->skills_dir, &server->skills, err) < 0) ||
	    start_porter(server, needs.state, err) < 0 || loop_new(&server->loop, err) < 0 ||
	    confine_server(&needs, err) < 0) {
		if (*has_base)
			runtime_base_close(base);
		return -1;
	}
	if (!*has_base)
		report_unavailable(server, &why);
	return 0;
}

static int run_server(struct server *server, struct runtime_base *base, bool has_base,
                      struct error *err)
{
	server->stop_timer = loop_timer_new(server->loop, stop_loop, server);
	server->prepare_timer = loop_timer_new(server->loop, prepare_sandbox, server);
	add_skills(server);
	server->mcp = make_mcp(server, server->options);
	server->context.mcp = server->mcp;
	server->watch = watch_files_new(server->loop, server->mcp, &server->context.tools);
	if (make_host(server, err) < 0) {
		if (has_base)
			runtime_base_close(base);
		return -1;
	}
	if (has_base && start_runtime(server, base, err) < 0)
		return -1;
	instructions_write(server->context.tools.manager, owner_local(), server->instructions,
	                   sizeof server->instructions);
	return serve_client(server, err);
}

int server_run(const struct options *options, struct error *err)
{
	static struct server server;
	struct runtime_base base;
	bool has_base;
	int r;

	server = (struct server){ .options = options,
		                  .roots = choose_roots(options),
		                  .porter.socket = -1 };
	log_set_level(options->log_level);
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe returns EPIPE instead */
	(void)owner_local();
	server_context_init(&server.context, options);
	server.context.tools.uses_roots = server.roots == HOST_ROOTS_ON;
	r = prepare_server(&server, &base, &has_base, err);
	if (r == 0)
		r = run_server(&server, &base, has_base, err);
	server.is_stopping = true;
	(void)stdio_free(server.stdio);
	(void)watch_files_free(server.watch);
	(void)runtime_free(server.runtime);
	(void)mcp_server_free(server.mcp);
	(void)host_free(server.host);
	porter_stop(&server.porter);
	free(server.prompts);
	free(server.resources);
	(void)skills_free(server.skills);
	(void)loop_timer_free(server.stop_timer);
	(void)loop_timer_free(server.prepare_timer);
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		(void)loop_signal_free(server.signals[i]);
	(void)loop_free(server.loop);
	return r;
}
