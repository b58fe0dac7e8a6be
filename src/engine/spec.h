/* spec.h - the specification of a sandbox: its limits, its rights, and the host's directories and
 * devices in it, in terms that every engine can apply.
 *
 * A spec is a plain value without pointers. The server fills one (spec_default(), then the options
 * and the arguments of a tool), checks it with spec_check(), stores it in the registry and hands it
 * to an engine. The native engine sends the bytes to the spawner, a process with more rights than
 * the server, which therefore calls spec_check() again. Nothing in a spec comes from inside a
 * sandbox.
 *
 * To add a limit, begin with a row of SPEC_LIMITS, which gives it a field in struct spec_limits, a
 * default and a range. Then, in every case:
 *
 *   src/sandbox/registry/registry.c             a migration that adds the column `limit_NAME`
 *   src/server/options/options.h                OPTION_NAME and OPTION_NAME_MAX, each in the place
 *                                               that the row has in SPEC_LIMITS
 *   src/server/options/option_specs.c           their row LIMIT(); a unit test compares the ranges
 *   src/tools/support/sandbox_json.c            its member in answers
 *   the native engine, one of
 *     src/engine/native/cgroup                  a cgroup controller enforces the limit
 *     src/engine/native/spawner/child_setup.c   an rlimit does
 *     src/engine/native/root/mount_plan.c       a file below /proc/sys does
 *     src/engine/native/usage                   belljar has to measure
 *   src/engine/docker/container.c               the Docker engine: a member of the container's JSON
 *   src/engine/native/spawner/spawner_report.c  whether it is enforced: a layer of the report
 *   src/engine/docker/layers.c                  likewise
 *   doc/belljar.1.in                            the table of limits
 *
 * And if it applies:
 *
 *   src/server/runtime/machine.c                how much of it this machine has, if that is known
 *   src/server/runtime/ceilings.c               the share of the machine that is its ceiling, if
 *                                               that is not all of it
 *   src/tools/support/sandbox_args.h            an argument of the tools, if creators may choose it
 *   src/sandbox/run/limit_check.c               tells a program's caller that it met the limit, if
 *                                               the kernel counts that
 *   src/tools/run/answer/run_hint.c             the messages that programs print when they meet it,
 *                                               for a hint with the limit's name and value
 *
 * A limit that update_sandbox changes has further places: REQUEST_LIMIT in
 * src/engine/remote/messages.h leads to them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

enum {
	SPEC_ID_LEN = 29, /* "sb_" and 128 random bits in base 32 */
	SPEC_MOUNTS_MAX = 16,
	SPEC_TARGET_MAX = 127,
	SPEC_IMAGE_MAX = 255,
	SPEC_UID = 1000, /* the user "coderunner" inside the sandbox */
	SPEC_GID = 1000,
	SPEC_AGENT_ID = 999,     /* user and group of the agent inside, if it has ids of its own */
	SPEC_LOCKS_MAX = 100000, /* record locks of one sandbox, about 20 MB in the kernel */
};

#define SPEC_WORKSPACE "/workspace"
#define SPEC_HOME      "/home/coderunner"
#define SPEC_PYTHON    SPEC_HOME "/.local/venv" /* the virtual environment of Python */

/* name, default, minimum, maximum, unit, help */
#define SPEC_LIMITS(X)                                                                             \
	X(memory, SPEC_MIB(1024), SPEC_MIB(16), SPEC_MIB(1024 * 1024), BYTES,                      \
	  "memory of all processes")                                                               \
	X(swap, 0, 0, SPEC_MIB(1024 * 1024), BYTES, "swap space of all processes")                 \
	X(cpu, 2000, 10, 1024000, THOUSANDTHS, "number of processors")                             \
	X(pids, 512, 16, 65536, COUNT, "processes and threads")                                    \
	X(disk, SPEC_MIB(2048), SPEC_MIB(1), SPEC_MIB(16 * 1024 * 1024), BYTES,                    \
	  "disk space for files")                                                                  \
	X(inodes, 200000, 64, 100000000, COUNT, "number of files on disk")                         \
	X(file_size, SPEC_MIB(2048), SPEC_MIB(1), SPEC_MIB(16 * 1024 * 1024), BYTES,               \
	  "size of a single file")                                                                 \
	X(files, 4096, 32, 1048576, COUNT, "open files of one process")

#define SPEC_MIB(n) ((uint64_t)(n)*1024 * 1024)

