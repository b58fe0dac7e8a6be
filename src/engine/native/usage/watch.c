#include "engine/native/usage/watch.h"

#include <sys/statvfs.h>

#include "base/clock.h"
#include "engine/native/spawner/spare.h"
#include "engine/native/spawner/spawner_internal.h"

enum { DISK_MS = 20, MEMORY_MS = 250, FAILURES_MAX = 5 };

static struct disk_use free_space(const struct workshop *shop)
{
	struct statvfs fs;

	if (fstatvfs(shop->disk.dir, &fs) < 0)
		return (struct disk_use){ 0 };
	return (struct disk_use){ (uint64_t)fs.f_bfree * fs.f_frsize, fs.f_ffree };
}

static bool is_running(const struct box *box)
{
	return box->number != 0 && box->number != SPARE_NUMBER && !box->is_dead && box->report < 0;
}

static bool is_watched(const struct box *box)
{
	return is_running(box) && box->disk.is_watched;
}

static bool watches_memory(const struct spawner *spawner)
{
	return (spawner->shop.groups.has & CGROUP_HAS_MEMORY) == 0;
}

/* What it held when it fell asleep is not known: as if it were everything, so that it is counted
 * as soon as anything is written. */
void watch_begin(const struct workshop *shop, struct box *box)
{
	box->disk.is_watched = !disk_is_limited(&shop->disk, box->dir, box->ids.number);
	box->disk.free_then = free_space(shop);
	box->disk.most = (struct disk_use){ box->limits.disk, box->limits.inodes };
	if (!box->is_fresh)
		box->disk.used = box->disk.most;
}

int watch_interval(const struct spawner *spawner)
{
	bool some = false;

	for (size_t i = 0; i < spawner->box_top; i++) {
		if (is_watched(&spawner->boxes[i]))
			return DISK_MS;
		some = some || is_running(&spawner->boxes[i]);
	}
	return some && watches_memory(spawner) ? MEMORY_MS : -1;
}

/* --- disk ---------------------------------------------------------------------------- */

/* What others free must not hide what this one writes: the mark goes up with the free space. */
static bool could_be_over(uint64_t used, uint64_t *then, uint64_t now, uint64_t limit)
{
	if (now > *then)
		*then = now;
	return used + (*then - now) > limit;
}

/* One that was ended for its files must be able to wake and remove some. */
static bool is_first_count(const struct box *box)
{
	return !box->is_fresh && !box->disk.is_counted;
}

/* It stands still while it is counted: what it writes meanwhile would not be seen. */
static void count(struct spawner *spawner, struct box *box, const struct disk_use *free_now)
{
	static const struct disk_use all = { UINT64_MAX, UINT64_MAX };
	const struct janitor_job job = { .kind = JANITOR_COUNT,
		                         .parent = spawner->shop.disk.dir,
		                         .name = box->id,
		                         .number = box->number,
		                         .enough = is_first_count(box) ? all : box->disk.most,
		                         .proc = spawner->shop.home.proc,
		                         .pid = box->pid };
	struct janitor *janitor = spawner_free_janitor(spawner, JANITOR_COUNT);
	struct error err;

	if (janitor == NULL || janitor_start(janitor, &job, &err) < 0)
		return; /* next time */
	box->disk.counting = true;
	box->disk.free_next = *free_now;
	cgroup_freeze(&box->group, true);
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void disk_counted(struct box *box, const struct janitor_result *result)
{
	struct disk_use *most = &box->disk.most;

	box->disk.counting = false;
	cgroup_freeze(&box->group, false);
	if (result->failed) {
		/* Once is chance: it is counted again. More often is somebody's plan. */
		if (++box->disk.failures >= FAILURES_MAX)
			box_kill(box, ENGINE_END_DISK_LIMIT);
		return;
	}
	box->disk.failures = 0;
	box->disk.used = result->use;
	box->disk.free_then = box->disk.free_next;
	if (is_first_count(box))
		*most = (struct disk_use){ more_of(most->bytes, result->use.bytes),
			                   more_of(most->inodes, result->use.inodes) };
	box->disk.is_counted = true;
	if (result->use.bytes > most->bytes || result->use.inodes > most->inodes)
		box_kill(box, ENGINE_END_DISK_LIMIT);
}

static void look_at_disk(struct spawner *spawner)
{
	struct disk_use now = free_space(&spawner->shop);

	for (size_t i = 0; i < spawner->box_top; i++) {
		struct box *box = &spawner->boxes[i];

		if (!is_watched(box) || box->disk.counting)
			continue;
		if (could_be_over(box->disk.used.bytes, &box->disk.free_then.bytes, now.bytes,
		                  box->disk.most.bytes) ||
		    could_be_over(box->disk.used.inodes, &box->disk.free_then.inodes, now.inodes,
		                  box->disk.most.inodes))
			count(spawner, box, &now);
	}
}

/* --- memory -------------------------------------------------------------------------- */

static bool is_added_up(const struct spawner *spawner, uint64_t number)
{
	for (size_t i = 0; i < JANITORS_MAX; i++) {
		const struct janitor *janitor = &spawner->janitors[i];

		if (janitor->pid != 0 && janitor->kind == JANITOR_MEMORY &&
		    janitor->number == number)
			return true;
	}
	return false;
}

static bool add_up(struct spawner *spawner, const struct box *box)
{
	const struct janitor_job job = { .kind = JANITOR_MEMORY,
		                         .parent = spawner->shop.disk.dir,
		                         .name = box->id,
		                         .number = box->number,
		                         .proc = spawner->shop.home.proc,
		                         .pid = box->pid };
	struct janitor *janitor = spawner_free_janitor(spawner, JANITOR_MEMORY);
	struct error err;

	return janitor != NULL && janitor_start(janitor, &job, &err) == 0;
}

/* Each in its turn. False: some wait until a janitor has ended. */
static bool look_at_memory(struct spawner *spawner)
{
	for (; spawner->memory_next < spawner->box_top; spawner->memory_next++) {
		const struct box *box = &spawner->boxes[spawner->memory_next];

		if (is_running(box) && !is_added_up(spawner, box->number) && !add_up(spawner, box))
			return false;
	}
	spawner->memory_next = 0;
	return true;
}

void watch_counted(struct spawner *spawner, uint64_t number, const struct janitor_result *result)
{
	struct box *box = spawner_find(spawner, number);

	if (box == NULL || box->is_dead)
		return;
	if (result->kind == JANITOR_COUNT)
		disk_counted(box, result);
	else if (!result->failed && result->use.bytes > box->limits.memory)
		box_kill(box, ENGINE_END_OUT_OF_MEMORY);
}

void watch_look(struct spawner *spawner)
{
	uint64_t now = clock_now_ms();

	if (now >= spawner->disk_due) {
		look_at_disk(spawner);
		spawner->disk_due = now + DISK_MS;
	}
	if (watches_memory(spawner) && now >= spawner->memory_due && look_at_memory(spawner))
		spawner->memory_due = now + MEMORY_MS;
}
