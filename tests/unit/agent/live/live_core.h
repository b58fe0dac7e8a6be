/* live_core.h - starting and stopping the real agent, and what comes from it. Include live.h,
 * which tells how all of it is used. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/filter/filter.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "unit/test.h"

enum {
	LIVE_MS = 10000, /* the usual patience */
	LIVE_STREAMS = 1024,
	LIVE_KEEP_MAX = 64 * 1024 * 1024,
};

struct live;
struct live_stream {
	struct live *live;
	struct channel_stream *stream; /* NULL when it is over or dropped */

	/* what came: */
	struct buf got[WIRE_CHANNELS]; /* bytes, unless `counts_only` */
	uint64_t bytes[WIRE_CHANNELS]; /* how many */
	uint64_t hash[WIRE_CHANNELS];  /* live_hash() of them, if `hashes` */
	uint8_t ended;                 /* mask of channels */
	struct buf records;            /* of ENTRIES or MATCHES */
	bool is_started, has_exited, is_over, is_failed;
	uint32_t pid; /* of the program, inside */
	struct wire_exited exited;
	struct wire_stats_are stats;
	struct wire_done done; /* if not is_failed */
	char cursor[256];
	enum wire_failure failure; /* if is_failed */
	struct error error;

	/* how it is treated; may be changed at any time: */
	bool counts_only; /* bytes are not kept */
	bool hashes;
	bool holds_back;    /* nothing is given back as credit: the agent has to wait */
	uint8_t sends_on;   /* WIRE_IN, or WIRE_CONTROL_IN */
	struct view input;  /* what is sent, again and again, */
	uint64_t to_send;   /* up to so many bytes; then END, unless keeps_open */
	uint64_t sent;      /* so far */
	uint64_t sent_hash; /* if `hashes` */
	bool keeps_open, said_end;
};

struct live_options {
	bool is_pid1;
	const char *root;         /* NULL: "/" */
	const char *workspace;    /* below root; NULL: a new directory, removed by live_stop() */
	uint32_t uid, gid;        /* 0, 0: those of the test */
	uint32_t groups[2];       /* of that user; 0: none */
	bool may_fail;            /* do not wait for READY */
	enum spec_syscalls calls; /* what programs may */
	bool is_free;             /* anything: no filter for anybody, */
	bool has_landlock;        /* nor Landlock then, unless this is set */
	struct view programs;     /* not empty: this filter, whatever it is */
	uint32_t agent_uid;       /* not 0: the agent is this user, and may just act for another */
};

struct live {
	struct loop *loop;
	struct channel *channel;
	struct loop_timer *timer;
	pid_t agent; /* as seen from outside; 0: it has been waited for */
	int status;  /* of its end */
	uint32_t agent_uid;
	bool is_free;
	bool is_pid1;
	bool is_ready, has_failed;
	struct error why;
	char workspace[256], made[256];
	struct live_stream *streams[LIVE_STREAMS];
	unsigned count;
	struct buf scratch; /* of the request that is being made */
};

/* --- turning the loop --- */

static inline void live_poke(void *ctx) /* something has happened: look again */
{
	loop_stop(((struct live *)ctx)->loop);
}

static inline void live_turn(struct live *live, uint64_t ms)
{
	loop_timer_start(live->timer, ms);
	loop_run(live->loop);
	loop_timer_stop(live->timer);
}

#define LIVE_UNTIL(live, condition, ms)                                                            \
	do {                                                                                       \
		uint64_t end_ = clock_now_ms() + (uint64_t)(ms);                                   \
		while (!(condition)) {                                                             \
			uint64_t now_ = clock_now_ms();                                            \
			if (now_ >= end_)                                                          \
				fail_msg("not within %d ms: %s%s%s", (int)(ms), #condition,        \
				         (live)->has_failed ? "; channel: " : "",                  \
				         (live)->has_failed ? (live)->why.msg : "");               \
			live_turn((live), end_ - now_ < 10 ? end_ - now_ : 10);                    \
		}                                                                                  \
	} while (0)

static inline void live_run_ms(struct live *live, uint64_t ms) /* whatever happens */
{
	uint64_t end = clock_now_ms() + ms;

	for (uint64_t now = end - ms; now < end; now = clock_now_ms())
		live_turn(live, end - now);
}

