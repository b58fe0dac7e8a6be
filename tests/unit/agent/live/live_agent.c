#include <linux/capability.h>

#include "base/fd.h"
#include "base/rights/caps.h"
#include "unit/agent/live/live.h"

static void on_ready(void *ctx)
{
	struct live *live = ctx;

	live_poke(live);
	live->is_ready = true;
}

static void on_channel_failed(void *ctx, const struct error *why)
{
	struct live *live = ctx;

	live_poke(live);
	live->has_failed = true;
	live->why = *why;
}

static const struct channel_events channel_events = { on_ready, on_channel_failed };

const char *live_program(void)
{
	const char *path = getenv("BELLJAR_AGENT");

	return path != NULL ? path : "build/agent/belljar-agent";
}

/* LeakSanitizer traces the agent when it exits, which the filter of programs forbids. */
bool live_inherits_filter(enum spec_syscalls calls)
{
	return filter_is_inherited(calls) && getenv("BELLJAR_AGENT") == NULL;
}

/* In the child: loads the agent's own filter, as the engine does before it executes the agent. */
static void filter_agent(enum spec_syscalls calls)
{
	if (!live_inherits_filter(calls))
		calls = SPEC_SYSCALLS_STRICT;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(filter_for_agent(calls)) < 0)
		_exit(74);
}

/* In the child: becomes the user and keeps three capabilities, which execve() passes on to the
 * agent by the ambient set. */
static void change_user(uint32_t uid)
{
	static const unsigned kept[] = { CAP_SETUID, CAP_SETGID, CAP_KILL };
	uint64_t set = 0;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		set |= CAPS_BIT(kept[i]);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, uid, uid, uid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0 ||
	    caps_set(set | CAPS_BIT(CAP_SETPCAP), true, &err) < 0 || caps_bound_none(&err) < 0)
		_exit(75);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) < 0)
			_exit(76);
	if (caps_set(set, true, &err) < 0)
		_exit(77);
}

/* In the child: executes the agent with the channel as descriptor 3 and no others but 0, 1 and
 * 2. */
