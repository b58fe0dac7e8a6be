/* broker.c - the broker process: its start, its requests and its end (see internal.h). */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/process/helper.h"
#include "base/rights/caps.h"
#include "engine/agent_image.h"
#include "engine/docker/internal.h"
#include "loop/loop.h"
#include "loop/watch.h"

enum { REQUESTS_AT_A_TIME = 64 };

#if defined(__x86_64__)
static const char own_arch[] = "amd64";
#elif defined(__aarch64__)
static const char own_arch[] = "arm64";
#else
static const char own_arch[] = "";
#endif

/* --- the end -------------------------------------------------------------------------- */

static void stop_loop(void *ctx)
{
	struct broker *broker = ctx;

	loop_stop(broker->loop);
}

void broker_check_stopped(struct broker *broker)
{
	if (broker->is_stopping && list_is_empty(&broker->boxes) && list_is_empty(&broker->erases))
		loop_stop(broker->loop);
}

/* Removes all containers after the server has closed its end of the socket, for STOP_MS at most.
 * leftovers_remove() of the next start removes those that are left. */
static void stop_broker(struct broker *broker)
{
	if (broker->is_stopping)
		return;
	broker->is_stopping = true;
	broker->watch = loop_watch_free(broker->watch);
	loop_timer_start(broker->stop_timer, STOP_MS);
	box_kill_all(broker);
	broker_check_stopped(broker);
}

/* --- requests ------------------------------------------------------------------------- */

bool broker_is_used_elsewhere(const struct broker *broker, const struct docker_container *container)
{
	const struct broker_options *options = broker->options;

	return strcmp(container->instance, options->instance) != 0 &&
	       options->is_alive(options->ctx, container->instance);
}

void broker_flush(struct broker *broker)
{
	if (broker->watch == NULL)
		return;
	if (!replies_flush(&broker->replies, broker->socket)) {
		stop_broker(broker);
		return;
	}
	loop_watch_write(broker->watch, broker->replies.count != 0);
}

static void erase_sandbox(struct broker *broker, const struct engine_request *request)
{
	const char *id = request->spec.id;
	struct error err;

	if (memchr(id, '\0', sizeof request->spec.id) == NULL || !spec_is_id(id)) {
		(void)error_set(&err, ERR_INVALID, "'id' is not the id of a sandbox");
		replies_add_failure(&broker->replies, REPLY_ERASED, request->number, &err);
	} else if (!box_defer_erase(broker, id, request->number))
		volumes_erase(broker, id, request->number);
}

static void handle_request(struct broker *broker, const struct engine_request *request)
{
	switch (request->kind) {
	case REQUEST_START:
		box_start(broker, request);
		break;
	case REQUEST_KILL:
		box_kill(broker, request->number);
		break;
	case REQUEST_ERASE:
		erase_sandbox(broker, request);
		break;
	case REQUEST_LIST:
		volumes_list(broker, request->number);
		break;
	case REQUEST_LIMIT:
		box_limit(broker, request);
		break;
	case REQUEST_CONNECT:
		replies_connect(&broker->replies, request, broker->options->connect,
		                broker->options->ctx);
		break;
	case REQUEST_ADD_PYTHON:
		install_start(broker, request);
		break;
	default:
		break; /* an unknown kind of request has no kind of reply */
	}
}

/* With MSG_TRUNC, recv(2) returns the real length of a packet. A packet that does not have the
 * length of a request is ignored. */
static void on_socket(void *ctx)
{
	static struct engine_request request;
	struct broker *broker = ctx;

	for (int i = 0; i < REQUESTS_AT_A_TIME && broker->replies.count < REPLIES_MANY; i++) {
		ssize_t n = recv(broker->socket, &request, sizeof request,
		                 MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			stop_broker(broker);
			return;
		}
		if (n == (ssize_t)sizeof request)
			handle_request(broker, &request);
	}
	broker_flush(broker);
}

/* --- the start ------------------------------------------------------------------------ */

/* Sends the reason and exits: without a daemon the broker is of no use. */
static void fail_broker(struct broker *broker, const struct error *why)
{
	replies_add_failure(&broker->replies, REPLY_READY, 0, why);
	(void)replies_flush(&broker->replies, broker->socket);
	loop_stop(broker->loop);
}

static void on_swept(void *ctx)
{
	struct broker *broker = ctx;

	layers_fill(broker, &broker->report);
	replies_add_report(&broker->replies, &broker->report);
	broker->watch = loop_watch_new(broker->loop, broker->socket, on_socket, broker);
	broker_flush(broker);
}

static void on_probe_removed(void *ctx, UNUSED const struct api_answer *answer)
{
	struct broker *broker = ctx;

	leftovers_remove(broker, on_swept, broker);
}

/* A daemon whose volumes have no quotas refuses to create one with the option `size`. */
static void on_probe(void *ctx, const struct api_answer *answer)
{
	struct broker *broker = ctx;

	broker->has_quota = answer->why == NULL;
	api_send(broker, "DELETE", NULL, on_probe_removed, broker,
	         "/volumes/" DOCKER_PREFIX "probe-%s", broker->options->instance);
}

