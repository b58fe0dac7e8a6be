#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "loop/loop.h"
#include "mcp/mcp_server.h"
#include "sandbox/manager.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/porter.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/context.h"
#include "server/http/http_service.h"
#include "server/instructions.h"
#include "server/mcp_setup.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/profile_mounts.h"
#include "server/runtime/runtime.h"
#include "server/transports.h"
#include "tools/catalogue.h"
#include "tools/files/watch_files.h"
#include "tools/profiles/profiles.h"
#include "tools/resources/resources.h"
#include "tools/support/port_links.h"
#include "tools/support/work.h"

/* SIGHUP, from a terminal that closes, is a request to shut down like the others. */
static const int stop_signals[] = { SIGTERM, SIGINT, SIGHUP };

enum {
	STOP_TIMEOUT_MS = 5000, /* for sandboxes to fall asleep */
	PREPARE_MS = 1, /* delay of the prepared sandbox, so that a waiting message goes first */
};

struct server {
	const struct options *options;
	const struct profile *profile;
	struct loop *loop;
	struct runtime *runtime; /* NULL: no sandbox can be created; the context says why */
	struct skills *skills;   /* or NULL */
	struct mcp_setup setup;
	struct profile_mounts mounts; /* for HTTP */
	enum host_roots roots;        /* decided while the server still has the user's id */
	struct porter porter;
	struct host *host;
	struct mcp_server *mcp;
	struct watch_files *watch;
	struct transports transports;
	struct loop_signal *signals[ARRAY_LEN(stop_signals)];
	struct loop_timer *stop_timer, *prepare_timer;
	bool has_signal, is_stopping;
	bool is_ready;   /* sandboxes can be created */
	bool has_failed; /* with `why` */
	struct error why;
	struct server_context context;
	char instructions[2048]; /* written before the first client is served */
};

/* The process may have written any file of the sandbox: notify the clients that subscribed to
 * one. */
