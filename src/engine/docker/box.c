/* box.c - starting a sandbox (see box.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "engine/docker/box.h"
#include "engine/native/cgroup/cgroup.h"
#include "loop/loop.h"

enum { HELLO_MS = 3000 }; /* after that without HELLO the attached stream is the channel */

struct box *box_find(struct broker *broker, uint64_t number)
{
	LIST_EACH (node, &broker->boxes) {
		struct box *box = container_of(node, struct box, node);

		if (box->number == number)
			return box;
	}
	return NULL;
}

struct box *box_find_id(struct broker *broker, const char *id)
{
	LIST_EACH (node, &broker->boxes) {
		struct box *box = container_of(node, struct box, node);

		if (strcmp(box->spec.id, id) == 0)
			return box;
	}
	return NULL;
}

/* --- the start ------------------------------------------------------------------------ */

static void reply_started(struct box *box)
{
	const struct docker_container *container = &box->started;
	struct broker *broker = box->broker;
	struct engine_reply reply = { .number = box->number,
		                      .user = { SPEC_UID, SPEC_GID, true, false, "" } };
	int counters[CGROUP_COUNTER_FILES];

	memcpy(reply.user.path, box->image.path, sizeof reply.user.path);
	memset(counters, -1, sizeof counters);
	if (container->pid > 0 && broker->options->daemon->is_local)
		reply.cgroups = cgroup_open_process_counters((pid_t)container->pid, box->container,
		                                             counters);
	box->is_started = true;
	replies_add_started(&broker->replies, &reply, TAKE_FD(box->channel), counters);
	broker_flush(broker);
	if (box->is_detached)
		box_on_attach_end(box, NULL);
}

/* If the agent's socket cannot be connected to, the attached stream is the channel. */
static void connect_directly(struct box *box)
{
	struct error err;
	int fd = direct_connect(&box->started);

	if (fd >= 0 && attach_use_direct(box->attach, fd, &err) < 0)
		box_fail(box, &err);
	else
		reply_started(box);
}

void box_on_hello(void *ctx)
{
	struct box *box = ctx;

	if (box->hello_timer == NULL || box->is_removing)
		return;
	box->hello_timer = loop_timer_free(box->hello_timer);
	if (box->is_detached || !attach_has_hello(box->attach))
		reply_started(box);
	else
		connect_directly(box);
}

/* The agent listens for a direct connection before it sends HELLO, so a connection is tried when
 * HELLO has arrived. */
static void await_hello(struct box *box)
{
	if (box->is_detached || !direct_is_possible(box->broker, &box->started)) {
		reply_started(box);
		return;
	}
	if (attach_has_hello(box->attach)) {
		connect_directly(box);
		return;
	}
	box->hello_timer = loop_timer_new(box->broker->loop, box_on_hello, box);
	loop_timer_start(box->hello_timer, HELLO_MS);
}

/* A failed GET is no failure of the start: without the container's process id the sandbox only
 * lacks the counters of its cgroup and a direct connection. */
static void on_started_inspected(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;
	struct error err;

	if (box_end_if_killed(box))
		return;
	if (answer->why == NULL)
		(void)!answer_container(answer->json, &box->started, &err);
	await_hello(box);
}

static void on_container_started(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;
	struct error err;

	if (box_end_if_killed(box))
		return;
	if (answer->why != NULL) {
		err = *answer->why;
		(void)error_wrap(&err, "the container does not start");
		box_fail(box, &err);
		return;
	}
	box->is_busy = true;
	api_send(box->broker, "GET", NULL, on_started_inspected, box, "/containers/%s/json",
	         box->container);
}

static void on_attached(void *ctx)
{
	struct box *box = ctx;

	if (box_end_if_killed(box))
		return;
	box->is_busy = true;
	api_send(box->broker, "POST", NULL, on_container_started, box, "/containers/%s/start",
	         box->container);
}

static const struct attach_events attach_events = { .open = on_attached,
	                                            .hello = box_on_hello,
	                                            .end = box_on_attach_end };

static void create_container(struct box *box);
static void get_image(struct box *box);

static void on_leftover_removed(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;

	if (box_end_if_killed(box))
		return;
	if (answer->why != NULL && answer->status != 404)
		box_fail(box, answer->why);
	else
		create_container(box);
}

/* Status 409 of the creation: a container of this name exists. A server that was killed left it, or
 * this server did when the daemon was unreachable. The container of another server that is alive
 * stays. */
static void on_leftover(void *ctx, const struct api_answer *answer)
{
	struct docker_container container;
	struct box *box = ctx;
	struct error err;
	const struct error *why = answer->why;

	if (box_end_if_killed(box))
		return;
	if (why != NULL && answer->status == 404) {
		create_container(box);
		return;
	}
	if (why == NULL && answer_container(answer->json, &container, &err) < 0)
		why = &err;
	if (why == NULL && broker_is_used_elsewhere(box->broker, &container)) {
		(void)error_set(&err, ERR_INVALID, "sandbox %s is awake in another server",
		                box->spec.id);
		why = &err;
	}
	if (why != NULL) {
		box_fail(box, why);
		return;
	}
	box->is_busy = true;
	api_remove_container(box->broker, container.id, on_leftover_removed, box);
}

