/* box_end.c - how a box ends (see box.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/docker/box.h"
#include "loop/loop.h"

enum { KILLED = 137 }; /* the exit status of a container after SIGKILL */

/* Sends the broker's end of the channel along with the reply. The server closes it when it reads
 * the reply, so that end of file on the channel cannot arrive before the reason of the end. */
static void report_end(struct box *box)
{
	struct broker *broker = box->broker;
	const struct engine_reply reply = { .kind = REPLY_ENDED,
		                            .number = box->number,
		                            .failed = box->failed,
		                            .err = box->why,
		                            .end = box->end };
	int fd = box->attach != NULL && box->is_started ? attach_take_fd(box->attach) : -1;

	replies_add_with_fds(&broker->replies, &reply, &fd, fd >= 0 ? 1 : 0);
	if (box->erase_number != 0)
		volumes_erase(broker, box->spec.id, box->erase_number);
	(void)attach_free(box->attach);
	(void)loop_timer_free(box->hello_timer);
	cleanup_fd(&box->channel);
	list_remove(&box->node);
	free(box);
	broker_flush(broker);
	broker_check_stopped(broker);
}

/* A refusal, such as 404, means that the container is gone already. If the daemon does not answer
 * (status 0), the agent reads end of file on its standard input and exits, and leftovers_remove()
 * of the next start removes the container. */
static void on_removed(void *ctx, const struct api_answer *answer)
{
	struct box *box = ctx;

	if (answer->why != NULL && answer->status == 0 && !box->failed) {
		box->failed = true;
		box->why = *answer->why;
		box->end = ENGINE_END_ENGINE_LOST;
	}
	report_end(box);
}

void box_remove(struct box *box)
{
	if (box->is_removing)
		return;
	if (box->install != NULL) {
		install_cancel(box->install);
		return;
	}
	box->is_removing = true;
	if (box->container[0] == '\0')
		report_end(box);
	else
		api_remove_container(box->broker, box->container, on_removed, box);
}

void box_fail(struct box *box, const struct error *why)
{
	if (!box->failed) {
		box->failed = true;
		box->why = *why;
	}
	box_remove(box);
}

bool box_end_if_killed(struct box *box)
{
	bool is_killed = box->is_killed;

	box->is_busy = false;
	if (is_killed)
		box_remove(box);
	return is_killed;
}

static void explain_exit(struct box *box, const struct docker_container *container)
{
	const char *words = attach_error_text(box->attach);

	if (container->is_out_of_memory) {
		box->end = ENGINE_END_OUT_OF_MEMORY;
		return;
	}
	box->failed = true;
	/* The container still runs, so only the connection to it has failed. */
	if (container->is_running && box->detached.msg[0] != '\0') {
		box->end = ENGINE_END_ENGINE_LOST;
		box->why = box->detached;
		return;
	}
	if (container->exit_code == KILLED && words[0] == '\0') {
		box->end = ENGINE_END_ENGINE_LOST;
		(void)error_set(&box->why, ERR_SYSTEM,
		                "its container was killed from outside; processes and sessions are "
		                "lost, files are kept");
		return;
	}
	box->end = ENGINE_END_AGENT_DIED;
	if (words[0] != '\0')
		(void)error_set(&box->why, ERR_SYSTEM, "its agent exited: %s", words);
	else
		(void)error_set(&box->why, ERR_SYSTEM, "its agent exited with status %lld%s%s",
		                (long long)container->exit_code,
		                container->error[0] != '\0' ? ": " : "", container->error);
}

static void on_exit_inspected(void *ctx, const struct api_answer *answer)
{
	struct docker_container container;
	struct box *box = ctx;
	struct error err;

	box->is_busy = false;
	if (answer->why == NULL && answer_container(answer->json, &container, &err) == 0)
		explain_exit(box, &container);
	else {
		box->failed = true;
		box->end = ENGINE_END_ENGINE_LOST;
		if (answer->status == 404)
			(void)error_set(&box->why, ERR_SYSTEM,
			                "its container was removed from Docker; processes and "
			                "sessions are lost, files are kept");
		else
			box->why = answer->why != NULL ? *answer->why : err;
	}
	box_remove(box);
}

/* Before the start, the end of the stream means that the connection failed; after it, that the
 * container has exited, and the daemon is asked why. */
void box_on_attach_end(void *ctx, const struct error *why)
{
	struct box *box = ctx;
	struct error err;

	if (box->is_removing)
		return;
	if (why != NULL)
		box->detached = *why;
	if (box->is_busy || box->hello_timer != NULL) {
		box->is_detached = true; /* the next step sees it */
		box_on_hello(box);
		return;
	}
	if (!box->is_started) {
		(void)error_set(&err, ERR_SYSTEM, "Docker closed the connection to the container");
		box_fail(box, why != NULL ? why : &err);
		return;
	}
	box->is_busy = true;
	api_send(box->broker, "GET", NULL, on_exit_inspected, box, "/containers/%s/json",
	         box->container);
}

/* --- requests --- */

static void kill_box(struct box *box)
{
	box->is_killed = true;
	if (!box->is_removing)
		box->end = ENGINE_END_KILLED;
	if (!box->is_busy)
		box_remove(box);
}

void box_kill(struct broker *broker, uint64_t number)
{
	struct box *box = box_find(broker, number);

	if (box != NULL)
		kill_box(box);
}

void box_kill_all(struct broker *broker)
{
	for (struct list *node = broker->boxes.next, *next; node != &broker->boxes; node = next) {
		next = node->next;
		kill_box(container_of(node, struct box, node));
	}
}

bool box_defer_erase(struct broker *broker, const char *id, uint64_t number)
{
	struct box *box = box_find_id(broker, id);

	if (box == NULL)
		return false;
	box->erase_number = number;
	return true;
}
