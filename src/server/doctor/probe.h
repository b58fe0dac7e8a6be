/* probe.h - the questions `belljar doctor` asks the machine.
 *
 * A probe tries the thing itself where that is cheap, and says so where it only read
 * what the kernel lists. It changes nothing, leaves no process behind and ends within
 * seconds. What only the engine can tell is in probe_engine.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "server/doctor/doctor.h"

struct options;

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
void check_fix(struct check *check, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Sets status, detail and fix of a check in which they are empty. */
typedef void probe_fn(const struct options *options, struct check *ret);

probe_fn probe_kernel, probe_seccomp, probe_landlock, probe_no_new_privileges;
probe_fn probe_user_namespaces, probe_namespaces, probe_network, probe_proc, probe_overlayfs;
probe_fn probe_host, probe_state_dir, probe_hardening, probe_mounts;
probe_fn probe_agent, probe_interpreters, probe_containers, probe_configuration;

/* The first line of a file in /proc or /sys without its newline; "" if there is none.
 * Returns out. */
const char *probe_read_line(const char *path, char *out, size_t size);

/* In a child: root of a new user namespace. 0 or an errno. */
int probe_become_root(void);

/* Is this a kernel whose page cache programs can write to? `release` and `built` are uname's. */
bool probe_kernel_has_holes(const char *release, const char *built);

/* Adds to a list with commas, as far as there is room. */
void probe_list_add(char *list, size_t size, const char *word);

/* probe_interpreters() with other directories than those of sandboxes, with ":" between. */
#define PROBE_PATH_SIZE 4096
void probe_interpreters_in(const char *directories, struct check *ret);
