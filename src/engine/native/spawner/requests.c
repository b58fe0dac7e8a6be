/* requests.c - what the server asks of the spawner, checked and done. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/spawner/spare.h"
#include "engine/native/spawner/spawner_internal.h"

static void fail(struct spawner *spawner, enum answer_kind kind, uint64_t number,
                 const struct error *err)
{
	struct answer answer = { .kind = kind, .number = number, .failed = true, .err = *err };

	answers_add(&spawner->answers, &answer, NULL, 0);
}

struct box *spawner_find(struct spawner *spawner, uint64_t number)
{
	for (size_t i = 0; number != 0 && i < spawner->box_top; i++)
		if (spawner->boxes[i].number == number)
			return &spawner->boxes[i];
	return NULL;
}

static struct box *find_awake(struct spawner *spawner, const char *id)
{
	for (size_t i = 0; i < spawner->box_top; i++)
		if (spawner->boxes[i].number != 0 && strcmp(spawner->boxes[i].id, id) == 0)
			return &spawner->boxes[i];
	return NULL;
}

struct box *spawner_free_box(struct spawner *spawner)
{
	for (size_t i = 0; i < BOXES_MAX; i++)
		if (spawner->boxes[i].number == 0) {
			if (i >= spawner->box_top)
				spawner->box_top = i + 1;
			return &spawner->boxes[i];
		}
	return NULL;
}

static int check_make(struct spawner *spawner, const struct request *request, struct error *err)
{
	if (spec_check(&request->spec, err) < 0)
		return -1;
	for (unsigned i = 0; i < request->spec.mount_count; i++)
		if (request->spec.mounts[i].source >= spawner->shop.mount_count)
			return error_set(err, ERR_INVALID, "mounts[%u].source: %u of %zu", i,
			                 request->spec.mounts[i].source, spawner->shop.mount_count);
	if (request->number == 0 || request->number == SPARE_NUMBER ||
	    spawner_find(spawner, request->number) != NULL)
		return error_set(err, ERR_INVALID, "number %llu is taken",
		                 (unsigned long long)request->number);
	if (find_awake(spawner, request->spec.id) != NULL)
		return error_set(err, ERR_INVALID, "sandbox %s is awake", request->spec.id);
	return 0;
}

/* A box that failed half-way has a process, perhaps, and a group: they go like any other's. */
static void make(struct spawner *spawner, const struct request *request)
{
	struct box *box;
	struct error err;

	if (check_make(spawner, request, &err) < 0) {
		fail(spawner, ANSWER_GONE, request->number, &err);
		return;
	}
	if (request->spec.fresh && spare_take(spawner, request, &box)) {
		spare_want(spawner, request);
		spawner_hand_over(spawner, box);
		return;
	}
	if (request->spec.fresh)
		spare_want(spawner, request);
	box = spawner_free_box(spawner);
	if (box == NULL) {
		(void)error_set(&err, ERR_LIMIT, "%d sandboxes are awake", BOXES_MAX);
		fail(spawner, ANSWER_GONE, request->number, &err);
		return;
	}
	if (box_start(&spawner->shop, &spawner->image, request, box, &err) < 0)
		box_failed(box, &err);
}

static void kill_sandbox(struct spawner *spawner, const struct request *request)
{
	struct box *box = spawner_find(spawner, request->number);

	if (box == NULL || box->is_dead)
		return; /* it has just gone, and the answer is on its way */
	box_kill(box, ENGINE_END_KILLED);
}

/* --- files -------------------------------------------------------------------------- */

struct janitor *spawner_free_janitor(struct spawner *spawner, enum janitor_kind kind)
{
	static const size_t first[JANITOR_KINDS + 1] = { [JANITOR_REMOVE] = 0,
		                                         [JANITOR_COUNT] = 12,
		                                         [JANITOR_MEMORY] = 20,
		                                         [JANITOR_KINDS] = JANITORS_MAX };

	for (size_t i = first[kind]; i < first[kind + 1]; i++)
		if (spawner->janitors[i].pid == 0)
			return &spawner->janitors[i];
	return NULL;
}

void spawner_start_erasing(struct spawner *spawner)
{
	struct janitor *janitor;

	while (spawner->erase_count != 0 &&
	       (janitor = spawner_free_janitor(spawner, JANITOR_REMOVE)) != NULL) {
		struct workshop *shop = &spawner->shop;
		const char *name = spawner->erase[spawner->erase_first];
		struct janitor_job job = { .kind = JANITOR_REMOVE,
			                   .parent = shop->disk.dir,
			                   .name = name };
		struct error err;

		spawner->erase_first = (spawner->erase_first + 1) % ERASE_QUEUE_MAX;
		spawner->erase_count--;
		/* Claimed ids without a directory are swept at the next start. */
		(void)!ids_from_owner(&shop->ids, name, &job.ids, &err);
		(void)!janitor_start(janitor, &job, &err); /* else the next start finds it */
	}
}

