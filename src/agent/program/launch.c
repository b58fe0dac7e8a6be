#include "agent/program/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"

#include "base/error.h"
#include "base/rights/caps.h"
#include "base/tree/open_child.h"

static int change_groups(const struct user *user)
{
	gid_t groups[WIRE_GROUPS_MAX];

	for (size_t i = 0; i < user->group_count; i++)
		groups[i] = user->groups[i];
	return setgroups(user->group_count, groups);
}

static int change_user(const struct user *user, struct error *err)
{
	if (change_groups(user) < 0)
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

/* The agent is that user already. Without privileges one can only stay what one is: then its
 * groups must be what was asked for. */
static int stay_user(const struct user *user, struct error *err)
{
	gid_t groups[WIRE_GROUPS_MAX];
	int count;

	if (change_groups(user) == 0)
		return 0;
	count = getgroups(WIRE_GROUPS_MAX, groups);
	if (count < 0)
		return error_sys(err, "the agent's groups");
	for (int i = 0; i < count; i++)
		if (!has_group(user, groups[i]))
			return error_set(err, ERR_SYSTEM,
			                 "the agent cannot give up group %u: start it without, "
			                 "or name it among the user's groups",
			                 groups[i]);
	return 0;
}

int become(const struct user *user, struct error *err)
{
	uid_t ids[6];
	bool same = geteuid() == user->uid && getegid() == user->gid;

	if ((same ? stay_user : change_user)(user, err) < 0 || caps_drop(err) < 0)
		return -1;
	if (getresuid(&ids[0], &ids[1], &ids[2]) < 0 || getresgid(&ids[3], &ids[4], &ids[5]) < 0)
		return error_sys(err, "look who I am");
	for (int i = 0; i < 6; i++)
		if (ids[i] != (i < 3 ? user->uid : user->gid))
			return error_set(err, ERR_SYSTEM, "still user %u, group %u", ids[0],
			                 ids[3]);
	return 0;
}

static int become_user_of(const struct program *program, struct error *err)
{
	const struct wire_exec *exec = program->exec;
	struct user user = *program->user;

	if (exec->uid != WIRE_SAME_ID)
		user.uid = exec->uid;
	if (exec->gid != WIRE_SAME_ID)
		user.gid = exec->gid;
	if (exec->uid != WIRE_SAME_ID || exec->groups.count != 0) {
		user.group_count = exec->groups.count;
		for (size_t i = 0; i < user.group_count; i++)
			user.groups[i] = wire_number_at(&exec->groups, i);
	}
	return become(&user, err);
}

/* The agent's own allowance of descriptors is not the program's. */
static int set_limits(const struct program *program, struct error *err)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = program->files;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	for (size_t i = 0; i < program->exec->limits.count; i++) {
		struct wire_limit limit = wire_limit_at(&program->exec->limits, i);
		struct rlimit value = { limit.soft, limit.hard };

		if (setrlimit(limit.resource, &value) < 0)
			return error_sys(err, "limit %u of %llu", limit.resource,
			                 (unsigned long long)limit.soft);
	}
	return 0;
}

/* A small limit of descriptors must not be used up before the program is there. */
static void close_joined(const struct program *program)
{
	(void)close(program->in);
	(void)close(program->out);
	(void)close(program->err);
	if (program->control < 0)
		(void)close(program->agent);
	else
		(void)close(program->control);
}

static int join_fds(const struct program *program, struct error *err)
{
	if (setsid() < 0)
		return error_sys(err, "begin a session");
	if (program->terminal && ioctl(program->in, TIOCSCTTY, 0) < 0)
		return error_sys(err, "take the terminal");
	if (dup2(program->in, 0) < 0 || dup2(program->out, 1) < 0 || dup2(program->err, 2) < 0)
		return error_sys(err, "join stdin, stdout and stderr");
	if (program->control >= 0 && dup2(program->control, 3) < 0)
		return error_sys(err, "join descriptor 3");
	close_joined(program);
	return 0;
}

static int enter_directory(const struct program *program, struct error *err)
{
	static char path[2 * (WIRE_PATH_MAX + 1)];
	struct view cwd = program->exec->cwd;
	int fd;

	if (cwd.len != 0 && cwd.ptr[0] == '/')
		(void)snprintf(path, sizeof path, "%s", cwd.ptr);
	else
		(void)snprintf(path, sizeof path, "%s/%s", program->workspace, cwd.ptr);
	fd = open_resolved(program->root, path, O_PATH | O_DIRECTORY, 0,
	                   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fchdir(fd) < 0)
		return error_sys(err, "cwd %s", cwd.len != 0 ? cwd.ptr : program->workspace);
	return 0;
}

/* Whatever a program eats up, it goes before the agent does. As far as we may: in /proc we are
 * root's unless others may look into us, and that they may while nobody else is our user. */
static void be_first_to_die(const struct program *program)
{
	bool is_other = geteuid() != program->user->uid;
	int fd;

	if (is_other)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = openat(program->proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (is_other)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	(void)close(fd);
}

static void reset_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static char **pointers(const struct wire_texts *texts, char **out)
{
	struct view rest = texts->items, text;
	size_t n = 0;

	while (wire_texts_next(&rest, &text)) {
		union {
			const char *in;
			char *out;
		} same = { text.ptr }; /* execve takes char *, and leaves them alone */

		out[n++] = same.out;
	}
	out[n] = NULL;
	return out;
}

static int run_program(const struct program *program, struct error *err)
{
	static char *argv[WIRE_ARGS_MAX + 1], *env[WIRE_ARGS_MAX + 1];

	pointers(&program->exec->argv, argv);
	environ = pointers(&program->exec->env, env); /* PATH is looked for in it */
	if (argv[0] == NULL || argv[0][0] == '\0')
		return error_set(err, ERR_INVALID, "argv: the program's name is empty");
	(void)execvp(argv[0], argv);
	return error_sys(err, "%s", argv[0]);
}

void launch(const struct program *program, int report)
{
	struct error err;

	(void)umask(program->exec->umask);
	(void)setpriority(PRIO_PROCESS, 0, program->nice);
	reset_signals();
	be_first_to_die(program);
	if (join_fds(program, &err) == 0 && set_limits(program, &err) == 0 &&
	    become_user_of(program, &err) == 0 && enter_directory(program, &err) == 0 &&
	    confine_program(program->confine, &err) == 0)
		(void)run_program(program, &err);
	(void)!write(report, &err, sizeof err);
	_exit(127);
}