static void on_process_ended(void *ctx, const struct sandbox_row *row)
{
	struct server *server = ctx;
	char prefix[SANDBOX_NAME_MAX + 16];

	(void)snprintf(prefix, sizeof prefix, "sandbox://%s/", row->spec.id);
	mcp_server_resources_updated(server->mcp, row->owner, prefix);
	if (row->name[0] == '\0')
		return;
	(void)snprintf(prefix, sizeof prefix, "sandbox://%s/", row->name);
	mcp_server_resources_updated(server->mcp, row->owner, prefix);
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

static struct mcp_server *make_mcp(struct server *server)
{
	struct mcp_config config = mcp_setup_config(&server->setup, server->options,
	                                            server->instructions);

	config.app = &server->context.tools;
	config.roots = server->roots == HOST_ROOTS_ON ? on_roots : NULL;
	config.subscribed = on_subscribed;
	return mcp_server_new(server->loop, &config);
}

/* --- shutting down --- */

static void stop_loop(void *ctx)
{
	struct server *server = ctx;

	loop_stop(server->loop);
}

/* All connections are closed and all calls have returned, except those of tasks: put the sandboxes
 * to sleep. */
static void on_closed(void *ctx, const struct error *why)
{
	struct server *server = ctx;

	server->is_stopping = true;
	if (why != NULL && !server->has_failed) {
		server->has_failed = true;
		server->why = *why;
	}
	mcp_server_cancel_tasks(server->mcp);
	profile_mounts_cancel_tasks(&server->mounts);
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
	transports_close(&server->transports);
}

/* --- the runtime --- */

static void stop_with_error(struct server *server, const struct error *why)
{
	log_error("%s", why->msg);
	if (!server->has_failed) {
		server->has_failed = true;
		server->why = *why;
	}
	transports_close(&server->transports);
}

/* If layers are required, the server shuts down. Otherwise it keeps running, and every tool reports
 * the reason: clients show the result of a tool, but not why a server exited. */
static void report_unavailable(struct server *server, const struct error *why)
{
	server_context_set_unavailable(&server->context, why);
	profile_mounts_set_unavailable(&server->mounts, &server->context.tools);
	if (server->options->require != NULL)
		stop_with_error(server, why);
	else
		log_error("no sandbox can be created: %s", why->msg);
}

static void prepare_sandbox(void *ctx)
{
	struct server *server = ctx;
	const struct sandbox_options options = tools_sandbox_options(&server->context.tools,
	                                                             owner_local());

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
	server->is_ready = true;
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

static const char *why_not_ready(void *ctx)
{
	const struct server *server = ctx;

	if (server->is_ready)
		return NULL;
	return server->context.tools.why_not != NULL ? server->context.tools.why_not
	                                             : "the engine is starting";
}

static int serve_clients(struct server *server, struct error *err)
{
	const struct transports_events events = { on_closed, why_not_ready, server,
		                                  &server->context.tools };

	if (transports_start(&server->transports, server->loop, server->mcp, &server->mounts,
	                     owner_local(), &events, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		server->signals[i] = loop_signal_new(server->loop, stop_signals[i], on_signal,
		                                     server);
	loop_run(server->loop);
	log_info("shut down");
	if (!server->has_failed)
		return 0;
	*err = server->why;
	return -1;
}

/* As root, a client could declare any directory of any user, and so could a server that was taken
 * over: root has to ask for roots. A client over HTTP may run on another machine, or for another
 * user, and the directories that one client declares are open to all: no roots with HTTP. */
static enum host_roots choose_roots(const struct options *options)
{
	if (options->no_roots || options->roots == ROOTS_NO || http_service_is_wanted(options))
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
	if (*has_base) {
		needs.state = base->state;
		(void)snprintf(server->context.tools.instance,
		               sizeof server->context.tools.instance, "%s", base->instance);
	}
	if ((options->skills_dir != NULL &&
	     skills_load(options->skills_dir, &server->skills, err) < 0) ||
	    start_porter(server, needs.state, err) < 0 ||
	    transports_prepare(&server->transports, options, err) < 0 ||
	    loop_new(&server->loop, err) < 0 || confine_server(&needs, err) < 0) {
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
	mcp_setup_init(&server->setup, server->profile, server->skills);
	server->context.tools.skills = server->skills;
	server->mcp = make_mcp(server);
	server->context.mcp = server->mcp;
	server->watch = watch_files_new(server->loop, server->mcp, &server->context.tools);
	if (make_host(server, err) < 0) {
		if (has_base)
			runtime_base_close(base);
		return -1;
	}
	if (has_base && start_runtime(server, base, err) < 0)
		return -1;
	if (server->transports.http != NULL) {
		server->context.tools.url = http_service_url(server->transports.http);
		server->context.tools.port_links = port_links_new();
	}
	if (server->transports.http != NULL)
		profile_mounts_init(&server->mounts, server->loop, server->options, server->profile,
		                    server->mcp, &server->context.tools);
	profile_apply(server->profile, &server->context.tools);
	/* With tokens, the users of the server are not told about the operator's own sandbox. */
	if (server->profile->instructions != NULL)
		(void)snprintf(server->instructions, sizeof server->instructions, "%s",
		               server->profile->instructions);
	else
		instructions_write(
		        server->options->auth == AUTH_NONE ? server->context.tools.manager : NULL,
		        owner_local(), server->instructions, sizeof server->instructions);
	return serve_clients(server, err);
}

int server_run(const struct options *options, struct error *err)
{
	static struct server server;
	struct runtime_base base;
	bool has_base;
	int r;

	server = (struct server){ .options = options,
		                  .profile = profile_find(options->profile),
		                  .roots = choose_roots(options),
		                  .porter.socket = -1 };
	log_set_level(options->log_level);
	if (http_service_check(options, err) < 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe returns EPIPE instead */
	(void)owner_local();
	server_context_init(&server.context, options);
	server.context.tools.uses_roots = server.roots == HOST_ROOTS_ON;
	r = prepare_server(&server, &base, &has_base, err);
	if (r == 0)
		r = run_server(&server, &base, has_base, err);
	server.is_stopping = true;
	transports_done(&server.transports);
	(void)watch_files_free(server.watch);
	(void)runtime_free(server.runtime);
	(void)mcp_server_free(server.mcp);
	profile_mounts_done(&server.mounts);
	(void)port_links_free(server.context.tools.port_links);
	(void)host_free(server.host);
	porter_stop(&server.porter);
	mcp_setup_done(&server.setup);
	(void)skills_free(server.skills);
	(void)loop_timer_free(server.stop_timer);
	(void)loop_timer_free(server.prepare_timer);
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		(void)loop_signal_free(server.signals[i]);
	(void)loop_free(server.loop);
	return r;
}
