/* delegation.h - asks the user's systemd for a cgroup of this process's own (a scope with
 * Delegate=yes).
 *
 * An ordinary user may limit memory and processes only in cgroups below one that was delegated to
 * the user. On a machine with cgroup version 2 and a systemd session, the session manager creates
 * such a cgroup on request and moves the caller into it. If that fails, belljar runs without these
 * limits and reports it. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* Returns true if this process is in a cgroup of its own now. Takes some tens of milliseconds where
 * there is a session manager, and no time otherwise. `busctl` NULL: /usr/bin/busctl. */
bool delegation_request(const char *busctl);
/* Finds the cgroup of this process in the hierarchy of version 2, as a path below `root`, where
 * that is mounted. */
bool delegation_find_group(const char *root, char out[PATH_MAX]);
