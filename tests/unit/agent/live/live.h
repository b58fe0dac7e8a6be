/* live.h - tests against the real agent, in a style that waits.
 *
 *   struct live live;
 *   live_start(&live, &(struct live_options){ .is_pid1 = true });
 *   struct live_stream *s = live_exec(&live, "sh", "-c", "echo hi; exit 3");
 *   assert_int_equal(s->exited.code, 3);
 *   CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "hi\n");
 *   live_stop(&live);
 *
 * Every request is a live_stream. live_open() or one of the shorter ways below opens it, and it
 * keeps everything that was received on it until live_stop(). LIVE_UNTIL(live, condition, ms) runs
 * the loop until the condition holds and fails the test if it does not in time; live_wait() waits
 * for the end of one stream. Nothing else runs the loop, so a test can leave many streams open and
 * look at them in any order.
 *
 * The agent is the program that BELLJAR_AGENT names (build/agent/belljar-agent by default). It is
 * started as a child, or as PID 1 of new PID and mount namespaces (and of a user namespace, if the
 * test does not run as root). Its workspace is a new directory, live.workspace. live_agent.c starts
 * and stops the agent, live.c has the requests. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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
	LIVE_MS = 120000, /* time limit for most waits; the machine may be busy */
	LIVE_STREAMS = 1024,
	LIVE_KEEP_MAX = 64 * 1024 * 1024,
};

struct live;
struct live_stream {
	struct live *live;
	struct channel_stream *stream; /* NULL after its end */

	/* what was received: */
	struct buf got[WIRE_CHANNELS]; /* bytes, unless `counts_only` */
	struct buf joined;             /* those of all channels as they came, if `joins` */
	uint64_t bytes[WIRE_CHANNELS]; /* how many */
	uint64_t hash[WIRE_CHANNELS];  /* FNV-1a of them, if `hashes` */
	uint8_t ended;                 /* mask of channels */
	struct buf records;            /* of ENTRIES or MATCHES */
	bool is_started, has_exited, is_over, is_failed;
	uint32_t pid; /* of the program, in the agent's PID namespace */
	struct wire_exited exited;
	struct wire_stats_are stats;
	struct wire_done done; /* if not is_failed */
	char cursor[256];
	enum wire_failure failure; /* if is_failed */
	struct error error;

	/* how the stream is handled; a test may change these at any time: */
	bool counts_only; /* bytes are not kept */
	bool hashes, joins;
	bool holds_back;    /* no credit is given back: the agent has to wait */
	uint8_t sends_on;   /* WIRE_IN, or WIRE_CONTROL_IN */
	struct view input;  /* what is sent, repeatedly, */
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
	uint32_t groups[2];       /* supplementary groups of that user; 0: none */
	bool may_fail;            /* do not wait for READY */
	enum spec_syscalls calls; /* which filter programs get */
	bool is_free;             /* no filters at all, */
	bool has_landlock;        /* and no Landlock, unless this is set */
	struct view programs;     /* not empty: this filter for programs */
	uint32_t agent_uid;       /* not 0: the agent's user id, with three capabilities */
};

struct live {
	struct loop *loop;
	struct channel *channel;
	struct loop_timer *timer;
	pid_t agent; /* in the test's PID namespace; 0: reaped */
	int status;  /* its exit status */
	uint32_t agent_uid;
	enum spec_syscalls calls;
	bool is_free;
	bool is_pid1;
	bool is_ready, has_failed;
	struct error why;
	char workspace[256], made[256];
	struct live_stream *streams[LIVE_STREAMS];
	unsigned count;
};

/* --- the agent (live_agent.c) --- */

void live_start(struct live *live, const struct live_options *options);
/* Closes the channel; the agent must exit because of that. */
void live_stop(struct live *live);

/* The path of the agent's program. */
const char *live_program(void);
/* Whether programs inherit the agent's filter. If not, the agent loads a filter for each. */
bool live_inherits_filter(enum spec_syscalls calls);
/* Starts only the process and returns the test's end of the channel. */
int live_launch(struct live *live, bool is_pid1);
/* Whether the agent exits within the time. Its status is in live->status then. */
bool live_agent_exits(struct live *live, int ms);

/* Whether the test may create PID namespaces. */
bool live_can_be_pid1(void);

/* A user id for tests as root, below 65536 and different for each test program that runs now.
 * Limits of processes per user (RLIMIT_NPROC) of one program then do not stop another one's
 * processes. */
