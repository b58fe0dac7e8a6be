#include "server/confine.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/filter/filter.h"
#include "engine/native/ids/ids.h"

enum { SERVER_ID = 524289 };

uid_t confine_id(void)
{
	return idmap_has(SERVER_ID) ? SERVER_ID : 0;
}

static int drop_root(struct error *err)
{
	uid_t id = confine_id();

	if (id == 0)
		return 0;
	/* Groups first: a process that is no longer root may not change them. setresuid() also sets
	 * the saved id, so that root cannot be regained. */
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return error_sys(err, "change to user %u", id);
	return 0;
}

static int filter_syscalls(struct error *err)
{
	if (filter_load(filter_for_programs(SPEC_SYSCALLS_STANDARD)) < 0)
		return error_sys(err, "install the server's seccomp filter");
	return 0;
}

int confine_server(struct error *err)
{
	if (geteuid() == 0 && drop_root(err) < 0)
		return -1;
#ifdef __SANITIZE_ADDRESS__
	return 0; /* LeakSanitizer attaches with ptrace and makes calls that the filter refuses */
#endif
	/* A dumpable process can be read with ptrace and /proc/PID/mem by every process of the same
	 * user, and messages of clients may contain tokens. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	return filter_syscalls(err);
}