static void probe_quota(struct broker *broker)
{
	json_t *volume;

	/* Podman accepts any size, and then cannot mount the volume. */
	if (broker->version.is_podman) {
		leftovers_remove(broker, on_swept, broker);
		return;
	}
	volume = json_obj();
	json_set(volume, "Name", json_format(DOCKER_PREFIX "probe-%s", broker->options->instance));
	json_set(volume, "Labels", docker_labels(broker, ROLE_VOLUME, NULL));
	json_set(volume, "DriverOpts", json_pair("size", json_str("1048576")));
	api_send(broker, "POST", volume, on_probe, broker, "/volumes/create");
}

static void on_info(void *ctx, const struct api_answer *answer)
{
	struct broker *broker = ctx;
	const char *runtime = broker->options->runtime;
	struct error err;
	const struct error *why = answer->why;

	if (why == NULL) {
		answer_info(answer->json, runtime, &broker->info);
		if (!broker->info.has_runtime && !broker->version.is_podman) {
			(void)error_set(&err, ERR_NOT_FOUND,
			                "docker-runtime: this Docker has no runtime '%.60s': "
			                "'docker info' lists those it has",
			                runtime);
			why = &err;
		}
	}
	if (why != NULL)
		fail_broker(broker, why);
	else
		probe_quota(broker);
}

static void on_version(void *ctx, const struct api_answer *answer)
{
	struct broker *broker = ctx;
	struct error err;
	const struct error *why = answer->why;

	if (why == NULL && answer_version(answer->json, &broker->version, &err) < 0)
		why = &err;
	if (why == NULL && broker->version.arch[0] != '\0' &&
	    strcmp(broker->version.arch, own_arch) != 0) {
		(void)error_set(
		        &err, ERR_UNSUPPORTED,
		        "Docker's machine is %s and this one %s: the agent is a program for "
		        "this one; run belljar on a machine of Docker's kind",
		        broker->version.arch, own_arch);
		why = &err;
	}
	if (why != NULL) {
		fail_broker(broker, why);
		return;
	}
	(void)snprintf(broker->version.arch, sizeof broker->version.arch, "%s", own_arch);
	(void)snprintf(broker->prefix, sizeof broker->prefix, "/v1.%u", broker->version.api - 100);
	api_send(broker, "GET", NULL, on_info, broker, "/info");
}

/* The hash is part of the name of prepared images: another version of belljar, with another agent
 * or other files, makes its own. */
static int hash_agent(char out[20], struct error *err)
{
	const struct view none = { "", 0 };
	AUTO_BUF struct buf archive = { 0 };
	uint64_t hash = HASH_START;

	buf_init(&archive, PREPARED_ARCHIVE_MAX);
	if (prepare_archive(agent_image(AGENT_IN_SANDBOX), none, none, &archive, err) < 0)
		return -1;
	for (size_t i = 0; i < archive.len; i++)
		hash = (hash ^ (unsigned char)archive.ptr[i]) * HASH_PRIME;
	(void)snprintf(out, 20, "%016" PRIx64, hash);
	return 0;
}

/* The right to use the daemon's socket comes from the user and the groups, not from a capability.
 * As root the broker keeps CAP_DAC_OVERRIDE: the lock files and sockets of other servers belong to
 * the user id that such a server changes to, and the sockets of agents (direct_connection.c) to the
 * user of the containers. */
static int drop_capabilities(struct error *err)
{
	uint64_t have;

	if (caps_get(&have, err) < 0)
		return -1;
	have &= CAPS_BIT(CAP_DAC_OVERRIDE);
	return have != 0 ? caps_set(have, false, err) : caps_drop(err);
}

static int set_up_process(const struct broker_options *options, int socket, struct error *err)
{
	const int keep[] = { socket, options->instance_lock, options->instances };

	if (helper_begin("belljar-broker", keep, ARRAY_LEN(keep), err) < 0)
		return -1;
	(void)umask(077);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)fd_raise_limit();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "set no_new_privs");
	return drop_capabilities(err);
}

static void fill_address(struct broker *broker, const struct daemon_address *daemon)
{
	broker->address = (struct http_client_address){
		.shown = daemon->url,
		.socket = daemon->socket[0] != '\0' ? daemon->socket : NULL,
		.base = daemon->base,
		.ca = daemon->ca[0] != '\0' ? daemon->ca : NULL,
		.cert = daemon->cert[0] != '\0' ? daemon->cert : NULL,
		.key = daemon->key[0] != '\0' ? daemon->key : NULL,
	};
}

static NORETURN void run_broker(void *ctx, int socket)
{
	const struct broker_options *options = ctx;
	struct broker *broker = mem_new(sizeof *broker);
	struct error err;

	broker->socket = socket;
	broker->options = options;
	replies_init(&broker->replies);
	list_init(&broker->boxes);
	list_init(&broker->images);
	list_init(&broker->erases);
	list_init(&broker->installs);
	fill_address(broker, options->daemon);
	if (hash_agent(broker->agent, &err) < 0 || set_up_process(options, socket, &err) < 0 ||
	    loop_new(&broker->loop, &err) < 0 ||
	    http_client_new(broker->loop, &broker->address, &broker->http, &err) < 0) {
		replies_add_failure(&broker->replies, REPLY_READY, 0, &err);
		(void)replies_flush(&broker->replies, socket);
		_exit(1);
	}
	broker->stop_timer = loop_timer_new(broker->loop, stop_loop, broker);
	api_send(broker, "GET", NULL, on_version, broker, "/version");
	loop_run(broker->loop);
	_exit(0);
}

int broker_start(struct broker_options *options, pid_t *pid, int *socket, struct error *err)
{
	return helper_start("broker", run_broker, options, pid, socket, err);
}
