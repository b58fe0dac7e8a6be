/* spare.c - the sandbox that is started ahead of its request. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "engine/native/spawner/internal.h"

enum {
	KEPT_MS = 60000,
	/* From a request to the start of the next spare: the request's program has the processors
	 * first. */
	QUIET_MS = 20,
	/* QUIET_MS after the first request, whose sandbox also starts an interpreter. */
	FIRST_QUIET_MS = 150,
	CHECK_MS = 5000,
};

static struct spawner_sandbox *find_spare(struct spawner *spawner)
{
	return spawner_find_sandbox(spawner, SPARE_NUMBER);
}

/* When a spare may start. */
static uint64_t due_ms(const struct spawner *spawner)
{
	return num_max(spawner->last_request_ms + QUIET_MS,
	               spawner->first_request_ms + FIRST_QUIET_MS);
}

void spare_note_request(struct spawner *spawner, const struct engine_request *request)
{
	struct spawner_sandbox *spare = find_spare(spawner);

	if (spare != NULL && !spec_is_alike(&spawner->spare_request.spec, &request->spec))
		spawner_sandbox_kill(spare, ENGINE_END_KILLED);
	spawner->spare_request = *request;
	spawner->spare_until_ms = clock_now_ms() + KEPT_MS;
	if (spawner->first_request_ms == 0)
		spawner->first_request_ms = clock_now_ms();
}

/* Only a spare that is completely set up and confined is given away, and it is never taken back: a
 * sandbox that one owner has used must not be given to another. */
struct spawner_sandbox *spare_take(struct spawner *spawner, const struct engine_request *request)
{
	struct spawner_sandbox *spare = find_spare(spawner);
	struct error err;

	if (spare == NULL || spare->is_dead || spare->failed || spare->setup_pipe >= 0 ||
	    spare->is_killed || !spec_is_alike(&spawner->spare_request.spec, &request->spec))
		return NULL;
	if ((spare->has_image && image_watch_start(spawner, spare, &err) < 0) ||
	    sandbox_dir_rename(&spawner->host, spare, request->spec.id, &err) < 0) {
		spawner_sandbox_kill(spare, ENGINE_END_KILLED);
		return NULL;
	}
	spare->number = request->number;
	return spare;
}

/* The request is not checked yet: spec_check() comes before any use of its spec. */
bool spare_is_coming(struct spawner *spawner, const struct engine_request *request)
{
	const struct spawner_sandbox *spare = find_spare(spawner);
	struct error ignored;

	return spare != NULL && spare->setup_pipe >= 0 && !spare->is_dead && !spare->failed &&
	       !spare->is_killed && request->kind == REQUEST_START &&
	       spec_check(&request->spec, &ignored) == 0 && request->spec.fresh &&
	       spec_is_alike(&spawner->spare_request.spec, &request->spec);
}

static void start_spare(struct spawner *spawner)
{
	struct engine_request *request = &spawner->spare_request;
	struct spawner_sandbox *spare = spawner_free_sandbox_slot(spawner);
	struct error err;

	if (spare == NULL)
		return;
	request->number = SPARE_NUMBER;
	spec_new_id(request->spec.id);
	memcpy(request->spec.id, SPARE_PREFIX, sizeof SPARE_PREFIX - 1);
	if (spawner_sandbox_start(&spawner->host, &spawner->next_image, request, spare, &err) == 0)
		return;
	spawner->spare_until_ms = 0;
	spawner_sandbox_fail(spare, &err);
}

void spare_start_first(struct spawner *spawner, const struct spec *spec)
{
	if (!spawner->host.wants_first)
		return;
	spawner->spare_request = (struct engine_request){ .kind = REQUEST_START, .spec = *spec };
	spawner->spare_request.spec.fresh = true;
	spawner->spare_until_ms = clock_now_ms() + KEPT_MS;
	start_spare(spawner);
	/* If the spare has failed: nothing else may wait for the process that made its image. */
	disk_image_end_ahead(&spawner->host.images);
}

void spare_update(struct spawner *spawner)
{
	struct spawner_sandbox *spare = find_spare(spawner);
	uint64_t now = clock_now_ms();
	bool is_wanted = now < spawner->spare_until_ms;

	if (spare == NULL && is_wanted && now >= due_ms(spawner))
		start_spare(spawner);
	else if (spare != NULL && !is_wanted)
		spawner_sandbox_kill(spare, ENGINE_END_KILLED);
}

int spare_timeout_ms(const struct spawner *spawner)
{
	uint64_t now = clock_now_ms(), due = due_ms(spawner);

	if (spawner->spare_until_ms == 0)
		return -1;
	return now < due ? (int)(due - now) : CHECK_MS;
}
