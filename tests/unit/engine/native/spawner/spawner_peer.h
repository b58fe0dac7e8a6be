/* spawner_peer.h - the server's end of the spawner's socket, for tests that play a server.
 *
 *   peer_start -> peer_request, peer_receive ... -> peer_stop */
#pragma once
#include "engine/native/spawner/spawner.h"
#include "unit/engine/native/rig.h"

struct peer {
	struct test_dir state; /* the state directory */
	pid_t pid;             /* of the spawner */
	int socket;
	int fds[REPLY_FDS_MAX]; /* that came with the latest reply */
	size_t fd_count;
	bool no_cgroups;
	const struct spec *first; /* as in struct spawner_options */
};

/* Starts a spawner in a state directory of its own. Skips the test unless it runs as root. */
void peer_start(struct peer *peer);
/* Likewise, as on a machine without cgroups. */
void peer_start_without_cgroups(struct peer *peer);
/* Likewise, with a spare from the start on. */
void peer_start_with_spare(struct peer *peer, const struct spec *first);
/* Starts a second one in the same state directory, as another server would. */
void peer_start_beside(struct peer *peer, struct peer *first);
/* Closes the socket. The spawner must exit by itself, with status 0. */
void peer_wait_exit(struct peer *peer);
/* Removes the state directory too. */
void peer_stop(struct peer *peer);
/* Starts another one in the state directory after peer_wait_exit(), with a spare. */
void peer_start_again(struct peer *peer, const struct spec *first);

void peer_request(struct peer *peer, uint32_t kind, uint64_t number, const struct spec *spec);
struct engine_reply peer_receive(struct peer *peer);
/* Closes the descriptors of the latest reply. */
void peer_close_fds(struct peer *peer);

/* The spec of a new sandbox, with a new id. */
struct spec peer_fresh_spec(void);
struct engine_reply peer_start_sandbox(struct peer *peer, uint64_t number, const struct spec *spec);
/* Starts a sandbox, waits for the agent's first bytes, kills and erases it. */
void peer_check_life_cycle(struct peer *peer, uint64_t number);