/* --- what comes --- */

static const uint64_t live_hash_start = 14695981039346656037U;

static inline uint64_t live_hash(uint64_t hash, struct view bytes) /* FNV-1a */
{
	for (size_t i = 0; i < bytes.len; i++)
		hash = (hash ^ (unsigned char)bytes.ptr[i]) * 1099511628211U;
	return hash;
}

static inline void live_keep(struct buf *buf, struct view bytes)
{
	struct error err;

	if (buf_add(buf, bytes, &err) < 0)
		fail_msg("%s came", err.msg);
}

static inline void live_on_message(void *ctx, const struct wire_message *message)
{
	struct live_stream *s = ctx;
	struct view records;

	live_poke(s->live);
	switch ((int)message->type) {
	case WIRE_STARTED:
		s->is_started = true;
		s->pid = message->started.pid;
		return;
	case WIRE_EXITED:
		s->has_exited = true;
		s->exited = message->exited;
		return;
	case WIRE_STATS_ARE:
		s->stats = message->stats_are;
		return;
	case WIRE_ENTRIES:
	case WIRE_MATCHES:
		records = message->records.records;
		live_keep(&s->records, records);
		if (!s->holds_back)
			channel_consumed(s->stream, WIRE_OUT, records.len);
		return;
	default:
		fail_msg("%s came", wire_spec((uint8_t)message->type)->name);
	}
}

static inline void live_on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->bytes[channel] += bytes.len;
	if (s->hashes)
		s->hash[channel] = live_hash(s->hash[channel], bytes);
	if (!s->counts_only)
		live_keep(&s->got[channel], bytes);
	if (!s->holds_back)
		channel_consumed(s->stream, channel, bytes.len);
}

static inline void live_on_ended(void *ctx, uint8_t channel)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->ended |= (uint8_t)(1u << channel);
}

/* The input is a pattern: after its end it starts again. */
static inline void live_on_writable(void *ctx)
{
	struct live_stream *s = ctx;
	size_t n = 1, want = 1;

	while (s->sent < s->to_send && n == want) {
		size_t from = (size_t)(s->sent % s->input.len);
		uint64_t left = s->to_send - s->sent;

		want = s->input.len - from;
		want = left < want ? (size_t)left : want;
		n = channel_send(s->stream, s->sends_on,
		                 (struct view){ s->input.ptr + from, want });
		if (s->hashes)
			s->sent_hash = live_hash(s->sent_hash,
			                         (struct view){ s->input.ptr + from, n });
		s->sent += n;
	}
	if (s->sent == s->to_send && !s->keeps_open && !s->said_end) {
		channel_send_end(s->stream, s->sends_on);
		s->said_end = true;
	}
}

static inline void live_on_done(void *ctx, const struct wire_done *done)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->stream = NULL;
	s->is_over = true;
	s->done = *done;
	(void)snprintf(s->cursor, sizeof s->cursor, "%s", done->cursor.ptr);
	s->done.cursor = view_of(s->cursor);
}

static inline void live_on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->stream = NULL;
	s->is_over = s->is_failed = true;
	s->failure = failure;
	s->error = *why;
}

static const struct channel_stream_events live_stream_events = {
	live_on_message,  live_on_bytes, live_on_ended,
	live_on_writable, live_on_done,  live_on_failed,
};

static inline struct live_stream *live_new_stream(struct live *live)
{
	struct live_stream *s = mem_new(sizeof *s);

	assert_true(live->count < LIVE_STREAMS);
	live->streams[live->count++] = s;
	s->live = live;
	s->sent_hash = live_hash_start;
	for (unsigned i = 0; i < WIRE_CHANNELS; i++) {
		buf_init(&s->got[i], LIVE_KEEP_MAX);
		s->hash[i] = live_hash_start;
	}
	buf_init(&s->records, LIVE_KEEP_MAX);
	return s;
}

static inline void live_on_ready(void *ctx)
{
	struct live *live = ctx;

	live_poke(live);
	live->is_ready = true;
}

