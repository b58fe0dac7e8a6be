/* requests.c - what the server asks of the spawner, checked and done. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/native/spawner_internal.h"

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

static bool is_awake(const struct spawner *spawner, const char *id)
{
	for (size_t i = 0; i < spawner->box_top; i++)
		if (spawner->boxes[i].number != 0 && strcmp(spawner->boxes[i].id, id) == 0)
			return true;
	return false;
}

static struct box *free_box(struct spawner *spawner)
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
	if (request->number == 0 || spawner_find(spawner, request->number) != NULL)
		return error_set(err, ERR_INVALID, "number %llu is taken",
		                 (unsigned long long)request->number);
	if (is_awake(spawner, request->spec.id))
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
	box = free_box(spawner);
	if (box == NULL) {
		(void)error_set(&err, ERR_LIMIT, "%d sandboxes are awake", BOXES_MAX);
		fail(spawner, ANSWER_GONE, request->number, &err);
		return;
	}
	if (box_start(&spawner->shop, &spawner->spare, request, box, &err) == 0)
		return;
	box->failed = true;
	box->why = err;
	if (box->pid > 0)
		box_kill(box, ENGINE_DIED);
	else
		box->is_dead = true;
}

static void control(struct spawner *spawner, const struct request *request)
{
	struct box *box = spawner_find(spawner, request->number);

	if (box == NULL || box->is_dead)
		return; /* it has just gone, and the answer is on its way */
	if (request->kind == REQUEST_KILL)
		box_kill(box, ENGINE_ENDED);
	else
		cgroup_freeze(&box->group, request->kind == REQUEST_FREEZE);
}

/* --- files -------------------------------------------------------------------------- */

struct janitor *spawner_free_janitor(struct spawner *spawner)
{
	for (size_t i = 0; i < JANITORS_MAX; i++)
		if (spawner->janitors[i].pid == 0)
			return &spawner->janitors[i];
	return NULL;
}

void spawner_start_erasing(struct spawner *spawner)
{
	struct janitor *janitor;

	while (spawner->erase_count != 0 && (janitor = spawner_free_janitor(spawner)) != NULL) {
		size_t first = spawner->erase_first;
		struct workshop *shop = &spawner->shop;
		uint64_t number = spawner->erase[first].number;
		const char *id = spawner->erase[first].id;
		struct ids_block ids = { 0 };
		struct error err;

		spawner->erase_first = (first + 1) % ERASE_QUEUE_MAX;
		spawner->erase_count--;
		/* Claimed ids without a directory are swept at the next start. */
		(void)!ids_of(&shop->ids, id, &ids, &err);
		if (janitor_start(janitor, JANITOR_REMOVE, number, shop->disk.dir, id, NULL, &err) <
		    0)
			fail(spawner, ANSWER_ERASED, number, &err);
		else
			janitor->ids = ids;
	}
}

static void erase(struct spawner *spawner, const struct request *request)
{
	struct error err;
	size_t last = (spawner->erase_first + spawner->erase_count) % ERASE_QUEUE_MAX;

	if (!spec_is_id(request->spec.id))
		(void)error_set(&err, ERR_INVALID, "id: not a sandbox's");
	else if (is_awake(spawner, request->spec.id))
		(void)error_set(&err, ERR_INVALID, "sandbox %s is awake", request->spec.id);
	else if (spawner->erase_count == ERASE_QUEUE_MAX)
		(void)error_set(&err, ERR_LIMIT, "%d sandboxes are being erased", ERASE_QUEUE_MAX);
	else {
		memcpy(spawner->erase[last].id, request->spec.id, sizeof spawner->erase[last].id);
		spawner->erase[last].number = request->number;
		spawner->erase_count++;
		spawner_start_erasing(spawner);
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
	case REQUEST_FREEZE:
	case REQUEST_THAW:
		control(spawner, request);
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
