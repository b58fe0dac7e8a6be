/* limit_watch.c - limits on disk, memory and locks that the kernel does not enforce here. */
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "engine/native/spawner/internal.h"

enum {
	DISK_MS = 20,
	/* The longest time between two measurings of a full sandbox that runs: it may have deleted
	 * files. With many files the time is longer, so that measuring takes at most a quarter of a
	 * processor. */
	FULL_MS = 500,
	FULL_SHARE = 3,
	MEMORY_MS = 250,
	/* The longest time between two measurings of a sandbox without activity: writes to files in
	 * memory within one tick of processor time do not count as activity. */
	MEMORY_IDLE_MS = 5000,
	FAILURES_MAX = 5,
	/* Measuring the sockets of one sandbox takes at most one part in this many of a
	 * processor. */
	SOCKETS_SHARE = 4,
	/* Longest time for which a sandbox stays frozen because of the processor time that one
	 * measuring took. The server gives up a spill file after 5 s and an agent after 15 s
	 * without an answer. */
	CHARGE_MAX_MS = 4000,
};

static struct disk_usage read_free_space(const struct host_resources *host)
{
	struct statvfs fs;

	if (fstatvfs(host->disk.dir, &fs) < 0)
		return (struct disk_usage){ 0 };
	return (struct disk_usage){ (uint64_t)fs.f_bfree * fs.f_frsize, fs.f_ffree };
}

bool spawner_sandbox_is_running(const struct spawner_sandbox *sandbox)
{
	return sandbox->number != 0 && sandbox->number != SPARE_NUMBER && !sandbox->is_killed &&
	       !sandbox->is_dead && sandbox->setup_pipe < 0;
}

static bool has_watched_disk(const struct spawner_sandbox *sandbox)
{
	return spawner_sandbox_is_running(sandbox) && sandbox->disk.is_watched;
}

static bool watches_memory(const struct spawner *spawner)
{
	return (spawner->host.cgroups.has & CGROUP_HAS_MEMORY) == 0;
}

bool limit_watch_is_needed(const struct host_resources *host, const struct spawner_sandbox *sandbox)
{
	return !sandbox->has_image &&
	       !disk_has_quota(&host->disk, sandbox->dir, sandbox->ids.number);
}

/* The disk usage of a woken sandbox is unknown. It counts as nearly full, so that its first write
 * leads to a measuring. */
void limit_watch_start(const struct host_resources *host, struct spawner_sandbox *sandbox)
{
	struct disk_watch *disk = &sandbox->disk;

	lock_watch_start(host, sandbox);
	disk->is_watched = limit_watch_is_needed(host, sandbox);
	disk->free_before = read_free_space(host);
	disk->limit = (struct disk_usage){ sandbox->limits.disk, sandbox->limits.inodes };
	if (!sandbox->is_fresh)
		disk->used = (struct disk_usage){ spec_disk_full(&sandbox->limits),
			                          sandbox->limits.inodes };
}

int limit_watch_set_disk(const struct host_resources *host, struct spawner_sandbox *sandbox,
                         uint64_t bytes, struct error *err)
{
	struct disk_watch *disk = &sandbox->disk;
	const struct disk_usage limit = { bytes, disk->limit.inodes };

	if (bytes == sandbox->limits.disk)
		return 0;
	if (sandbox->has_image)
		return image_watch_set_limit(host, sandbox, bytes, err);
	if (!disk->is_watched)
		return disk_set_quota(&host->disk, sandbox->dir, sandbox->ids.number, &limit, err);
	disk->is_changed = true;
	disk->is_lowered = bytes < disk->limit.bytes;
	disk->limit.bytes = num_max(bytes, disk->limit.bytes);
	return 0;
}

bool limit_watch_owes_reply(struct spawner *spawner, uint64_t number)
{
	struct spawner_sandbox *sandbox = spawner_find_sandbox(spawner, number);

	if (sandbox == NULL || !sandbox->disk.is_changed)
		return false;
	sandbox->disk.owes_reply = true;
	spawner->disk_due_ms = 0;
	limit_watch_check(spawner);
	return true;
}