static inline void live_on_channel_failed(void *ctx, const struct error *why)
{
	struct live *live = ctx;

	live_poke(live);
	live->has_failed = true;
	live->why = *why;
}

static const struct channel_events live_events = { live_on_ready, live_on_channel_failed };

/* --- the program --- */

static inline const char *live_program(void)
{
	const char *path = getenv("BELLJAR_AGENT");

	return path != NULL ? path : "build/agent/belljar-agent";
}

/* In the child. The agent has a filter from its first moment on. */
static inline void live_filter_agent(void)
{
	struct view bytes = filter_for_agent();
	union {
		const char *in;
		struct sock_filter *out;
	} code = { bytes.ptr };
	struct sock_fprog program = { (unsigned short)(bytes.len / 8), code.out };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(74);
}

/* In the child. Three capabilities, handed down by exec, and nothing that could give others. */
static inline void live_change_user(uint32_t uid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	sets[0].permitted = sets[0].inheritable = 1 << CAP_SETUID | 1 << CAP_SETGID | 1 << CAP_KILL;
	sets[0].effective = sets[0].permitted | 1 << CAP_SETPCAP;
	sets[0].permitted = sets[0].effective;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, uid, uid, uid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0 || syscall(SYS_capset, &header, sets) < 0)
		_exit(75);
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		if (cap < 32 && (sets[0].inheritable & 1u << cap) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			_exit(76);
}

/* In the child. The agent gets the channel as 3 and nothing else but 0, 1 and 2. */
static inline void live_become_agent(const char *path, int channel, bool is_pid1,
                                     const struct live *live, int go)
{
	char *argv[] = { (char[]){ "belljar-agent" }, (char[]){ "3" }, NULL };
	char *env[] = { NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int program;
	char c;

	if (is_pid1 && read(go, &c, 1) != 1)
		_exit(70);
	if (is_pid1 && (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	                mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0))
		_exit(71);
	if (dup2(null, STDIN_FILENO) < 0 || (channel != 3 && dup2(channel, 3) < 0) ||
	    (channel == 3 && fcntl(3, F_SETFD, 0) < 0) || syscall(SYS_close_range, 4, ~0U, 0) < 0)
		_exit(72);
	program = open(path, O_PATH | O_CLOEXEC); /* where it is another user may not look */
	if (live->agent_uid != 0)
		live_change_user(live->agent_uid);
	if (!live->is_free)
		live_filter_agent();
	(void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	_exit(73);
}

static inline void live_write_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	(void)close(fd);
}

static inline void live_map_ids(pid_t pid)
{
	char map[64];

	live_write_proc(pid, "setgroups", "deny");
	(void)snprintf(map, sizeof map, "%u %u 1", getuid(), getuid());
	live_write_proc(pid, "uid_map", map);
	(void)snprintf(map, sizeof map, "%u %u 1", getgid(), getgid());
	live_write_proc(pid, "gid_map", map);
}

/* Returns our end of the channel. */
static inline int live_launch(struct live *live, bool is_pid1)
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
		live_become_agent(path, ends[1], is_pid1, live, go[0]);
	if (live->agent < 0)
		fail_msg("start the agent: %s", strerror(errno));
	if (is_pid1 && !is_root)
		live_map_ids(live->agent);
	assert_int_equal(write(go[1], "g", 1), 1);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(ends[1]);
	return ends[0];
}

static inline int live_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

/* A test that fails does not come to live_stop(): its directory goes when the program ends. */
static struct {
	char path[64][256];
	unsigned count;
	pid_t owner;
} live_made;

