/* volumes.c - the files of sandboxes: erasing and listing them (see internal.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/docker/internal.h"

/* --- erasing --- */

struct erase {
	struct list node;
	struct broker *broker;
	char id[SPEC_ID_LEN + 1];
	uint64_t number;
	size_t left; /* volumes without an answer */
	bool failed;
	struct error why;
};

static void finish_erase(struct erase *erase)
{
	struct broker *broker = erase->broker;
	const struct engine_reply reply = { .kind = REPLY_ERASED,
		                            .number = erase->number,
		                            .failed = erase->failed,
		                            .err = erase->why };

	replies_add(&broker->replies, &reply);
	list_remove(&erase->node);
	free(erase);
	broker_flush(broker);
	broker_check_stopped(broker);
}

static void fail_erase(struct erase *erase, const struct error *why)
{
	if (!erase->failed) {
		erase->failed = true;
		erase->why = *why;
	}
}

static void on_volume_removed(void *ctx, const struct api_answer *answer)
{
	struct erase *erase = ctx;

	if (answer->why != NULL && answer->status != 404)
		fail_erase(erase, answer->why);
	if (--erase->left == 0)
		finish_erase(erase);
}

static void remove_volumes(struct erase *erase)
{
	char name[DOCKER_NAME_SIZE];

	erase->left = VOLUME_COUNT;
	for (size_t i = 0; i < VOLUME_COUNT; i++)
		api_send(erase->broker, "DELETE", NULL, on_volume_removed, erase, "/volumes/%s",
		         volume_name(erase->id, i, name));
}

static void on_container_removed(void *ctx, const struct api_answer *answer)
{
	struct erase *erase = ctx;

	if (answer->why != NULL && answer->status != 404) {
		fail_erase(erase, answer->why);
		finish_erase(erase);
	} else
		remove_volumes(erase);
}

/* The server asks to erase every sandbox without a row in the registry. One that another server has
 * prepared for its first call has no row either: it is kept while that server is alive. */
static void on_container(void *ctx, const struct api_answer *answer)
{
	struct erase *erase = ctx;
	struct docker_container container;
	struct error err;
	const struct error *why = answer->why;

	if (why != NULL && answer->status == 404) {
		remove_volumes(erase);
		return;
	}
	if (why == NULL && answer_container(answer->json, &container, &err) < 0)
		why = &err;
	if (why == NULL && broker_is_used_elsewhere(erase->broker, &container)) {
		(void)error_set(&err, ERR_INVALID, "sandbox %s is in use by another server",
		                erase->id);
		err.errnum = EBUSY;
		why = &err;
	}
	if (why != NULL) {
		fail_erase(erase, why);
		finish_erase(erase);
		return;
	}
	api_remove_container(erase->broker, container.id, on_container_removed, erase);
}

void volumes_erase(struct broker *broker, const char *id, uint64_t number)
{
	struct erase *erase = mem_new(sizeof *erase);
	char name[DOCKER_NAME_SIZE];

	erase->broker = broker;
	erase->number = number;
	memcpy(erase->id, id, sizeof erase->id);
	list_add(&broker->erases, &erase->node);
	api_send(broker, "GET", NULL, on_container, erase, "/containers/%s/json",
	         container_name(id, name));
}

/* --- listing --- */

struct listing {
	struct broker *broker;
	uint64_t number;
};

/* Of the volumes of a sandbox only the workspace is listed, so that each id occurs once. If the
 * daemon fails, the reply with an empty id is not sent: the server then knows that the list is
 * incomplete, and removes nothing. */
static void on_volumes(void *ctx, const struct api_answer *answer)
{
	struct listing *listing = ctx;
	const json_t *volume;
	size_t i;

	json_array_foreach (json_object_get(answer->json, "Volumes"), i, volume) {
		const char *id = json_text(json_object_get(volume, "Labels"), LABEL_SANDBOX);
		const char *name = json_text(volume, "Name");
		struct engine_reply reply = { .kind = REPLY_LISTED, .number = listing->number };
		char workspace[DOCKER_NAME_SIZE];

		if (id == NULL || name == NULL || !spec_is_id(id) ||
		    strcmp(volume_name(id, 0, workspace), name) != 0)
			continue;
		memcpy(reply.id, id, sizeof reply.id);
		replies_add(&listing->broker->replies, &reply);
	}
	if (answer->why == NULL)
		replies_add(
		        &listing->broker->replies,
		        &(struct engine_reply){ .kind = REPLY_LISTED, .number = listing->number });
	broker_flush(listing->broker);
	free(listing);
}

void volumes_list(struct broker *broker, uint64_t number)
{
	struct listing *listing = mem_new(sizeof *listing);
	char *filter = api_state_filter(broker);

	*listing = (struct listing){ broker, number };
	api_send(broker, "GET", NULL, on_volumes, listing, "/volumes?filters=%s", filter);
	free(filter);
}
