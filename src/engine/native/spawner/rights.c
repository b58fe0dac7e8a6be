#include "engine/native/spawner/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

enum { LAST_CAPABILITY = 63 };

int rights_set(uint64_t capabilities, bool inheritable, struct error *err)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(capabilities >> 32 * i);

		data[i] = (struct __user_cap_data_struct){ half, half, inheritable ? half : 0 };
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return error_sys(err, "give up capabilities");
	return 0;
}

int rights_bound_none(struct error *err)
{
	for (unsigned long c = 0; c <= LAST_CAPABILITY; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0 && errno != EINVAL)
			return error_sys(err, "bound capabilities");
	return 0;
}

/* Some of these may be missing where we are: what is not there is not kept. */
int rights_for_spawner(struct error *err)
{
	static const unsigned needed[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
		                           CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETUID, CAP_SETGID,
		                           CAP_SETFCAP, CAP_SYS_ADMIN, CAP_SYS_PTRACE,
		                           /* so that nobody inside can undo FIRST_TO_GO */
		                           CAP_SYS_RESOURCE };
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	uint64_t keep = 0, have;

	if (syscall(SYS_capget, &head, data) < 0)
		return error_sys(err, "look at capabilities");
	have = data[0].permitted | (uint64_t)data[1].permitted << 32;
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		keep |= UINT64_C(1) << needed[i];
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "refuse new privileges");
	if (rights_bound_none(err) < 0)
		return -1;
	return rights_set(keep & have, false, err);
}
