/* engine.h - the interface of an engine: the module that creates sandboxes and ends them.
 *
 * An engine starts a sandbox (a new one, or a sleeping one whose files exist), hands over one end
 * of a byte stream to the agent inside, changes limits, kills everything in the sandbox, and erases
 * its files. One that has images also adds Python to an image. Everything else, from running a
 * program to reading a file, goes over that byte stream (PROTOCOL.md) and is the same for every
 * engine.
 *
 * Life cycle of a sandbox that is awake, a "box":
 *
 *   start() = -1                              refused at once; no box, no event
 *   start() = 0  -> failed                    the sandbox could not be started
 *   start() = 0  -> started -> ended          the usual order; kill() makes `ended` come
 *   start() = 0  -> ended                     killed before it had started
 *   start() = 0  -> [started] -> release()    the caller wants no further event
 *
 * Rules every engine keeps and every caller relies on:
 *
 * - Each operation returns at once and never blocks. Events and completion callbacks come from the
 *   event loop, never from within the operation that causes them.
 * - Exactly one of `failed` and `ended` comes for each box that is not released. That event is the
 *   box's last one, and the box is invalid from the moment of the call.
 * - The engine owns its boxes. The caller holds the pointer from start() until the last event or
 *   release(), and passes it to no operation afterwards.
 * - `events` and `ctx` are the caller's and stay valid until then; the spec is copied.
 * - When `ended` is called, no process of the sandbox runs any more.
 * - If the engine itself fails (its helper process died, its daemon is unreachable), every box ends
 *   with ENGINE_END_ENGINE_LOST, pending calls of the other operations fail, and all operations
 *   that can fail return -1.
 *
 * The process that creates sandboxes is not the server, which has no rights: it is the spawner of
 * the native engine, or the broker of the Docker engine, and src/engine/remote is the server's side
 * of both.
 *
 * To add an engine: give it a folder below src/engine with a row in ARCHITECTURE.md's table, and a
 * process that speaks src/engine/remote/messages.h; remote.c there implements this interface for
 * every engine. Apply every field of struct spec or report why it cannot be applied (report.h): a
 * limit that silently does not hold is a bug. Start the agent's program (agent_image.h) as PID 1 of
 * the sandbox. The server learns of the engine in these places:
 *
 *   src/server/options/options.h            a value of enum engine_choice
 *   src/server/options/option_words.h       its word, for --engine
 *   src/server/options/option_specs.c       the help of --engine, and options of its own
 *   src/server/runtime/runtime_prepare.c    a row of runtime_engines: its words, what forks its
 *                                           process before the server is confined
 *   src/server/runtime/runtime_docker.c     runtime_choose_engine(): whether `auto` may choose it
 *   src/server/doctor/doctor_trial.c        trial_run(): the steps that are tried if it fails
 *   src/server/doctor/doctor.c              layers that only this engine has, or lacks
 *
 * Its process is started with helper_start(), begins with helper_begin() and sends its report with
 * replies_add_report(); src/engine/docker/broker.c is the shorter of the two examples.
 *
 * src/sandbox calls the operations (sandbox.c starts and kills, sandbox_update.c sets limits,
 * sandbox_end.c erases and releases, sweep.c lists and erases, sandbox_python.c adds Python), and
 * src/server/runtime/runtime.c creates and frees the engine, all on the one thread of the loop. The
 * order is: constructor, list, then start, kill and erase in any order, free.
 *
 * `channel` in the event `started` is a connected stream socket with close-on-exec; it may be
 * blocking or not. The agent has the other end as descriptor 3, or its standard input and output
 * lead there. Inside, the agent needs to be PID 1 with a /proc of its own PID namespace, the
 * capabilities CAP_SETUID, CAP_SETGID and CAP_KILL unless agent and programs share one id, and
 * SPEC_WORKSPACE, SPEC_HOME and /tmp writable for the user of programs. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "engine/spec.h"

struct engine;
struct engine_box; /* one sandbox that is awake or being started; each engine defines its own */
struct error;

/* Why a sandbox is no longer awake. */
enum engine_end {
	ENGINE_END_KILLED,        /* kill() was called */
	ENGINE_END_AGENT_DIED,    /* the agent exited or was killed from outside */
	ENGINE_END_OUT_OF_MEMORY, /* the kernel killed the agent at the memory limit */
	ENGINE_END_DISK_LIMIT,    /* the sandbox wrote more than its disk limit */
	ENGINE_END_INODE_LIMIT,   /* the sandbox made more files than its limit */
	ENGINE_END_LOCK_LIMIT,    /* the sandbox held more than SPEC_LOCKS_MAX record locks */
	ENGINE_END_ENGINE_LOST,   /* the engine itself failed */
};

