/* delegation.h - asks the user's systemd for a cgroup we may divide.
 *
 * An ordinary user may limit memory and processes only below a group that was given to them. On
 * a machine with cgroup v2 and a systemd session the session manager gives one to whoever asks:
 * a scope with our own process in it. Nothing is lost if it does not: belljar goes on without,
 * and says so. */
#pragma once
#include <stdbool.h>

/* True: we are in a group of our own now. Takes a few hundredths of a second if there is somebody
 * to ask, and nothing otherwise. `busctl` NULL: the system's. */
bool delegation_ask(const char *busctl);