int limit_watch_timeout_ms(const struct spawner *spawner)
{
	bool is_any_running = false;

	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		const struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		if (!spawner_sandbox_is_running(sandbox))
			continue;
		if (sandbox->disk.is_watched || sandbox->measuring.frozen_until_ms != 0 ||
		    (sandbox->has_image && spawner->is_disk_short))
			return DISK_MS;
		is_any_running = true;
	}
	return is_any_running ? MEMORY_MS : -1;
}

/* The bytes that a full sandbox may still grow by before it is killed. */
static uint64_t room_when_full(const struct spawner_sandbox *sandbox)
{
	return sandbox->limits.disk - spec_disk_full(&sandbox->limits);
}

/* --- janitors that measure a frozen sandbox ------------------------------------------- */

/* The cgroup is frozen meanwhile: files written and locks taken behind the janitor's position would
 * not be counted, and a program could move both around it. False: all janitors of this kind are
 * busy. */
static bool start_measuring(struct spawner *spawner, struct spawner_sandbox *sandbox,
                            enum janitor_kind kind, const struct disk_usage *limit)
{
	const struct janitor_job job = { .kind = kind,
		                         .parent = spawner->host.disk.dir,
		                         .name = sandbox->id,
		                         .number = sandbox->number,
		                         .limit = *limit,
		                         .full_at = spec_disk_full(&sandbox->limits),
		                         .closed_at = sandbox->disk.limit.bytes -
		                                      room_when_full(sandbox) / 2,
		                         .file_max = spec_file_max(&sandbox->limits),
		                         .level = sandbox->disk.level,
		                         .sets_files = sandbox->disk.is_changed,
		                         .proc = spawner->host.userns.proc,
		                         .pid = sandbox->pid };
	struct janitor *janitor = spawner_free_janitor_slot(spawner, kind);
	struct error err;

	if (janitor == NULL || janitor_start(janitor, &job, &err) < 0)
		return false;
	sandbox->measuring = (struct frozen_measuring){ .is_running = true,
		                                        .began_ms = clock_now_ms() };
	if (kind == JANITOR_DISK)
		sandbox->disk.is_changed = false;
	cgroup_freeze(&sandbox->cgroup, true);
	return true;
}

/* Thaws the sandbox, or leaves it frozen for as long as its limit on processors takes to allow the
 * processor time that the janitor used. Otherwise a sandbox with many files that stays close to its
 * disk limit, or one with many descriptors, would make the host work more than the sandbox may
 * itself. */
static void finish_measuring(struct spawner_sandbox *sandbox, uint64_t cpu_us)
{
	struct frozen_measuring *measuring = &sandbox->measuring;
	uint64_t charge_ms = cpu_us / sandbox->limits.cpu; /* the limit is in thousandths */
	uint64_t until = measuring->began_ms + num_min(charge_ms, CHARGE_MAX_MS);
	const struct cgroups *all = sandbox->cgroup.in;

	measuring->is_running = false;
	if (all != NULL && (all->has & CGROUP_HAS_CPU) != 0 && until > clock_now_ms())
		measuring->frozen_until_ms = until;
	else
		cgroup_freeze(&sandbox->cgroup, false);
}

/* Also thaws a sandbox whose time of finish_measuring() has passed. */
static bool is_frozen(struct spawner_sandbox *sandbox)
{
	struct frozen_measuring *measuring = &sandbox->measuring;

	if (measuring->frozen_until_ms != 0 && clock_now_ms() >= measuring->frozen_until_ms) {
		measuring->frozen_until_ms = 0;
		cgroup_freeze(&sandbox->cgroup, false);
	}
	return measuring->is_running || measuring->frozen_until_ms != 0;
}

/* --- disk ---------------------------------------------------------------------------- */

/* The sandbox may have written as many bytes as the file system's free space has shrunk since the
 * last measuring. If other processes free space, *free_before rises with it: otherwise their
 * deletions would hide this sandbox's writes. */