uint32_t live_user(void);

void live_remove_tree(const char *path);

/* --- the loop --- */

void live_poke(void *live); /* an event: makes LIVE_UNTIL() check its condition */
void live_turn(struct live *live, uint64_t ms);
void live_run_ms(struct live *live, uint64_t ms); /* runs the loop so long, whatever happens */

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

/* --- streams in general --- */

/* Fails the test if the stream cannot be opened. */
struct live_stream *live_open(struct live *live, const struct wire_message *request);
void live_say(struct live_stream *s, const struct wire_message *message);

/* Sends `input`, repeatedly, up to so many bytes more, as fast as the agent takes them. */
void live_feed(struct live_stream *s, struct view input, uint64_t bytes);
void live_feed_text(struct live_stream *s, const char *text); /* once */
void live_end_input(struct live_stream *s);

/* Wait for the end of the stream, DONE or FAILED. */
struct live_stream *live_wait(struct live_stream *s);
struct live_stream *live_wait_ms(struct live_stream *s, int ms);
/* Waits for DONE; after FAILED the test fails with the reason. */
struct live_stream *live_check(struct live_stream *s);
/* Waits for FAILED with this reason. */
#define LIVE_CHECK_FAILED(s, want_failure, want_msg)                                               \
	do {                                                                                       \
		struct live_stream *s_ = live_wait(s);                                             \
		assert_true(s_->is_failed);                                                        \
		assert_string_equal(s_->error.msg, (want_msg));                                    \
		assert_int_equal(s_->failure, (want_failure));                                     \
	} while (0)

/* Appends to a buffer; fails the test if it is full. */
void live_keep(struct buf *buf, struct view bytes);

/* --- programs --- */

struct live_run {
	uint8_t flags; /* WIRE_EXEC_* */
	const char *cwd;
	const char *const *env; /* NULL: PATH only */
	uint32_t deadline_ms, grace_ms;
	uint16_t rows, columns;
	const struct wire_limit *limits;
	size_t limit_count;
	const char *input; /* for WIRE_EXEC_STDIN: sent, then END */
	bool keeps_open;   /* no END */
	bool counts_only, hashes, joins, holds_back;
};

void live_add_texts(struct wire_texts *list, struct buf *buf, const char *const *texts);

/* Starts a program and returns at once. argv ends in NULL. */
struct live_stream *live_open_run(struct live *live, const struct live_run *run,
                                  const char *const *argv);

#define LIVE_ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* live_start_run(live, LIVE_RUN(.deadline_ms = 100, .cwd = "/"), "sh", "-c", "...") */
#define LIVE_RUN(...)                  (&(struct live_run){ __VA_ARGS__ })
#define live_start_run(live, run, ...) live_open_run(live, run, LIVE_ARGV(__VA_ARGS__))

/* Runs a program to its end and checks that it was started and has exited. */
#define live_exec(live, ...)                                                                       \
	live_exited(live_open_run(live, &(struct live_run){ 0 }, LIVE_ARGV(__VA_ARGS__)))

struct live_stream *live_exited(struct live_stream *s);
struct live_stream *live_started(struct live_stream *s);
void live_signal(struct live_stream *s, int number);

/* --- files: these wait for the end of the stream, DONE or FAILED --- */

struct live_stream *live_query(struct live *live, const struct wire_message *request);
#define LIVE_QUERY(live, ...) live_query(live, &(struct wire_message){ __VA_ARGS__ })

struct live_stream *live_read_file(struct live *live, const char *path);
struct live_stream *live_write_file(struct live *live, const char *path, struct view bytes);

/* The n-th record that was received, or false. */
bool live_entry(const struct live_stream *s, size_t n, struct wire_entry *ret);
bool live_match(const struct live_stream *s, size_t n, struct wire_match *ret);

/* --- the processes, in the test's PID namespace --- */

/* A number from /proc/PID/status, such as "VmRSS:" in KiB; 0 if there is none. */
unsigned long live_status(pid_t pid, const char *key);
pid_t live_parent(pid_t pid);
bool live_is_below(pid_t pid, pid_t top);

/* The number of the agent's descendants, zombies included; at most `max` are written to pids. */
size_t live_descendants(const struct live *live, pid_t *pids, size_t max);
void live_wait_no_descendants(struct live *live, int ms);

/* Open descriptors of the agent. */
size_t live_agent_fds(const struct live *live);
