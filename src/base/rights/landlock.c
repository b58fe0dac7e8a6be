#include "base/rights/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The version of the interface that brought a right. Naming an unknown right fails. */
enum {
	VERSION_REFER = 2,
	VERSION_TRUNCATE = 3,
	VERSION_IOCTL_DEV = 5,
	RIGHTS_1 = (1 << 13) - 1,
	REFER = 1 << 13, /* rename() and link() between directories; always denied without it */
	TRUNCATE = 1 << 14,
};

long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

int landlock_open(struct landlock *ret, struct error *err)
{
	long version = landlock_version();
	/* The first member of struct landlock_ruleset_attr; the kernel takes those after it for
	 * 0. */
	uint64_t denied = RIGHTS_1 | REFER;

	*ret = (struct landlock){ .ruleset = -1 };
	if (version < VERSION_REFER)
		return 0;
	if (version >= VERSION_TRUNCATE)
		denied |= TRUNCATE;
	if (version >= VERSION_IOCTL_DEV)
		denied |= LANDLOCK_IOCTL_DEV;
	ret->denied = denied;
	ret->ruleset = (int)syscall(SYS_landlock_create_ruleset, &denied, sizeof denied, 0);
	return ret->ruleset < 0 ? error_sys(err, "Landlock: create a ruleset") : 0;
}

void landlock_close(struct landlock *landlock)
{
	if (landlock->ruleset >= 0)
		(void)close(landlock->ruleset);
	landlock->ruleset = -1;
}

int landlock_allow(const struct landlock *landlock, int fd, uint64_t rights, struct error *err)
{
	const struct landlock_path_beneath_attr rule = { rights & landlock->denied, fd };

	/* The kernel refuses a rule without rights (ENOMSG). */
	if (landlock->ruleset < 0 || rule.allowed_access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, landlock->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
	            0) < 0)
		return error_sys(err, "Landlock: add a rule");
	return 0;
}

int landlock_allow_path(const struct landlock *landlock, const char *path, uint64_t rights,
                        struct error *err)
{
	AUTO_FD int fd = -1;

	if (landlock->ruleset < 0 || (rights & landlock->denied) == 0)
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "Landlock: open %s", path);
	return landlock_allow(landlock, fd, rights, err);
}

int landlock_enforce(const struct landlock *landlock, struct error *err)
{
	if (landlock->ruleset >= 0 && syscall(SYS_landlock_restrict_self, landlock->ruleset, 0) < 0)
		return error_sys(err, "Landlock: enforce a ruleset");
	return 0;
}