static bool could_be_over(uint64_t used, uint64_t *free_before, uint64_t free_now, uint64_t limit)
{
	if (free_now > *free_before)
		*free_before = free_now;
	return used + (*free_before - free_now) > limit;
}

/* A sandbox that was killed at its disk limit must be able to wake and delete files, so the first
 * measuring after a wake raises the limit to what is there. */
static bool is_first_after_wake(const struct spawner_sandbox *sandbox)
{
	return !sandbox->is_fresh && !sandbox->disk.is_measured;
}

/* Records the processor time of a sandbox that a check has found to be within its disk limit. The
 * time that is recorded was read at the check before, so before this check read the free space:
 * otherwise a write between the two reads would not be noticed by has_run(). The first check after
 * a measuring only reads the time, because tasks that were thawed run for a moment even if they are
 * idle. */
static void note_within_limit(struct spawner_sandbox *sandbox)
{
	struct disk_watch *disk = &sandbox->disk;

	if (!disk->is_measured || disk->idle_cpu_us != 0)
		return;
	disk->idle_cpu_us = disk->read_cpu_us;
	disk->read_cpu_us = cgroup_counters_now(&sandbox->cgroup).cpu_us;
}

/* A sandbox that has used no processor time since it was within its limit has written nothing: then
 * only other processes have made the free space shrink, and measuring would be in vain. */
static bool has_run(const struct spawner_sandbox *sandbox)
{
	uint64_t then_us = sandbox->disk.idle_cpu_us;

	return then_us == 0 || cgroup_counters_now(&sandbox->cgroup).cpu_us != then_us;
}

static void start_disk_measuring(struct spawner *spawner, struct spawner_sandbox *sandbox,
                                 const struct disk_usage *free_now)
{
	struct disk_usage limit = sandbox->disk.limit;

	/* The limit of a sandbox that becomes full or closed follows from all of its bytes. The
	 * limit on files stops the measuring of a sandbox that has made millions of them. */
	if (sandbox->disk.level != DISK_CLOSED)
		limit.bytes = UINT64_MAX;
	if (is_first_after_wake(sandbox))
		limit.inodes = UINT64_MAX;
	if (!start_measuring(spawner, sandbox, JANITOR_DISK, &limit))
		return; /* the next check tries again */
	sandbox->disk.free_next = *free_now;
	sandbox->disk.idle_cpu_us = sandbox->disk.read_cpu_us = 0;
}

/* A sandbox that becomes full or closed, also when it wakes, keeps what it has: its programs get
 * errors for their writes. It is killed if it grows all the same, by programs that raise their
 * limit, fill files with holes, or make directories. */
static void apply_level(struct spawner_sandbox *sandbox, const struct janitor_result *result)
{
	struct disk_watch *disk = &sandbox->disk;

	if (result->level == DISK_HAS_ROOM)
		disk->limit.bytes = sandbox->limits.disk;
	else if (result->level > disk->level ||
	         (disk->is_lowered && result->usage.bytes <= disk->limit.bytes))
		disk->limit.bytes = num_max(sandbox->limits.disk,
		                            result->usage.bytes + room_when_full(sandbox));
	disk->is_lowered = false;
	disk->level = result->level;
	disk->full_due_ms = clock_now_ms() + FULL_MS + result->cpu_us / 1000 * FULL_SHARE;
}

static void apply_disk_result(struct spawner_sandbox *sandbox, const struct janitor_result *result)
{
	struct disk_watch *disk = &sandbox->disk;

	if (result->failed) {
		/* Without a cgroup nothing is frozen, and files may change while they are measured.
		 * One failure may be chance; FAILURES_MAX in a row mean that a program hides its
		 * files. */
		if (++disk->failures >= FAILURES_MAX)
			spawner_sandbox_kill(sandbox, ENGINE_END_DISK_LIMIT);
		disk->is_changed = true; /* RLIMIT_FSIZE may not have been set */
		return;
	}
	disk->failures = 0;
	disk->used = result->usage;
	disk->free_before = disk->free_next;
	if (disk->is_changed)
		return; /* the limit is another one by now, and the next check applies it */
	if (is_first_after_wake(sandbox))
		disk->limit.inodes = num_max(disk->limit.inodes, result->usage.inodes);
	apply_level(sandbox, result);
	disk->is_measured = true;
	if (result->usage.bytes > disk->limit.bytes)
		spawner_sandbox_kill(sandbox, ENGINE_END_DISK_LIMIT);
	else if (result->usage.inodes > disk->limit.inodes)
		spawner_sandbox_kill(sandbox, ENGINE_END_INODE_LIMIT);
}