enum spec_unit { SPEC_BYTES, SPEC_THOUSANDTHS, SPEC_COUNT };

struct spec_limits {
#define X(name, ...) uint64_t name;
	SPEC_LIMITS(X)
#undef X
};

/* One row of SPEC_LIMITS; the array is in the order of the fields of struct spec_limits. */
struct spec_limit {
	const char *name, *help;
	enum spec_unit unit;
	size_t offset; /* of the field in struct spec_limits */
	uint64_t initial, min, max;
};
extern const struct spec_limit spec_limits[];
extern const size_t spec_limit_count;

/* The value of row `i` of spec_limits. */
uint64_t spec_limits_get(const struct spec_limits *limits, size_t i);
void spec_limits_set(struct spec_limits *limits, size_t i, uint64_t value);
/* A little less than the disk limit. Where no quota enforces that limit, a sandbox that uses more
 * than this counts as full: its programs may not write until something was deleted. */
uint64_t spec_disk_full(const struct spec_limits *limits);
/* The size of a single file at which writes fail where no quota enforces the disk limit: file_size,
 * or spec_disk_full(), so that the sandbox is within its limit when the write of one large file
 * fails. */
uint64_t spec_file_max(const struct spec_limits *limits);

enum { SPEC_VALUE_SIZE = 40 };
/* Writes a value of row `i` for a message: "512 MiB", "1000 bytes", "0.5", "64". Returns out. */
const char *spec_limit_text(size_t i, uint64_t value, char out[SPEC_VALUE_SIZE]);

/* Which seccomp filter the programs inside get (engine/filter). */
enum spec_syscalls {
	SPEC_SYSCALLS_STANDARD,
	SPEC_SYSCALLS_STRICT,
	SPEC_SYSCALLS_DEBUG,
	SPEC_SYSCALLS_COUNT
};
extern const char *const spec_syscalls_names[SPEC_SYSCALLS_COUNT];

/* A directory of the host that is mounted in the sandbox. The spec names it by its index in the
 * list that the server was started with: a path in here would let a server that was taken over
 * mount any directory. */
struct spec_mount {
	uint16_t source;
	char target[SPEC_TARGET_MAX + 1]; /* absolute, without ".." and "//" */
};

struct spec {
	char id[SPEC_ID_LEN + 1];
	struct spec_limits limits;
	enum spec_syscalls syscalls;
	bool fresh; /* create the sandbox's files; false: they exist, the sandbox wakes */
	uint8_t mount_count;
	struct spec_mount mounts[SPEC_MOUNTS_MAX];
	uint64_t gpus; /* bit n: device n of the list that the engine was started with */
	/* The image that the files of the root come from, as "python:3"; "": the engine's own
	 * choice. Engines without images refuse any other. */
	char image[SPEC_IMAGE_MAX + 1];
	/* For marks that the operator can read where sandboxes are listed by other programs
	 * (labels of containers). They decide about nothing. */
	uint64_t owner;    /* a hash of the owner's name */
	int64_t expires_s; /* when the lifetime is over, by the wall clock; 0: never */
};

/* The largest limits that spec_check() accepts. */
struct spec_limits spec_largest_limits(void);
/* A spec with the default limits and an empty id. */
struct spec spec_default(void);

/* Checks every field, including bytes that are no valid bool or enum. The error names the field,
 * the value and the allowed range. */
MUST_CHECK int spec_check(const struct spec *spec, struct error *err);

/* Refuses limits and devices above the ceilings of the server: no limit may be larger than the one
 * in `max`, and no device may be outside the set `gpus`. */
MUST_CHECK int spec_check_ceilings(const struct spec *spec, const struct spec_limits *max,
                                   uint64_t gpus, struct error *err);

/* Compares the fields that an engine applies when it starts a sandbox: limits, devices, mounts,
 * image, system calls. */
bool spec_is_alike(const struct spec *a, const struct spec *b);

/* Draws a new random id: "sb_" and 26 characters of a-z and 2-7. */
void spec_new_id(char id[SPEC_ID_LEN + 1]);
bool spec_is_id(const char *text);
/* Whether a directory has an entry whose name is an id. */
bool spec_is_any_in(int at, const char *path);
/* Whether the text can be the name of an image: [HOST[:PORT]/]PATH[:TAG][@DIGEST]. */
bool spec_is_image(const char *text);
