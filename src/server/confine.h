/* confine.h - the server gives up its rights as soon as the spawner and the porter are forked.
 *
 * The server parses what clients and agents send, so a bug there must not give an attacker the
 * rights of the user who started belljar. confine_server() is called once, before the first byte of
 * a client or an agent is read. Afterwards the process
 *
 *   - has, as root, a user id that owns nothing but db/ and servers/ in the state directory,
 *   - has no capability, cannot gain one (no_new_privs) and cannot be read by other processes,
 *   - opens no file but those that `struct confine_needs` names (Landlock),
 *   - starts no program, makes no process and no socket, maps no code, signals only
 *     itself (seccomp).
 *
 * Descriptors that are open stay open; the event loop, which needs a few, is made before. Nothing
 * of this can be undone. On a kernel without Landlock the user id alone decides which files can be
 * opened. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct ids_taken;

/* The files that the process opens after its confinement. `state` is the state directory, with the
 * database and the servers' locks; or NULL. */
struct confine_needs {
	const char *state;
};

/* Chooses the user id that root changes to, so that no user of the host has it (see
 * ids_choose_server()), and gives the directories db/ and servers/ of the state directory to it, if
 * they exist. Later starts read the choice from the owner of db/. *ret has the ids of users, and
 * that of the server; ids_taken_done() frees it. Does nothing for an ordinary user. */
MUST_CHECK int confine_choose_id(const char *state, struct ids_taken *ret, struct error *err);
/* The chosen id. 0 if the user namespace has no such id (in a container with few ids): then root
 * stays root, without capabilities. */
uid_t confine_id(void);

/* Gives up all rights that the top of this file names. A build with AddressSanitizer only changes
 * its user id and gives up capabilities: LeakSanitizer makes a process that attaches with
 * ptrace(2), and opens files in /proc. */
MUST_CHECK int confine_server(const struct confine_needs *needs, struct error *err);

/* Like confine_server(), in every build, but without the change of the user id. */
MUST_CHECK int confine_process(const struct confine_needs *needs, struct error *err);
