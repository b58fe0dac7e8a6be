/* confine.h - the server gives up its rights as soon as the spawner and the porter are forked.
 *
 * Only the spawner needs privileges. The server parses what clients and agents send, so a bug there
 * must not give an attacker the rights of root: as root it changes to an unprivileged user id, sets
 * no_new_privs, and installs the seccomp filter of sandboxed programs on itself. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct ids_taken;

/* Chooses the user id that root changes to, so that no user of the host has it (see
 * ids_choose_server()), and gives the directories db/ and servers/ of the state directory to it, if
 * they exist. Their owner remembers the choice. *ret has the ids of users, and that of the server;
 * ids_taken_done() frees it. Does nothing for an ordinary user. */
MUST_CHECK int confine_choose_id(const char *state, struct ids_taken *ret, struct error *err);
/* The chosen id. 0 if the user namespace has no such id (in a container with few ids): then root
 * stays root. */
uid_t confine_id(void);

/* Cannot be undone. Descriptors that are open stay open. */
MUST_CHECK int confine_server(struct error *err);