/* The use of the disk, in bytes, at which the sandbox is measured again. A full sandbox is measured
 * several times before it is killed, so that more writes can be stopped first. */
static uint64_t next_measuring_at(const struct spawner_sandbox *sandbox)
{
	const struct disk_watch *disk = &sandbox->disk;

	if (disk->level == DISK_HAS_ROOM)
		return spec_disk_full(&sandbox->limits);
	return num_min(disk->limit.bytes, disk->used.bytes + room_when_full(sandbox) / 4);
}

static bool needs_disk_measuring(struct spawner_sandbox *sandbox, const struct disk_usage *free_now)
{
	struct disk_watch *disk = &sandbox->disk;
	bool may_be_freed;

	if (disk->is_lowered || disk->is_changed)
		return true;
	may_be_freed = disk->level != DISK_HAS_ROOM && (free_now->bytes > disk->free_before.bytes ||
	                                                clock_now_ms() >= disk->full_due_ms);
	if (could_be_over(disk->used.bytes, &disk->free_before.bytes, free_now->bytes,
	                  next_measuring_at(sandbox)) ||
	    may_be_freed ||
	    could_be_over(disk->used.inodes, &disk->free_before.inodes, free_now->inodes,
	                  disk->limit.inodes))
		return has_run(sandbox);
	note_within_limit(sandbox);
	return false;
}

static void check_disk(struct spawner *spawner)
{
	const struct disk_usage free_now = read_free_space(&spawner->host);

	image_watch_check(spawner);
	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		if (has_watched_disk(sandbox) && !is_frozen(sandbox) &&
		    needs_disk_measuring(sandbox, &free_now))
			start_disk_measuring(spawner, sandbox, &free_now);
	}
}

/* --- locks --------------------------------------------------------------------------- */

/* Comes before the check of the disk: a sandbox that stays close to its disk limit is measured
 * again and again, and its locks could not be counted in between. Without a memory cgroup
 * JANITOR_MEMORY counts them. */
static void check_locks(struct spawner *spawner)
{
	static const struct disk_usage unused = { 0 };
	uint64_t now = clock_now_ms();

	if (watches_memory(spawner))
		return;
	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		/* is_frozen() comes first: where a quota limits the disk, only this call thaws. */
		if (spawner_sandbox_is_running(sandbox) && !is_frozen(sandbox) &&
		    now >= sandbox->locks.due_ms &&
		    (!lock_watch_could_exceed(&spawner->host, sandbox) ||
		     start_measuring(spawner, sandbox, JANITOR_LOCKS, &unused)))
			sandbox->locks.due_ms = now + MEMORY_MS;
	}
}

/* --- memory -------------------------------------------------------------------------- */

static bool is_memory_measured(const struct spawner *spawner, uint64_t number)
{
	for (size_t i = 0; i < JANITORS_MAX; i++) {
		const struct janitor *janitor = &spawner->janitors[i];

		if (janitor->pid != 0 && janitor->number == number &&
		    (janitor->kind == JANITOR_MEMORY || janitor->kind == JANITOR_SOCKETS))
			return true;
	}
	return false;
}

static bool start_memory_janitor(struct spawner *spawner, const struct spawner_sandbox *sandbox)
{
	enum janitor_kind kind = watches_memory(spawner) ? JANITOR_MEMORY : JANITOR_SOCKETS;
	const struct janitor_job job = { .kind = kind,
		                         .parent = spawner->host.disk.dir,
		                         .name = sandbox->id,
		                         .number = sandbox->number,
		                         .limit = { .bytes = sandbox->limits.memory },
		                         .proc = spawner->host.userns.proc,
		                         .pid = sandbox->pid };
	struct janitor *janitor = spawner_free_janitor_slot(spawner, JANITOR_MEMORY);
	struct error err;

	return janitor != NULL && janitor_start(janitor, &job, &err) == 0;
}

