/* lock_watch.c - whether a sandbox could hold too many record locks. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/native/spawner/internal.h"

/* More locks than a program can take in a microsecond: the fastest processors need about 0.4 us for
 * one. */
enum { LOCKS_PER_US = 5 };

int lock_watch_open(void)
{
	return open("/sys/kernel/slab/file_lock_cache/total_objects", O_RDONLY | O_CLOEXEC);
}

/* A number that grows by one or more with each lock that the sandbox takes; 0: not known. Where the
 * kernel's number of file locks is not readable, the processor time of the sandbox says how many
 * locks it may have taken. */
static uint64_t read_possible_locks(const struct host_resources *host,
                                    const struct spawner_sandbox *sandbox)
{
	char text[64];
	ssize_t n = host->lock_objects >= 0 ? pread(host->lock_objects, text, sizeof text - 1, 0)
	                                    : -1;

	if (n <= 0)
		return cgroup_counters_now(&sandbox->cgroup).cpu_us * LOCKS_PER_US;
	text[n] = '\0';
	return strtoull(text, NULL, 10);
}

void lock_watch_start(const struct host_resources *host, struct spawner_sandbox *sandbox)
{
	sandbox->locks = (struct lock_watch){ .before = read_possible_locks(host, sandbox) };
}

bool lock_watch_could_exceed(const struct host_resources *host, struct spawner_sandbox *sandbox)
{
	struct lock_watch *locks = &sandbox->locks;
	uint64_t now = read_possible_locks(host, sandbox);

	/* Locks that other processes have given back must not hide those of this sandbox. */
	if (now < locks->before)
		locks->before = now;
	locks->next = now;
	return now == 0 || locks->used + (now - locks->before) > SPEC_LOCKS_MAX;
}

void lock_watch_result(struct spawner_sandbox *sandbox, uint64_t used)
{
	sandbox->locks.used = used;
	sandbox->locks.before = sandbox->locks.next;
	if (used > SPEC_LOCKS_MAX)
		spawner_sandbox_kill(sandbox, ENGINE_END_LOCK_LIMIT);
}
