/* pv_limits - tries to raise limits and priority, and to get real-time scheduling and locked
 * memory. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../try.h"

enum { IDLE_CLASS = 3, REALTIME_CLASS = 1, SHIFT = 13 };

/* Some calls report success without effect: the limit itself is compared. */
static long raise_limit(__rlimit_resource_t resource)
{
	struct rlimit after, all = { RLIM_INFINITY, RLIM_INFINITY };
	long result = setrlimit(resource, &all);

	if (result == 0 && prlimit(0, resource, NULL, &after) == 0 &&
	    after.rlim_max != RLIM_INFINITY)
		errno = EPERM, result = -1;
	return result;
}

int main(void)
{
	static const int hard[] = { RLIMIT_CORE,    RLIMIT_NOFILE,   RLIMIT_FSIZE,
		                    RLIMIT_NPROC,   RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING,
		                    RLIMIT_MEMLOCK, RLIMIT_RTPRIO,   RLIMIT_NICE };
	struct sched_param first = { .sched_priority = 1 };
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY }, few;
	char what[64];

	for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
		(void)snprintf(what, sizeof what, "limit %d", hard[i]);
		report(what, raise_limit((__rlimit_resource_t)hard[i]));
		(void)snprintf(what, sizeof what, "limit %d of the agent", hard[i]);
		report(what, syscall(SYS_prlimit64, 1, hard[i], &all, NULL));
	}
	report("nice -20", setpriority(PRIO_PROCESS, 0, -20));
	report("nice -1", setpriority(PRIO_PROCESS, 0, -1));
	report("nice of all of the user", setpriority(PRIO_USER, 0, -1));
	report("nice of the agent", setpriority(PRIO_PROCESS, 1, 19));
	report("fifo", sched_setscheduler(0, SCHED_FIFO, &first));
	report("round robin", sched_setscheduler(0, SCHED_RR, &first));
	report("real-time input", syscall(SYS_ioprio_set, 1, 0, REALTIME_CLASS << SHIFT));
	report("lock much memory",
	       mlock(mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	             64 << 20));
	/* The harmless counterparts: lowering is always allowed. */
	(void)getrlimit(RLIMIT_NOFILE, &few);
	few.rlim_cur = few.rlim_max = 64;
	printf("fewer files %s, nicer %s, idle %s, lock a little %s\n",
	       setrlimit(RLIMIT_NOFILE, &few) == 0 ? "yes" : "no",
	       setpriority(PRIO_PROCESS, 0, 15) == 0 ? "yes" : "no",
	       syscall(SYS_ioprio_set, 1, 0, IDLE_CLASS << SHIFT) == 0 ? "yes" : "no",
	       mlock(what, sizeof what) == 0 ? "yes" : "no");
	return 0;
}
