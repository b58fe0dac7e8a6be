#include "tools/packages/package_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/packages/package_spec.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum {
	DEADLINE_S = 900,
	ARGS_MAX = PACKAGE_SPECS_MAX + 16,
	SHOWN_MAX = 2000, /* packages of a list */
	TEXT_MAX = 400,
	ENV_MAX = 16,
};

const char *const package_languages[] = { "python", "javascript", NULL };

#define REPLY_LIST(name_)                                                                          \
	ARG(struct package_reply, name_, STRINGS, "", .max = SHOWN_MAX, .item_max = TEXT_MAX)
static const struct param reply_table[] = {
	ARG(struct package_reply, ok, BOOL, ""),
	ARG(struct package_reply, no_installer, BOOL, ""),
	REPLY_LIST(installed),
	REPLY_LIST(removed),
	REPLY_LIST(packages),
	REPLY_LIST(image),
	REPLY_LIST(lines),
	REPLY_LIST(refused),
	{ 0 },
};

/* Closes the installer's way to the indexes when its process is over, which may be later than the
 * call. */
struct install_guard {
	struct sandbox *sandbox; /* held */
	struct sandbox_installer access;
	struct process_watch watch;
};

bool package_is_python(const struct package_request *request)
{
	return strcmp(request->language, "python") == 0;
}

static bool is_install(const struct package_request *request)
{
	return request->action == PACKAGE_INSTALL || request->action == PACKAGE_NEED ||
	       request->action == PACKAGE_PROJECT;
}

bool package_may_install(const struct work *work)
{
	const struct tools_context *context = work->context;

	return context->auto_packages && context->ceiling != NULL &&
	       (context->has_mirror || sandbox_network_mode(work->sandbox) != NET_MODE_NONE);
}

/* --- the reply --- */

static int fail_reply(const struct package_step *step, const struct package_reply *reply,
                      struct error *err)
{
	char lines[400] = "";
	size_t used = 0;

	if (reply->no_installer)
		return error_set(err, ERR_UNSUPPORTED,
		                 "this sandbox has no %s: the operator can install %s %s",
		                 package_is_python(&step->request) ? "pip and no uv" : "npm",
		                 package_is_python(&step->request) ? "python3-pip" : "npm",
		                 step->work->context->programs_place);
	for (size_t i = 0; i < reply->lines.count && used < sizeof lines; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%s",
		                         used != 0 ? "; " : "", reply->lines.items[i]);
	return error_set(err, ERR_INVALID, "%s failed: %s",
	                 package_is_python(&step->request) ? "pip" : "npm",
	                 lines[0] != '\0' ? lines : "it printed no reason");
}

static int check_end(struct package_step *step, struct error *err)
{
	struct process_state state;
	char line[200];

	process_state(step->process, &state);
	if (state.phase == PROCESS_FAILED && state.why->kind == ERR_NOT_FOUND)
		return error_set(err, ERR_UNSUPPORTED,
		                 "there is no %s in the sandbox: the operator can install %s %s",
		                 package_is_python(&step->request) ? "Python" : "Node",
		                 package_is_python(&step->request) ? "python3 and python3-pip"
		                                                   : "nodejs and npm",
		                 step->work->context->programs_place);
	if (state.phase == PROCESS_FAILED) {
		*err = *state.why;
		return -1;
	}
	if (state.end.timed_out)
		return error_set(
		        err, ERR_LIMIT,
		        "the installer took more than %d s, which is the limit, and was killed: "
		        "install fewer packages at a time",
		        DEADLINE_S);
	if (state.end.code != 0 || state.end.signal != 0)
		return error_set(err, ERR_SYSTEM, "the installer failed: %s%s%s",
		                 process_last_line(step->process, line, sizeof line),
		                 state.end.note[0] != '\0' ? "; " : "", state.end.note);
	return 0;
}

/* Packages that are being built run in the sandbox beside the installer, and may have written
 * this. */
