#include "engine/native/watch.h"

#include <sys/statvfs.h>

#include "base/clock.h"
#include "engine/native/spare.h"
#include "engine/native/spawner_internal.h"
#include "engine/native/tree_memory.h"

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

static bool watches_disk(const struct spawner *spawner)
{
	return spawner->shop.disk.kind == DISK_WATCHED;
}

static bool watches_memory(const struct spawner *spawner)
{
	return (spawner->shop.groups.has & CGROUP_HAS_MEMORY) == 0;
}

/* What it held when it fell asleep is not known: as if it were everything, so that it is counted
 * as soon as anything is written. */
void watch_begin(const struct workshop *shop, struct box *box)
{
	box->disk.free_then = free_space(shop);
	if (!box->is_fresh)
		box->disk.used = (struct disk_use){ box->limits.disk, box->limits.inodes };
}

int watch_interval(const struct spawner *spawner)
{
	bool some = false;

	for (size_t i = 0; i < spawner->box_top && !some; i++)
		some = is_running(&spawner->boxes[i]);
	if (some && watches_disk(spawner))
		return DISK_MS;
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

/* It stands still while it is counted: what it writes meanwhile would not be seen. */
static void count(struct spawner *spawner, struct box *box, const struct disk_use *free_now)
{
	const struct janitor_job job = { .kind = JANITOR_COUNT,
		                         .parent = spawner->shop.disk.dir,
		                         .name = box->id,
		                         .number = box->number,
		                         .enough = { box->limits.disk, box->limits.inodes },
		                         .proc = spawner->shop.home.proc,
		                         .pid = box->pid };
	struct janitor *janitor = spawner_free_janitor(spawner);
	struct error err;

	if (janitor == NULL || janitor_start(janitor, &job, &err) < 0)
		return; /* next time */
	box->disk.counting = true;
	box->disk.free_next = *free_now;
	cgroup_freeze(&box->group, true);
}

void watch_counted(struct spawner *spawner, uint64_t number, const struct janitor_result *result)
{
	struct box *box = spawner_find(spawner, number);

	if (box == NULL || box->is_dead)
		return;
	box->disk.counting = false;
	cgroup_freeze(&box->group, false);
	if (result->failed) {
		/* Once is chance: it is counted again. More often is somebody's plan. */
		if (++box->disk.failures >= FAILURES_MAX)
			box_kill(box, ENGINE_DISK);
		return;
	}
	box->disk.failures = 0;
	box->disk.used = result->use;
	box->disk.free_then = box->disk.free_next;
	if (result->use.bytes > box->limits.disk || result->use.inodes > box->limits.inodes)
		box_kill(box, ENGINE_DISK);
}

static void look_at_disk(struct spawner *spawner)
{
	struct disk_use now = free_space(&spawner->shop);

	for (size_t i = 0; i < spawner->box_top; i++) {
		struct box *box = &spawner->boxes[i];

		if (!is_running(box) || box->disk.counting)
			continue;
		if (could_be_over(box->disk.used.bytes, &box->disk.free_then.bytes, now.bytes,
		                  box->limits.disk) ||
		    could_be_over(box->disk.used.inodes, &box->disk.free_then.inodes, now.inodes,
		                  box->limits.inodes))
			count(spawner, box, &now);
	}
}

/* --- memory -------------------------------------------------------------------------- */

static void look_at_memory(struct spawner *spawner)
{
	for (size_t i = 0; i < spawner->box_top; i++) {
		struct box *box = &spawner->boxes[i];

		if (is_running(box) &&
		    tree_memory(spawner->shop.home.proc, box->pid) > box->limits.memory)
			box_kill(box, ENGINE_MEMORY);
	}
}

void watch_look(struct spawner *spawner)
{
	uint64_t now = clock_now_ms();

	if (watches_disk(spawner) && now >= spawner->disk_due) {
		look_at_disk(spawner);
		spawner->disk_due = now + DISK_MS;
	}
	if (watches_memory(spawner) && now >= spawner->memory_due) {
		look_at_memory(spawner);
		spawner->memory_due = now + MEMORY_MS;
	}
}
