#include "agent/user.h"

#include <grp.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rights/caps.h"

static int set_groups(const struct user *user)
{
	gid_t groups[WIRE_GROUPS_MAX];

	for (size_t i = 0; i < user->group_count; i++)
		groups[i] = user->groups[i];
	return setgroups(user->group_count, groups);
}

/* Groups first and the user id last: without uid 0 or CAP_SETGID the groups could not be
 * changed. */
static int change_user(const struct user *user, struct error *err)
{
	if (set_groups(user) < 0)
		return error_sys(err, "give up the agent's groups");
	if (setresgid(user->gid, user->gid, user->gid) < 0)
		return error_sys(err, "become group %u", user->gid);
	if (setresuid(user->uid, user->uid, user->uid) < 0)
		return error_sys(err, "become user %u", user->uid);
	return 0;
}

static bool has_group(const struct user *user, gid_t group)
{
	if (group == user->gid)
		return true;
	for (size_t i = 0; i < user->group_count; i++)
		if (user->groups[i] == group)
			return true;
	return false;
}

/* The agent has the user's ids already. Without privileges setgroups() fails, and a process keeps
 * the groups that the agent was started with: refuse if one of them is not among the user's,
 * because programs would have rights that the server did not grant. */
static int check_groups(const struct user *user, struct error *err)
{
	gid_t groups[WIRE_GROUPS_MAX];
	int count;

	if (set_groups(user) == 0)
		return 0;
	count = getgroups(WIRE_GROUPS_MAX, groups);
	if (count < 0)
		return error_sys(err, "read the agent's groups");
	for (int i = 0; i < count; i++)
		if (!has_group(user, groups[i]))
			return error_set(
			        err, ERR_SYSTEM,
			        "the agent cannot give up group %u: start it without that group, "
			        "or name it among the user's groups",
			        groups[i]);
	return 0;
}

int user_become(const struct user *user, struct error *err)
{
	uid_t ids[6];
	bool same = geteuid() == user->uid && getegid() == user->gid;

	if ((same ? check_groups : change_user)(user, err) < 0 || caps_drop(err) < 0)
		return -1;
	/* The saved and real ids count too: a process that keeps the agent's id as its saved id can
	 * change back to it. */
	if (getresuid(&ids[0], &ids[1], &ids[2]) < 0 || getresgid(&ids[3], &ids[4], &ids[5]) < 0)
		return error_sys(err, "read the process's ids");
	for (int i = 0; i < 6; i++)
		if (ids[i] != (i < 3 ? user->uid : user->gid))
			return error_set(err, ERR_SYSTEM,
			                 "the ids are still those of user %u, group %u", ids[0],
			                 ids[3]);
	return 0;
}
