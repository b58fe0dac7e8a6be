/* spec.h - what a sandbox is to be, in words every engine understands.
 *
 * A plain value without pointers: it is copied, stored, and sent to the spawner as it is, which
 * checks it again with spec_check(). What is in here was decided by the server; nothing in it
 * comes from the sandbox. */
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
	SPEC_GPUS_MAX = 64,
	SPEC_UID = 1000, /* coderunner, inside */
	SPEC_GID = 1000,
};

#define SPEC_WORKSPACE "/workspace"
#define SPEC_HOME      "/home/coderunner"

/* name, default, least, most, unit, help */
#define SPEC_LIMITS(X)                                                                             \
	X(memory, SPEC_MIB(1024), SPEC_MIB(16), SPEC_MIB(1024 * 1024), BYTES,                      \
	  "memory of all its processes")                                                           \
	X(swap, 0, 0, SPEC_MIB(1024 * 1024), BYTES, "swap space it may use besides")               \
	X(cpu, 2000, 10, 1024000, THOUSANDTHS, "processors it may keep busy")                      \
	X(pids, 512, 16, 65536, COUNT, "processes and threads")                                    \
	X(disk, SPEC_MIB(2048), SPEC_MIB(1), SPEC_MIB(16 * 1024 * 1024), BYTES,                    \
	  "files it may write")                                                                    \
	X(inodes, 200000, 64, 100000000, COUNT, "number of files it may write")                    \
	X(file_size, SPEC_MIB(1024), SPEC_MIB(1), SPEC_MIB(16 * 1024 * 1024), BYTES,               \
	  "size of a single file")                                                                 \
	X(files, 4096, 32, 1048576, COUNT, "files one process may have open")

#define SPEC_MIB(n) ((uint64_t)(n)*1024 * 1024)

enum spec_unit { SPEC_BYTES, SPEC_THOUSANDTHS, SPEC_COUNT };

struct spec_limits {
#define X(name, ...) uint64_t name;
	SPEC_LIMITS(X)
#undef X
};

/* One row a limit, in the order of struct spec_limits. */
struct spec_limit {
	const char *name, *help;
	enum spec_unit unit;
	size_t offset;
	uint64_t fallback, least, most;
};
extern const struct spec_limit spec_limits[];
extern const size_t spec_limit_count;

/* Which system calls programs inside may use. */
enum spec_calls { SPEC_CALLS_STANDARD, SPEC_CALLS_STRICT, SPEC_CALLS_DEBUG, SPEC_CALLS_COUNT };
extern const char *const spec_calls_names[SPEC_CALLS_COUNT];

/* A directory of the host, by its number in the list the server was started with. */
struct spec_mount {
	uint16_t source;
	char target[SPEC_TARGET_MAX + 1]; /* absolute, no "..", no "//" */
};

struct spec {
	char id[SPEC_ID_LEN + 1];
	struct spec_limits limits;
	enum spec_calls calls;
	bool egress; /* a way out, for whoever decides about it: see WELCOME */
	bool fresh;  /* to be made; otherwise its files are there and it wakes */
	uint8_t mount_count;
	struct spec_mount mounts[SPEC_MOUNTS_MAX];
	uint64_t gpus; /* bit n: device n of the list the engine was started with */
};

struct spec spec_default(void); /* without an id */
/* Every field, whoever filled it. The error names the field, the value and what is allowed. */
MUST_CHECK int spec_check(const struct spec *spec, struct error *err);

void spec_new_id(char id[SPEC_ID_LEN + 1]);
bool spec_is_id(const char *text);