static void become_agent(const char *path, int channel, bool is_pid1, const struct live *live,
                         int go)
{
	char *argv[] = { (char[]){ "belljar-agent" }, (char[]){ "3" }, NULL };
	char *env[] = { NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error err;
	int program;
	char c;

	if (is_pid1 && read(go, &c, 1) != 1)
		_exit(70);
	if (is_pid1 && (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	                mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0))
		_exit(71);
	if (dup2(null, STDIN_FILENO) < 0 || fd_renumber((int *const[]){ &channel }, 1, &err) < 0 ||
	    fcntl(channel, F_SETFD, 0) < 0)
		_exit(72);
	/* Opened before the change of user, who may not be able to search the tree's
	 * directories. */
	program = open(path, O_PATH | O_CLOEXEC);
	if (live->agent_uid != 0)
		change_user(live->agent_uid);
	if (!live->is_free)
		filter_agent(live->calls);
	(void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	_exit(73);
}

static void write_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	(void)close(fd);
}

static void map_ids(pid_t pid)
{
	char map[64];

	write_proc(pid, "setgroups", "deny");
	(void)snprintf(map, sizeof map, "%u %u 1", getuid(), getuid());
	write_proc(pid, "uid_map", map);
	(void)snprintf(map, sizeof map, "%u %u 1", getgid(), getgid());
	write_proc(pid, "gid_map", map);
}

int live_launch(struct live *live, bool is_pid1)
{
	AUTO_FREE char *path = realpath(live_program(), NULL);
	bool is_root = geteuid() == 0;
	unsigned long flags = SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER);
	int ends[2], go[2];

	if (path == NULL)
		fail_msg("%s: %s (make build/agent/belljar-agent, or set BELLJAR_AGENT)",
		         live_program(), strerror(errno));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	live->agent = is_pid1 ? (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL) : fork();
	if (live->agent == 0)
		become_agent(path, ends[1], is_pid1, live, go[0]);
	if (live->agent < 0)
		fail_msg("start the agent: %s", strerror(errno));
	if (is_pid1 && !is_root)
		map_ids(live->agent);
	assert_int_equal(write(go[1], "g", 1), 1);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(ends[1]);
	return ends[0];
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void live_remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

uint32_t live_user(void)
{
	static uint32_t uid;

	if (uid == 0)
		uid = 10000 + (uint32_t)getpid() % 50000;
	return uid;
}

/* A test that fails does not reach live_stop(): its directory is removed when the program exits. */
static struct {
	char path[64][256];
	unsigned count;
	pid_t owner;
} made;

static void remove_made(void)
{
	for (unsigned i = 0; i < made.count && made.owner == getpid(); i++)
		if (made.path[i][0] != '\0')
			live_remove_tree(made.path[i]);
}

static void remember_made(const char *path)
{
	if (made.owner == 0)
		(void)atexit(remove_made);
	made.owner = getpid();
	(void)snprintf(made.path[made.count % ARRAY_LEN(made.path)], sizeof made.path[0], "%s",
	               path);
	if (made.count < ARRAY_LEN(made.path) - 1)
		made.count++;
}

static void make_workspace(struct live *live, const struct live_options *options)
{
	if (options->workspace != NULL) {
		(void)snprintf(live->workspace, sizeof live->workspace, "%s", options->workspace);
		return;
	}
	(void)snprintf(live->made, sizeof live->made, "%s/tmp/belljar-live-XXXXXX",
	               options->root != NULL ? options->root : "");
	if (mkdtemp(live->made) == NULL)
		fail_msg("%s: %s", live->made, strerror(errno));
	remember_made(live->made);
	if (options->uid != 0)
		assert_int_equal(chown(live->made, options->uid, options->gid), 0);
	(void)snprintf(live->workspace, sizeof live->workspace, "%s",
	               live->made + (options->root != NULL ? strlen(options->root) : 0));
}

/* An agent without privileges cannot give up the groups it was started with. In a user
 * namespace they all look like 65534. */
static void keep_groups(struct wire_welcome *welcome, struct buf *buf)
{
	gid_t groups[63];
	int count = geteuid() != 0 ? getgroups(63, groups) : -1;
	struct error err;

	for (int i = 0; i < count; i++)
		CHECK_OK(wire_numbers_add(&welcome->groups, buf, groups[i], &err), err);
	if (count >= 0)
		CHECK_OK(wire_numbers_add(&welcome->groups, buf, 65534, &err), err);
}

/* The filters and Landlock that the server asks for, unless the test wants something else. */
static void set_confinement(struct wire_welcome *welcome, const struct live_options *options)
{
	if (!options->is_free || options->has_landlock)
		welcome->flags |= WIRE_WELCOME_LANDLOCK;
	if (options->is_free)
		return;
	if (options->programs.len != 0)
		welcome->programs = options->programs;
	else if (!live_inherits_filter(options->calls))
		welcome->programs = filter_for_programs(options->calls);
	welcome->workers = filter_for_workers();
}

void live_start(struct live *live, const struct live_options *options)
{
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.uid = options->uid != 0 ? options->uid : getuid(),
		.gid = options->uid != 0 ? options->gid : getgid(),
		.root = view_of(options->root != NULL ? options->root : "/"),
	};
	struct error err;
	int fd;

	(void)signal(SIGPIPE, SIG_IGN);
	memset(live, 0, sizeof *live);
	make_workspace(live, options);
	welcome.workspace = view_of(live->workspace);
	set_confinement(&welcome, options);
	buf_init(&groups, 1024);
	keep_groups(&welcome, &groups);
	for (size_t i = 0; i < ARRAY_LEN(options->groups) && options->groups[i] != 0; i++)
		CHECK_OK(wire_numbers_add(&welcome.groups, &groups, options->groups[i], &err), err);
	CHECK_OK(loop_new(&live->loop, &err), err);
	live->timer = loop_timer_new(live->loop, live_poke, live);
	live->agent_uid = options->agent_uid;
	/* The agent's own filter, which "strict" has, allows what any filter of programs does. */
	live->calls = options->programs.len != 0 ? SPEC_SYSCALLS_STRICT : options->calls;
	live->is_free = options->is_free;
	live->is_pid1 = options->is_pid1;
	fd = live_launch(live, options->is_pid1);
	CHECK_OK(channel_new(live->loop, fd, &welcome, &channel_events, live, &live->channel, &err),
	         err);
	if (options->may_fail)
		return;
	LIVE_UNTIL(live, live->is_ready || live->has_failed, LIVE_MS);
	if (live->has_failed)
		fail_msg("the agent did not become ready: %s", live->why.msg);
}

bool live_agent_exits(struct live *live, int ms)
{
	uint64_t end = clock_now_ms() + (uint64_t)ms;

	while (live->agent != 0) {
		pid_t pid = waitpid(live->agent, &live->status, WNOHANG);

		if (pid == live->agent)
			live->agent = 0;
		else if (clock_now_ms() >= end)
			return false;
		else
			(void)usleep(1000);
	}
	return true;
}

static void free_streams(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++) {
		for (unsigned j = 0; j < WIRE_CHANNELS; j++)
			buf_done(&live->streams[i]->got[j]);
		buf_done(&live->streams[i]->records);
		buf_done(&live->streams[i]->joined);
		free(live->streams[i]);
	}
	live->count = 0;
}

void live_stop(struct live *live)
{
	bool ended;

	live->channel = channel_free(live->channel);
	live->timer = loop_timer_free(live->timer);
	live->loop = loop_free(live->loop);
	ended = live_agent_exits(live, LIVE_MS);
	if (!ended) {
		(void)kill(live->agent, SIGKILL);
		(void)waitpid(live->agent, &live->status, 0);
		live->agent = 0;
	}
	free_streams(live);
	if (live->made[0] != '\0')
		live_remove_tree(live->made);
	if (!ended)
		fail_msg("the agent did not exit after its channel was closed");
}

bool live_can_be_pid1(void)
{
	unsigned long flags = SIGCHLD | CLONE_NEWPID | CLONE_NEWNS |
	                      (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	int status = 0;

	if (pid == 0)
		_exit(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		      mount("proc", "/proc", "proc", 0, NULL) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