static int read_reply(struct package_step *step, struct error *err)
{
	static const struct json_limits limits = { .depth = 4, .values = 5 * SHOWN_MAX };
	const struct process_stream stream = process_stream(step->process, false);
	AUTO_BUF struct buf text;

	buf_init(&text, stream.head.len + stream.tail.len + 1);
	if (stream.left_out != 0 || buf_add(&text, stream.head, err) < 0 ||
	    buf_add(&text, stream.tail, err) < 0 ||
	    json_read(buf_view(&text), &limits, &step->json, NULL, err) < 0 ||
	    param_decode(reply_table, step->json, &step->arena, &step->reply, err) < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the installer printed something else than its reply");
	return 0;
}

static void on_wait_end(void *ctx)
{
	struct package_step *step = ctx;
	struct error err;

	if (!process_is_over(step->process))
		step->fn(step->ctx, NULL, NULL);
	else if (check_end(step, &err) < 0 || read_reply(step, &err) < 0 ||
	         (!step->reply.ok && fail_reply(step, &step->reply, &err) < 0))
		step->fn(step->ctx, NULL, &err);
	else
		step->fn(step->ctx, &step->reply, NULL);
}

/* --- the way to the indexes --- */

static void on_process_change(void *ctx)
{
	struct install_guard *guard = ctx;

	if (guard->watch.process != NULL && !process_is_over(guard->watch.process))
		return;
	process_unwatch(&guard->watch);
	sandbox_close_installer(guard->sandbox, &guard->access);
	sandbox_release(guard->sandbox);
	free(guard);
}

static void guard_process(struct package_step *step, const struct sandbox_installer *access)
{
	struct install_guard *guard = mem_new(sizeof *guard);

	guard->sandbox = step->work->sandbox;
	guard->access = *access;
	guard->watch = (struct process_watch){ .fn = on_process_change, .ctx = guard };
	sandbox_hold(guard->sandbox);
	process_watch(step->process, &guard->watch);
}

/* --- starting --- */

/* pip refuses an index without encryption unless its host is named. */
static const char *find_trusted(const char *url, char out[300])
{
	const char *host = strchr(url, ':'), *at;
	size_t len;

	out[0] = '\0';
	if (host == NULL || strncasecmp(url, "http://", 7) != 0)
		return out;
	host += 3;
	len = strcspn(host, "/?#");
	at = memrchr(host, '@', len);
	if (at != NULL) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	(void)snprintf(out, 300, "%.*s", (int)len, host);
	return out;
}

static void add_arguments(const struct package_step *step, const char **args, char trusted[300])
{
	static const char *const actions[] = { "install", "uninstall", "reset",
		                               "list",    "need",      "project" };
	const struct tools_context *context = step->work->context;
	bool python = package_is_python(&step->request);
	const char *index = python ? context->pip_index : context->npm_registry;
	size_t count = 0;

	args[count++] = python ? "python3" : "node";
	args[count++] = python ? "-c" : "-e";
	args[count++] = python ? packages_python_text : packages_node_text;
	if (!python)
		args[count++] = "--"; /* what follows are no options of node */
	args[count++] = actions[step->request.action];
	args[count++] = index != NULL ? index : "";
	args[count++] = find_trusted(index != NULL ? index : "", trusted);
	for (size_t at = 0; at < step->specs.len; at += strlen(step->specs.ptr + at) + 1)
		args[count++] = step->specs.ptr + at;
	args[count] = NULL;
}

/* The installer's own proxy, for the time of its run; also for an index on this machine's loopback,
 * which the variables of other programs leave out. */
static void add_variables(const struct sandbox_installer *access, char text[][160],
                          const char **env)
{
	static const char *const names[] = { "HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
		                             "https_proxy", "ALL_PROXY",  "all_proxy" };
	size_t count = 0;

	for (; count < ARRAY_LEN(names); count++) {
		(void)snprintf(text[count], 160, "%s=%s", names[count], access->proxy);
		env[count] = text[count];
	}
	env[count++] = "NO_PROXY=";
	env[count++] = "no_proxy=";
	env[count++] = "PIP_RETRIES=2";
	env[count++] = "PIP_TIMEOUT=20";
	env[count++] = "NPM_CONFIG_FETCH_RETRIES=2";
	/* npm's own times are 10 and 60 seconds, after which a call would not wait any more. */
	env[count++] = "NPM_CONFIG_FETCH_RETRY_MINTIMEOUT=500";
	env[count++] = "NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT=5000";
	/* Node has certificates of its own, and does not know those that the machine adds. */
	env[count++] = "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt";
	env[count] = NULL;
}

int package_step_start(struct package_step *step, const struct work *work, uint32_t within_ms,
                       package_step_fn *fn, void *ctx, struct error *err)
{
	const bool needs_index = is_install(&step->request);
	const uint64_t now = clock_now_ms();
	const struct wait_options wait = { .call = work->call,
		                           .began_ms = now,
		                           .until_ms = within_ms != 0 ? now + within_ms
		                                                      : UINT64_MAX,
		                           .fn = on_wait_end,
		                           .ctx = step };
	struct sandbox_installer access;
	const char *args[ARGS_MAX], *env[ENV_MAX] = { NULL };
	char trusted[300], variables[ENV_MAX][160];
	const struct process_options options = {
		.argv = args,
		.env = env,
		.cwd = step->request.cwd,
		.files = step->request.files,
		.file_count = step->request.file_count,
		.deadline_ms = DEADLINE_S * 1000,
	};

	step->work = work;
	step->fn = fn;
	step->ctx = ctx;
	if (sandbox_channel(work->sandbox) == NULL)
		return work_sandbox_gone(err);
	if (needs_index && sandbox_open_installer(work->sandbox, NULL, &access, err) < 0)
		return -1;
	add_arguments(step, args, trusted);
	if (needs_index)
		add_variables(&access, variables, env);
	if (process_start(work->sandbox, &options, &step->process, err) < 0) {
		if (needs_index)
			sandbox_close_installer(work->sandbox, &access);
		return -1;
	}
	if (needs_index)
		guard_process(step, &access);
	wait_process_start(&step->wait, step->process, &wait);
	return 0;
}

static int read_packages(const struct package_request *request, struct buf *out, struct error *err)
{
	typedef int read_fn(struct view text, struct buf * out, struct error * err);
	bool installs = request->action == PACKAGE_INSTALL;
	const char *argument = request->argument != NULL ? request->argument : "packages";
	read_fn *read = package_is_python(request)
	                        ? installs ? package_spec_python : package_name_python
	                : installs ? package_spec_npm
	                           : package_name_npm;

	if (request->packages.count > PACKAGE_SPECS_MAX)
		return error_set(err, ERR_LIMIT, "%s: at most %d at a time", argument,
		                 PACKAGE_SPECS_MAX);
	for (size_t i = 0; i < request->packages.count; i++)
		if (read(view_of(request->packages.items[i]), out, err) < 0 ||
		    buf_add(out, (struct view){ "", 1 }, err) < 0)
			return error_wrap(err, "%s", argument);
	return 0;
}

int package_step_prepare(struct package_step *step, const struct tools_context *context,
                         const struct package_request *request, struct error *err)
{
	if (is_install(request) && context->ceiling == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "packages cannot be installed here: the operator has started this "
		                 "server with --network-max none");
	*step = (struct package_step){ .request = *request };
	buf_init(&step->specs, PACKAGE_SPECS_MAX * (PACKAGE_SPEC_MAX * 2 + 2));
	if (read_packages(request, &step->specs, err) == 0)
		return 0;
	package_step_done(step);
	return -1;
}

void package_step_done(struct package_step *step)
{
	wait_process_stop(&step->wait);
	process_free(step->process);
	step->process = NULL;
	json_decref(step->json);
	step->json = NULL;
	arena_done(&step->arena);
	buf_done(&step->specs);
}
