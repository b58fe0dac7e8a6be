#include "agent/confinement.h"

#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

static int copy_filter(struct confinement_filter *filter, struct view bytes, const char *name,
                       struct error *err)
{
	if (bytes.len % sizeof filter->code[0] != 0)
		return error_set(err, ERR_INVALID,
		                 "%s: the filter has %zu bytes, not a multiple of 8", name,
		                 bytes.len);
	filter->count = bytes.len / sizeof filter->code[0];
	if (bytes.len != 0)
		memcpy(filter->code, bytes.ptr, bytes.len);
	return 0;
}

/* Allows programs everything their user may do with files, except making device nodes, and except
 * ioctl() on devices that are not below /dev: those below it were chosen by the engine, but a
 * directory shared with the host may hold any device. */
static int make_ruleset(struct landlock *ret, struct error *err)
{
	const uint64_t everywhere = LANDLOCK_ALL &
	                            ~(uint64_t)(LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK |
	                                        LANDLOCK_IOCTL_DEV);

	if (landlock_open(ret, err) < 0 || landlock_allow_path(ret, "/", everywhere, err) < 0)
		return -1;
	return landlock_allow_path(ret, "/dev", LANDLOCK_IOCTL_DEV, err);
}

int confinement_init(struct confinement *confine, const struct wire_welcome *welcome,
                     struct error *err)
{
	confine->landlock.ruleset = -1;
	if (copy_filter(&confine->programs, welcome->programs, "programs", err) < 0 ||
	    copy_filter(&confine->workers, welcome->workers, "workers", err) < 0)
		return -1;
	return welcome->flags & WIRE_WELCOME_LANDLOCK ? make_ruleset(&confine->landlock, err) : 0;
}

int confinement_share_domain(struct confinement *confine, struct error *err)
{
	if (landlock_enforce(&confine->landlock, err) < 0)
		return -1;
	landlock_close(&confine->landlock);
	return 0;
}

static int load_filter(const struct confinement_filter *filter, struct error *err)
{
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} same = { filter->code }; /* sock_fprog has no const; the kernel only reads */
	struct sock_fprog program = { (unsigned short)filter->count, same.out };

	/* Without SPEC_ALLOW, kernels before 5.16 turn on the mitigation of speculative store
	 * bypass, which slows programs down and helps only against code in the same process. */
	if (filter->count != 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                                  SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) < 0)
		return error_sys(err, "load the seccomp filter");
	return 0;
}

int confinement_apply_program(const struct confinement *confine, struct error *err)
{
	if (landlock_enforce(&confine->landlock, err) < 0)
		return -1;
	return load_filter(&confine->programs, err);
}

int confinement_apply_worker(const struct confinement *confine, struct error *err)
{
	return load_filter(&confine->workers, err);
}
