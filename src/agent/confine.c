#include "agent/confine.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* Landlock's rights and numbers, by the version that brought them: headers may be older. */
enum {
	RENAMES = 2,    /* version; before it, nothing could be moved to another directory */
	TRUNCATES = 3,  /* version */
	CONTROLS = 5,   /* version */
	FIRST = 0x1fff, /* rights of version 1 */
	REFER = 1 << 13,
	TRUNCATE = 1 << 14,
	IOCTL_DEV = 1 << 15,
	DEVICES = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK,
};

/* --- what the server wants --------------------------------------------------------- */

static int take_filter(struct confine_filter *filter, struct view bytes, const char *name,
                       struct error *err)
{
	if (bytes.len % sizeof filter->code[0] != 0)
		return error_set(err, ERR_INVALID, "%s: not whole instructions of 8 bytes", name);
	filter->count = bytes.len / sizeof filter->code[0];
	if (bytes.len != 0)
		memcpy(filter->code, bytes.ptr, bytes.len);
	return 0;
}

static bool allow_below(int ruleset, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { rights, open(path, O_PATH | O_CLOEXEC) };
	bool added = rule.parent_fd >= 0 && syscall(SYS_landlock_add_rule, ruleset,
	                                            LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;

	if (rule.parent_fd >= 0)
		(void)close(rule.parent_fd);
	return added;
}

static int make_ruleset(int *ret, struct error *err)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	                       LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t rights = FIRST | REFER | (version >= TRUNCATES ? TRUNCATE : 0) |
	                  (version >= CONTROLS ? IOCTL_DEV : 0);

	if (version < RENAMES)
		return 0;
	*ret = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
	if (*ret < 0 || !allow_below(*ret, "/", rights & ~(uint64_t)(DEVICES | IOCTL_DEV)) ||
	    (version >= CONTROLS && !allow_below(*ret, "/dev", IOCTL_DEV)))
		return error_sys(err, "Landlock");
	return 0;
}

int confine_init(struct confine *confine, const struct wire_welcome *welcome, struct error *err)
{
	confine->ruleset = -1;
	if (take_filter(&confine->programs, welcome->programs, "programs", err) < 0 ||
	    take_filter(&confine->workers, welcome->workers, "workers", err) < 0)
		return -1;
	return welcome->flags & WIRE_WELCOME_LANDLOCK ? make_ruleset(&confine->ruleset, err) : 0;
}

/* --- in the child ------------------------------------------------------------------ */

static int load(const struct confine_filter *filter, struct error *err)
{
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} same = { filter->code }; /* the kernel leaves it alone */
	struct sock_fprog program = { (unsigned short)filter->count, same.out };

	if (filter->count != 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                                  SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) < 0)
		return error_sys(err, "filter of system calls");
	return 0;
}

int confine_program(const struct confine *confine, struct error *err)
{
	if (confine->ruleset >= 0 && syscall(SYS_landlock_restrict_self, confine->ruleset, 0) < 0)
		return error_sys(err, "Landlock");
	return load(&confine->programs, err);
}

int confine_worker(const struct confine *confine, struct error *err)
{
	return load(&confine->workers, err);
}