static inline void live_remove_made(void)
{
	for (unsigned i = 0; i < live_made.count && live_made.owner == getpid(); i++)
		if (live_made.path[i][0] != '\0')
			(void)nftw(live_made.path[i], live_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void live_remember_made(const char *path)
{
	if (live_made.owner == 0)
		(void)atexit(live_remove_made);
	live_made.owner = getpid();
	(void)snprintf(live_made.path[live_made.count % ARRAY_LEN(live_made.path)],
	               sizeof live_made.path[0], "%s", path);
	if (live_made.count < ARRAY_LEN(live_made.path) - 1)
		live_made.count++;
}

static inline void live_make_workspace(struct live *live, const struct live_options *options)
{
	if (options->workspace != NULL) {
		(void)snprintf(live->workspace, sizeof live->workspace, "%s", options->workspace);
		return;
	}
	(void)snprintf(live->made, sizeof live->made, "%s/tmp/belljar-live-XXXXXX",
	               options->root != NULL ? options->root : "");
	if (mkdtemp(live->made) == NULL)
		fail_msg("%s: %s", live->made, strerror(errno));
	live_remember_made(live->made);
	if (options->uid != 0)
		assert_int_equal(chown(live->made, options->uid, options->gid), 0);
	(void)snprintf(live->workspace, sizeof live->workspace, "%s",
	               live->made + (options->root != NULL ? strlen(options->root) : 0));
}

/* An agent without privileges cannot give up the groups it was started with. In a user
 * namespace they all look like 65534. */
static inline void live_keep_groups(struct wire_welcome *welcome, struct buf *buf)
{
	gid_t groups[63];
	int count = geteuid() != 0 ? getgroups(63, groups) : -1;
	struct error err;

	for (int i = 0; i < count; i++)
		CHECK_OK(wire_numbers_add(&welcome->groups, buf, groups[i], &err), err);
	if (count >= 0)
		CHECK_OK(wire_numbers_add(&welcome->groups, buf, 65534, &err), err);
}

/* As it is in earnest, unless the test wants something else. */
static inline void live_confine(struct wire_welcome *welcome, const struct live_options *options)
{
	if (!options->is_free || options->has_landlock)
		welcome->flags |= WIRE_WELCOME_LANDLOCK;
	if (options->is_free)
		return;
	welcome->programs = options->programs.len != 0 ? options->programs
	                                               : filter_for_programs(options->calls);
	welcome->workers = filter_for_workers();
}

static inline void live_start(struct live *live, const struct live_options *options)
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
	buf_init(&live->scratch, 256 * 1024);
	live_make_workspace(live, options);
	welcome.workspace = view_of(live->workspace);
	live_confine(&welcome, options);
	buf_init(&groups, 1024);
	live_keep_groups(&welcome, &groups);
	for (size_t i = 0; i < ARRAY_LEN(options->groups) && options->groups[i] != 0; i++)
		CHECK_OK(wire_numbers_add(&welcome.groups, &groups, options->groups[i], &err), err);
	CHECK_OK(loop_new(&live->loop, &err), err);
	live->timer = loop_timer_new(live->loop, live_poke, live);
	live->agent_uid = options->agent_uid;
	live->is_free = options->is_free;
	live->is_pid1 = options->is_pid1;
	fd = live_launch(live, options->is_pid1);
	CHECK_OK(channel_new(live->loop, fd, &welcome, &live_events, live, &live->channel, &err),
	         err);
	if (options->may_fail)
		return;
	LIVE_UNTIL(live, live->is_ready || live->has_failed, LIVE_MS);
	if (live->has_failed)
		fail_msg("the agent did not become ready: %s", live->why.msg);
}

/* The agent has ended by itself within the time; its status is in live->status. */
static inline bool live_agent_ends(struct live *live, int ms)
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

static inline void live_free_streams(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++) {
		for (unsigned j = 0; j < WIRE_CHANNELS; j++)
			buf_done(&live->streams[i]->got[j]);
		buf_done(&live->streams[i]->records);
		free(live->streams[i]);
	}
	live->count = 0;
}

/* Closes the channel; the agent must end by itself because of it. */
static inline void live_stop(struct live *live)
{
	bool ended;

	live->channel = channel_free(live->channel);
	live->timer = loop_timer_free(live->timer);
	live->loop = loop_free(live->loop);
	ended = live_agent_ends(live, 5000);
	if (!ended) {
		(void)kill(live->agent, SIGKILL);
		(void)waitpid(live->agent, &live->status, 0);
		live->agent = 0;
	}
	live_free_streams(live);
	buf_done(&live->scratch);
	if (live->made[0] != '\0')
		(void)nftw(live->made, live_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (!ended)
		fail_msg("the agent did not end within 5 s after its channel");
}

/* For setup and teardown of groups: is there a kernel that lets us make namespaces? */
static inline bool live_can_be_pid1(void)
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
