#include "agent/caps.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

static struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

int caps_keep_to_myself(struct error *err)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	unsigned long cap = 0;

	/* If we may; otherwise whoever started us has, or has none to bound. */
	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capget, &header, sets) < 0)
		return error_sys(err, "capabilities");
	sets[0].inheritable = sets[1].inheritable = 0;
	if (syscall(SYS_capset, &header, sets) < 0)
		return error_sys(err, "capabilities");
	return 0;
}

int caps_drop(struct error *err)
{
	static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	struct __user_cap_data_struct left[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capset, &header, none) < 0 || syscall(SYS_capget, &header, left) < 0)
		return error_sys(err, "give up capabilities");
	if (memcmp(left, none, sizeof none) != 0)
		return error_set(err, ERR_SYSTEM, "there are capabilities left");
	return 0;
}
