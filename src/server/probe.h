/* probe.h - the questions `belljar doctor` asks the machine.
 *
 * A probe tries the thing itself where that is cheap, and says so where it only read
 * what the kernel lists. It changes nothing, leaves no process behind and ends within
 * seconds. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "server/doctor.h"

struct options;

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
void check_fix(struct check *check, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Sets status, detail and fix of a check in which they are empty. */
typedef void probe_fn(const struct options *options, struct check *ret);

probe_fn probe_kernel, probe_seccomp, probe_landlock;
probe_fn probe_user_namespaces, probe_namespaces, probe_overlayfs;
probe_fn probe_cgroups;
probe_fn probe_subordinate_ids, probe_interpreters, probe_containers;
probe_fn probe_agent;
probe_fn probe_configuration;

/* The first line of a file in /proc or /sys without its newline; "" if there is none.
 * Returns out. */
const char *probe_read_line(const char *path, char *out, size_t size);

/* The first executable of that name on $PATH (the usual directories if it is not set): 0,
 * or -1 if there is none. */
#define PROBE_PATH_SIZE 4096
MUST_CHECK int probe_find_program(const char *name, char out[PROBE_PATH_SIZE]);
