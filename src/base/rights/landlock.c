#include "base/rights/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The version of the interface that brought a right. Naming an unknown right fails. */
enum {
	VERSION_REFER = 2,
	VERSION_TRUNCATE = 3,
	VERSION_NETWORK = 4,
	VERSION_IOCTL_DEV = 5,
	VERSION_SCOPES = 6,
	RIGHTS_1 = (1 << 13) - 1,
	REFER = 1 << 13, /* rename() and link() between directories; always denied without it */
	TCP_BIND_AND_CONNECT = 1 << 0 | 1 << 1,
	ABSTRACT_SOCKETS_AND_SIGNALS = 1 << 0 | 1 << 1,
};

/* struct landlock_ruleset_attr of version 6, which the installed header may not know. An older
 * kernel accepts members that it does not know if they are 0. */
struct ruleset_attr {
	uint64_t files, network, scopes;
};

long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int open_ruleset(struct landlock *ret, bool is_isolated, struct error *err)
{
	long version = landlock_version();
	struct ruleset_attr attr = { .files = RIGHTS_1 | REFER };

	*ret = (struct landlock){ .ruleset = -1 };
	if (version < VERSION_REFER)
		return 0;
	if (version >= VERSION_TRUNCATE)
		attr.files |= LANDLOCK_TRUNCATE;
	if (version >= VERSION_IOCTL_DEV)
		attr.files |= LANDLOCK_IOCTL_DEV;
	if (is_isolated && version >= VERSION_NETWORK)
		attr.network = TCP_BIND_AND_CONNECT;
	if (is_isolated && version >= VERSION_SCOPES)
		attr.scopes = ABSTRACT_SOCKETS_AND_SIGNALS;
	ret->denied = attr.files;
	ret->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	return ret->ruleset < 0 ? error_sys(err, "Landlock: create a ruleset") : 0;
}

int landlock_open(struct landlock *ret, struct error *err)
{
	return open_ruleset(ret, false, err);
}

int landlock_open_isolated(struct landlock *ret, struct error *err)
{
	return open_ruleset(ret, true, err);
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