/* Status 404: the prepared image was removed since it was found. */
static void on_created(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;
	char name[DOCKER_NAME_SIZE];
	struct error err;
	const struct error *why = answer->why;

	if (why == NULL && answer_id(answer->json, box->container, &err) < 0)
		why = &err;
	if (box_end_if_killed(box))
		return;
	if (why != NULL && !box->has_retried && (answer->status == 409 || answer->status == 404)) {
		box->has_retried = true;
		if (answer->status == 404) {
			image_invalidate(box->broker, box->spec.image);
			get_image(box);
			return;
		}
		box->is_busy = true;
		api_send(box->broker, "GET", NULL, on_leftover, box, "/containers/%s/json",
		         container_name(box->spec.id, name));
		return;
	}
	if (why == NULL && attach_open(box->broker, box->container, &attach_events, box,
	                               &box->channel, &box->attach, &err) < 0)
		why = &err;
	if (why != NULL)
		box_fail(box, why);
}

static void create_container(struct box *box)
{
	struct broker *broker = box->broker;
	char name[DOCKER_NAME_SIZE];
	struct error err;
	json_t *json;

	if (container_json(broker, &box->spec, box->image.name, &json, &err) < 0) {
		box_fail(box, &err);
		return;
	}
	box->is_busy = true;
	api_send(broker, "POST", json, on_created, box, "/containers/create?name=%s",
	         container_name(box->spec.id, name));
}

static void on_volume(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;

	if (answer->why != NULL && !box->has_volume_error) {
		box->has_volume_error = true;
		box->why = *answer->why;
		if (answer->status == 404)
			(void)error_set(
			        &box->why, ERR_SYSTEM,
			        "the files of sandbox %s are no longer in Docker: its volume "
			        "was removed; delete the sandbox, or reset it to start empty",
			        box->spec.id);
	}
	if (--box->volumes_left != 0 || box_end_if_killed(box))
		return;
	if (box->has_volume_error) {
		box->failed = true;
		box_remove(box);
	} else
		create_container(box);
}

/* The workspace of a sandbox that wakes must exist: an empty one in its place would look like lost
 * files. The other volumes are created if they are missing; creating one that exists changes
 * nothing. */
static void make_volumes(struct box *box)
{
	char name[DOCKER_NAME_SIZE];
	size_t first = box->spec.fresh ? 0 : 1;

	box->is_busy = true;
	box->volumes_left = VOLUME_COUNT;
	if (!box->spec.fresh)
		api_send(box->broker, "GET", NULL, on_volume, box, "/volumes/%s",
		         volume_name(box->spec.id, 0, name));
	for (size_t i = first; i < VOLUME_COUNT; i++)
		api_send(box->broker, "POST", volume_json(box->broker, &box->spec, i), on_volume,
		         box, "/volumes/create");
}

static void on_image(void *ctx, const struct prepared_image *image, const struct error *why)
{
	struct box *box = ctx;

	if (box_end_if_killed(box))
		return;
	if (why != NULL) {
		box_fail(box, why);
		return;
	}
	box->image = *image;
	make_volumes(box);
}

static void on_progress(void *ctx, const struct engine_progress *progress)
{
	struct box *box = ctx;

	replies_add(&box->broker->replies, &(struct engine_reply){ .kind = REPLY_PROGRESS,
	                                                           .number = box->number,
	                                                           .progress = *progress });
	broker_flush(box->broker);
}

static void get_image(struct box *box)
{
	box->is_busy = true;
	image_get(box->broker, box->spec.image, on_progress, on_image, box);
}

/* --- requests ------------------------------------------------------------------------- */

static int check_start(struct broker *broker, const struct engine_request *request,
                       struct error *err)
{
	const struct broker_options *options = broker->options;
	const struct spec *spec = &request->spec;

	if (spec_check(spec, err) < 0 ||
	    spec_check_ceilings(spec, &options->ceilings, options->gpus_max, err) < 0)
		return -1;
	if (!install_may_use(spec->image, spec->owner))
		return error_set(err, ERR_NOT_FOUND, "image: Docker has no '%s'", spec->image);
	for (unsigned i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].source >= options->mount_count)
			return error_set(err, ERR_INVALID,
			                 "mounts[%u].source: there is no directory %u, only %zu", i,
			                 spec->mounts[i].source, options->mount_count);
	if (spec->mount_count != 0 && !options->daemon->is_local)
		return error_set(err, ERR_UNSUPPORTED,
		                 "mounts: directories of this machine cannot be shared with a "
		                 "Docker on another one: start belljar without --tools-dir, "
		                 "--skills-dir and --mounts");
	if (request->number == 0 || box_find(broker, request->number) != NULL)
		return error_set(err, ERR_INVALID, "number: %llu is in use",
		                 (unsigned long long)request->number);
	if (box_find_id(broker, spec->id) != NULL)
		return error_set(err, ERR_INVALID, "sandbox %s is awake", spec->id);
	return 0;
}

void box_start(struct broker *broker, const struct engine_request *request)
{
	struct error err;
	struct box *box;

	if (check_start(broker, request, &err) < 0) {
		replies_add_failure(&broker->replies, REPLY_ENDED, request->number, &err);
		return;
	}
	box = mem_new(sizeof *box);
	box->broker = broker;
	box->number = request->number;
	box->spec = request->spec;
	box->channel = -1;
	box->end = ENGINE_END_AGENT_DIED;
	list_add(&broker->boxes, &box->node);
	get_image(box);
}