/* Counters of the kernel since the sandbox was started; 0 where the kernel has no such counter. */
struct engine_counters {
	uint64_t memory_now, memory_peak; /* bytes */
	uint64_t cpu_us;
	uint64_t pids_now;
	uint64_t memory_kills; /* processes killed at the memory limit */
	uint64_t pids_refused; /* forks that failed at the process limit */
};

enum { ENGINE_PATH_SIZE = 1024 };

/* The sandbox's user as seen inside: the agent gets the ids in WELCOME. */
struct engine_user {
	uint32_t uid, gid;
	/* The agent runs under the same ids as the programs, because the engine had only one id
	 * to give. Signals and ptrace then do not separate the two. */
	bool is_agent;
	/* Every process in the sandbox runs under the seccomp filter of programs, the agent too. */
	bool is_filtered;
	char path[ENGINE_PATH_SIZE]; /* PATH of the image's programs; "": the usual one */
};

/* The progress of work before a sandbox can start, such as the pull of an image. */
struct engine_progress {
	char text[160];       /* one printable line: "pulling python:3" */
	uint64_t done, total; /* bytes; a total of 0 is not known */
};

struct engine_events {
	/* Any number of times before the others. NULL: not wanted. */
	void (*progress)(void *ctx, const struct engine_progress *progress);
	/* The agent's program is running. The callee owns `channel`, the stream socket to it. */
	void (*started)(void *ctx, int channel, const struct engine_user *user);
	/* The sandbox was not started; nothing of it runs. The last event. */
	void (*failed)(void *ctx, const struct error *why);
	/* Nothing in the sandbox runs any more. `why` is a clause for users: "its agent exited".
	 * The last event. */
	void (*ended)(void *ctx, enum engine_end end, const char *why);
};

/* image NULL: there is none, for the reason *why. */
typedef void engine_image_fn(void *ctx, const char *image, const struct error *why);

struct engine_ops {
	const char *name; /* stored with each sandbox, and shown to users */
	/* Where the programs of sandboxes come from, for users: "on this machine". */
	const char *programs_place;
	/* Starts the sandbox that the spec describes: creates its files if spec->fresh, else
	 * uses those that exist. Checks the spec with spec_check(). */
	int (*start)(struct engine *engine, const struct spec *spec,
	             const struct engine_events *events, void *ctx, struct engine_box **ret,
	             struct error *err);
	/* Kills every process of the sandbox; `ended` follows. May be called more than once. */
	void (*kill)(struct engine_box *box);
	/* False: there are no counters for this box. Each counter is a small file. Before and after
	 * every run only memory_kills and pids_refused are read. */
	bool (*read_counters)(struct engine_box *box, bool only_refusals,
	                      struct engine_counters *ret);
	/* Changes the limits on memory, processors, processes and disk of a box that has started;
	 * one change at a time. done(ctx, NULL): the new limits hold. done() with an error: the old
	 * limits hold, or the box has ended. done() is not called after release(). */
	int (*set_limits)(struct engine_box *box, const struct spec_limits *limits,
	                  void (*done)(void *ctx, const struct error *err), void *ctx,
	                  struct error *err);
	/* Kills the sandbox without any further event, and ends the use of `box`. */
	void (*release)(struct engine_box *box);
	/* Erases the files of a sandbox. If it was killed but has not ended yet, the erasing
	 * waits for that, and done() is called after `ended`. done(ctx, NULL): no file of the
	 * sandbox can be found under its id any more. */
	int (*erase)(struct engine *engine, const char *id,
	             void (*done)(void *ctx, const struct error *err), void *ctx,
	             struct error *err);
	/* Makes an image that is the one of a box that has started, with Python in addition; or
	 * finds the one that it has made for the same owner before. The package manager of the
	 * image installs Python in a short-lived container of its own, which has no network but the
	 * loopback interface of the box: `proxy` is the URL of a gate that listens there. done(ctx,
	 * image, NULL): the name of the new image, for struct spec. The end of the box ends the
	 * installation: done() is called with an error before `ended`. */
	int (*add_python)(struct engine *engine, const char *id, const char *proxy,
	                  engine_image_fn *done, void *ctx, struct error *err);
	/* Calls each() with the id of every sandbox that has files, then with NULL. The NULL
	 * does not come if the engine is lost meanwhile: the list was incomplete. */
	void (*list)(struct engine *engine, void (*each)(void *ctx, const char *id), void *ctx);
	/* Kills all sandboxes and frees the engine with all boxes. No event follows. */
	void (*free)(struct engine *engine);
};

/* The first member of every engine's own struct. */
struct engine {
	const struct engine_ops *ops;
};
