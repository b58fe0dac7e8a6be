/* port_forward.h - forwards the connections of a listening socket to a port inside a sandbox.
 *
 * For each connection the agent is asked for a connection to the port on the sandbox's loopback
 * interface (PROTOCOL.md: CONNECT), and bytes are passed on in both directions. Bytes are read from
 * one side only as far as the other side takes them, so memory is bounded for each connection, and
 * a connection that stands still blocks no other one.
 *
 *   port_forward_new -> connected or refused, for each connection -> port_forward_free
 *
 * The forwarder must be freed before its channel. */
#pragma once
#include <stdint.h>

#include "base/cleanup.h"

struct channel;
struct error;
struct loop;
struct port_forward;

enum { PORT_LINKS_MAX = 100 }; /* connections at a time; more wait in the kernel */

struct port_forward_options {
	struct loop *loop;
	struct channel *channel; /* ready */
	int listener;  /* non-blocking; the caller closes it after the forwarder is freed */
	uint16_t port; /* in the sandbox */
	/* The agent could not connect: most likely no program listens on the port. May be NULL. */
	void (*refused)(void *ctx, const struct error *why);
	void *ctx;
};

struct port_forward *port_forward_new(const struct port_forward_options *options);
struct port_forward *port_forward_free(struct port_forward *forward);
DEFINE_CLEANUP(port_forward)
