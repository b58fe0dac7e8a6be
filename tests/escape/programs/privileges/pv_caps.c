/* pv_caps - tries to gain capabilities: by capset(), by the inheritable and ambient sets, by
 * securebits, by the bounding set. */
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../try.h"

static long set(unsigned permitted, unsigned effective, unsigned inheritable)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { effective, permitted, inheritable },
		                                  { effective, permitted, inheritable } };

	return syscall(SYS_capset, &head, data);
}

int main(void)
{
	char what[64];

	report("all", set(~0U, ~0U, ~0U));
	report("all inheritable", set(0, 0, ~0U));
	for (unsigned cap = 0; cap <= 40; cap++) {
		if (cap < 32) {
			(void)snprintf(what, sizeof what, "capability %u", cap);
			report(what, set(1U << cap, 1U << cap, 0));
		}
		(void)snprintf(what, sizeof what, "ambient %u", cap);
		report(what, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
		(void)snprintf(what, sizeof what, "bounding %u", cap);
		report(what, prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 ? 0 : (errno = EPERM, -1));
	}
	report("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	report("keep capabilities", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	report("new privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	report("no filter", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
	/* The harmless counterpart: setting empty sets. */
	printf("none %s\n", set(0, 0, 0) == 0 ? "yes" : "no");
	return 0;
}