/* A sandbox whose processes all wait has no more memory than before, and is not measured again. The
 * activity is read before the measuring starts, so activity during a measuring leads to another. */
static bool may_have_grown(const struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	uint64_t now = clock_now_ms(), activity;
	bool is_known = process_tree_activity(spawner->host.userns.proc, sandbox->pid, &activity);

	if (is_known && activity == sandbox->activity && now < sandbox->memory_due_ms)
		return false;
	sandbox->activity = activity;
	sandbox->memory_due_ms = is_known ? now + MEMORY_IDLE_MS : 0;
	return true;
}

/* Without a memory controller all sandboxes are measured that have done something. With one, only
 * those whose sockets could exceed the limit are: a cgroup does not count all memory of sockets
 * (usage/sockets.c). */
static bool needs_memory_check(const struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	if (!spawner_sandbox_is_running(sandbox) || is_memory_measured(spawner, sandbox->number))
		return false;
	if (watches_memory(spawner))
		return may_have_grown(spawner, sandbox);
	return clock_now_ms() >= sandbox->sockets_due_ms &&
	       sockets_could_exceed(spawner->host.userns.proc, sandbox->pid,
	                            sandbox->limits.memory);
}

/* There are fewer janitors than sandboxes. A check that finds no free slot continues with the same
 * sandbox next time, so each has its turn. Returns false in that case. */
static bool check_memory(struct spawner *spawner)
{
	for (; spawner->memory_next < spawner->sandbox_top; spawner->memory_next++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[spawner->memory_next];

		if (needs_memory_check(spawner, sandbox) &&
		    !start_memory_janitor(spawner, sandbox)) {
			sandbox->memory_due_ms = 0;
			return false;
		}
	}
	spawner->memory_next = 0;
	return true;
}

/* A sandbox that ends first gets REPLY_ENDED, which is a reply to its other requests, too. */
static void send_owed_reply(struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	const struct engine_reply reply = { .kind = REPLY_LIMITED, .number = sandbox->number };

	if (!sandbox->disk.owes_reply || sandbox->disk.is_changed)
		return;
	sandbox->disk.owes_reply = false;
	replies_add(&spawner->replies, &reply);
}

void limit_watch_result(struct spawner *spawner, uint64_t number,
                        const struct janitor_result *result)
{
	struct spawner_sandbox *sandbox = spawner_find_sandbox(spawner, number);

	if (sandbox == NULL || sandbox->is_dead)
		return;
	if (result->kind == JANITOR_SOCKETS)
		sandbox->sockets_due_ms = clock_now_ms() +
		                          result->cpu_us * (SOCKETS_SHARE - 1) / 1000;
	if (result->kind == JANITOR_DISK || result->kind == JANITOR_LOCKS)
		finish_measuring(sandbox, result->cpu_us);
	if (result->kind == JANITOR_DISK) {
		apply_disk_result(sandbox, result);
		send_owed_reply(spawner, sandbox);
		return;
	}
	if (result->failed) {
		sandbox->memory_due_ms = 0; /* the next check tries again */
		return;
	}
	if (result->usage.bytes > sandbox->limits.memory)
		spawner_sandbox_kill(sandbox, ENGINE_END_OUT_OF_MEMORY);
	if (result->kind != JANITOR_SOCKETS)
		lock_watch_result(sandbox, result->locks);
}

void limit_watch_check(struct spawner *spawner)
{
	uint64_t now = clock_now_ms();

	if (now >= spawner->disk_due_ms) {
		check_locks(spawner);
		check_disk(spawner);
		spawner->disk_due_ms = now + DISK_MS;
	}
	if (now >= spawner->memory_due_ms && check_memory(spawner))
		spawner->memory_due_ms = now + MEMORY_MS;
}