/* What nobody answers for is gone for all but the janitor. */
void spawner_remove(struct spawner *spawner, const char *name)
{
	size_t last = (spawner->erase_first + spawner->erase_count) % ERASE_QUEUE_MAX;

	if (spawner->erase_count == ERASE_QUEUE_MAX)
		return; /* the next start finds it */
	(void)snprintf(spawner->erase[last], sizeof spawner->erase[last], "%s", name);
	spawner->erase_count++;
	spawner_start_erasing(spawner);
}

/* One that was made anew goes again while its first files are still going. */
static int give_other_name(struct workshop *shop, const char *id, char name[SPEC_ID_LEN + 1],
                           struct error *err)
{
	char random[SPEC_ID_LEN + 1];
	struct ids_block block;

	spec_new_id(random);
	(void)snprintf(name, SPEC_ID_LEN + 1, "%s%s", GONE_PREFIX, random + sizeof GONE_PREFIX - 1);
	if (ids_from_owner(&shop->ids, id, &block, err) < 0 ||
	    ids_rename(&shop->ids, &block, name, err) < 0)
		return -1;
	return renameat2(shop->disk.dir, id, shop->disk.dir, name, RENAME_NOREPLACE);
}

/* It loses its name at once; its files go in a while, however many they are. */
static int forget(struct spawner *spawner, const char *id, struct error *err)
{
	int all = spawner->shop.disk.dir;
	AUTO_FD int dir = openat(all, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char name[SPEC_ID_LEN + 1];

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return error_sys(err, "the directory of sandbox %s", id);
	if (flock(dir, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERR_INVALID, "sandbox %s is awake in another server", id);
	(void)snprintf(name, sizeof name, "%s%s", GONE_PREFIX, id + sizeof GONE_PREFIX - 1);
	if (renameat2(all, id, all, name, RENAME_NOREPLACE) < 0 &&
	    (errno != EEXIST || give_other_name(&spawner->shop, id, name, err) < 0))
		return error_sys(err, "remove sandbox %s", id);
	(void)flock(dir, LOCK_UN);
	spawner_remove(spawner, name);
	return 0;
}

void spawner_erase(struct spawner *spawner, const char *id, uint64_t number)
{
	struct answer answer = { .kind = ANSWER_ERASED, .number = number };

	answer.failed = forget(spawner, id, &answer.err) < 0;
	answers_add(&spawner->answers, &answer, NULL, 0);
}

static void erase(struct spawner *spawner, const struct request *request)
{
	bool is_id = memchr(request->spec.id, '\0', sizeof request->spec.id) != NULL &&
	             spec_is_id(request->spec.id);
	struct box *box = is_id ? find_awake(spawner, request->spec.id) : NULL;
	struct error err;

	if (!is_id)
		(void)error_set(&err, ERR_INVALID, "id: not a sandbox's");
	else if (box != NULL &&
	         ((!box->is_killed && !box->is_dead) || box->erase != 0 || request->number == 0))
		(void)error_set(&err, ERR_INVALID, "sandbox %s is awake", request->spec.id);
	else if (box != NULL) {
		box->erase = request->number;
		return;
	} else {
		spawner_erase(spawner, request->spec.id, request->number);
		return;
	}
	fail(spawner, ANSWER_ERASED, request->number, &err);
}

static void list(struct spawner *spawner, const struct request *request)
{
	struct answer answer = { .kind = ANSWER_LISTED, .number = request->number };
	int fd = openat(spawner->shop.disk.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (spec_is_id(entry->d_name)) {
			memcpy(answer.id, entry->d_name, sizeof answer.id);
			answers_add(&spawner->answers, &answer, NULL, 0);
		}
	if (dir != NULL)
		(void)closedir(dir);
	answer.id[0] = '\0';
	answers_add(&spawner->answers, &answer, NULL, 0);
}

void spawner_take(struct spawner *spawner, const struct request *request)
{
	switch (request->kind) {
	case REQUEST_MAKE:
		make(spawner, request);
		break;
	case REQUEST_KILL:
		kill_sandbox(spawner, request);
		break;
	case REQUEST_ERASE:
		erase(spawner, request);
		break;
	case REQUEST_LIST:
		list(spawner, request);
		break;
	default:
		break; /* a server that speaks another language gets no answer */
	}
}
