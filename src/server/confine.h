/* confine.h - the server gives up its rights as soon as the spawner and the porter are forked.
 *
 * Only the spawner needs privileges. The server parses what clients and agents send, so a bug there
 * must not give an attacker the rights of root: as root it changes to an unprivileged user id, sets
 * no_new_privs, and installs the seccomp filter of sandboxed programs on itself. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* The user id that root changes to, which owns db/ and servers/ in the state directory. The id lies
 * in the range that systemd reserves for containers, so no user of the host has it. 0 if the user
 * namespace has no such id (in a container with few ids): then root stays root. */
uid_t confine_id(void);

/* Cannot be undone. Descriptors that are open stay open. */
MUST_CHECK int confine_server(struct error *err);
