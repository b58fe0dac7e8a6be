/* leftovers.c - removes the containers of servers that were killed, and prepared images with
 * another agent (see internal.h). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/docker/internal.h"

struct sweep {
	struct broker *broker;
	size_t left; /* calls without an answer */
	void (*done)(void *ctx);
	void *ctx;
};

static void finish_call(struct sweep *sweep)
{
	if (--sweep->left != 0)
		return;
	sweep->done(sweep->ctx);
	free(sweep);
}

static void on_removed(void *ctx, const struct api_answer *answer)
{
	if (answer->why != NULL && answer->status != 404 && answer->status != 409)
		log_warning("a container or an image that a killed server left in Docker is not "
		            "removed: %s",
		            answer->why->msg);
	finish_call(ctx);
}

static void on_containers(void *ctx, const struct api_answer *answer)
{
	struct sweep *sweep = ctx;
	const struct broker_options *options = sweep->broker->options;
	const json_t *container;
	char id[DOCKER_ID_MAX];
	struct error err;
	size_t i;

	if (answer->why != NULL)
		log_warning("containers that killed servers left in Docker are not removed: %s",
		            answer->why->msg);
	json_array_foreach (answer->json, i, container) {
		const char *instance = json_text(json_object_get(container, "Labels"),
		                                 LABEL_INSTANCE);

		if (answer_id(container, id, &err) < 0 || instance == NULL ||
		    strcmp(instance, options->instance) == 0 ||
		    options->is_alive(options->ctx, instance))
			continue;
		sweep->left++;
		api_remove_container(sweep->broker, id, on_removed, sweep);
	}
	finish_call(sweep);
}

/* An image that a container uses stays: the daemon refuses to remove it, with status 409. */
static void on_images(void *ctx, const struct api_answer *answer)
{
	struct sweep *sweep = ctx;
	const json_t *image;
	char id[DOCKER_ID_MAX];
	struct error err;
	size_t i;

	json_array_foreach (answer->json, i, image) {
		const char *agent = json_text(json_object_get(image, "Labels"), LABEL_AGENT);

		if (answer_id(image, id, &err) < 0 || agent == NULL ||
		    strcmp(agent, sweep->broker->agent) == 0)
			continue;
		sweep->left++;
		api_send(sweep->broker, "DELETE", NULL, on_removed, sweep, "/images/%s", id);
	}
	finish_call(sweep);
}

void leftovers_remove(struct broker *broker, void (*done)(void *ctx), void *ctx)
{
	struct sweep *sweep = mem_new(sizeof *sweep);
	char *filter = api_state_filter(broker);
	char *images = api_encode("{\"label\":[\"" LABEL_AGENT "\"]}");

	*sweep = (struct sweep){ .broker = broker, .left = 2, .done = done, .ctx = ctx };
	api_send(broker, "GET", NULL, on_containers, sweep, "/containers/json?all=1&filters=%s",
	         filter);
	api_send(broker, "GET", NULL, on_images, sweep, "/images/json?filters=%s", images);
	free(images);
	free(filter);
}
