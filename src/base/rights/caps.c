#include "base/rights/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* A kernel newer than the installed headers may know more capabilities than CAP_LAST_CAP; the sets
 * have 64. */
enum { LAST_CAPABILITY = 63, HALVES = _LINUX_CAPABILITY_U32S_3 };

/* capget(2) and capset(2) take the 64 bits of each set as two halves. */
struct sets {
	struct __user_cap_data_struct half[HALVES];
};

static int get_sets(struct sets *ret, struct error *err)
{
	struct __user_cap_header_struct self = { _LINUX_CAPABILITY_VERSION_3, 0 };

	if (syscall(SYS_capget, &self, ret->half) < 0)
		return error_sys(err, "read the capabilities");
	return 0;
}

static int set_sets(const struct sets *sets, struct error *err)
{
	struct __user_cap_header_struct self = { _LINUX_CAPABILITY_VERSION_3, 0 };

	if (syscall(SYS_capset, &self, sets->half) < 0)
		return error_sys(err, "give up capabilities");
	return 0;
}

int caps_get(uint64_t *ret, struct error *err)
{
	struct sets sets;

	if (get_sets(&sets, err) < 0)
		return -1;
	*ret = sets.half[0].permitted | (uint64_t)sets.half[1].permitted << 32;
	return 0;
}

int caps_set(uint64_t set, bool inheritable, struct error *err)
{
	struct sets sets;

	for (int i = 0; i < HALVES; i++) {
		uint32_t half = (uint32_t)(set >> 32 * i);

		sets.half[i] = (struct __user_cap_data_struct){
			.effective = half, .permitted = half, .inheritable = inheritable ? half : 0
		};
	}
	return set_sets(&sets, err);
}

int caps_bound_none(struct error *err)
{
	/* EINVAL: this kernel does not have the capability. */
	for (unsigned long c = 0; c <= LAST_CAPABILITY; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0 && errno != EINVAL)
			return error_sys(err, "bound capabilities");
	return 0;
}

int caps_pass_none(struct error *err)
{
	struct error without_setpcap;
	struct sets sets;

	/* Without CAP_SETPCAP the bounding set cannot be changed. Then it was emptied before this
	 * process started, or no_new_privs keeps files and user id 0 from adding capabilities. */
	(void)!caps_bound_none(&without_setpcap);
	/* A kernel without ambient capabilities (gVisor) answers EINVAL. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return error_sys(err, "clear the ambient capabilities");
	if (get_sets(&sets, err) < 0)
		return -1;
	for (int i = 0; i < HALVES; i++)
		sets.half[i].inheritable = 0;
	return set_sets(&sets, err);
}

int caps_drop(struct error *err)
{
	struct sets left;

	if (caps_set(0, false, err) < 0 || get_sets(&left, err) < 0)
		return -1;
	for (int i = 0; i < HALVES; i++)
		if ((left.half[i].effective | left.half[i].permitted | left.half[i].inheritable) !=
		    0)
			return error_set(err, ERR_SYSTEM,
			                 "capabilities are left after giving up all of them");
	return 0;
}
