/* gate.h - the way out of one sandbox: takes the connections that programs make to the agent's
 * port, reads what host they want, decides by a policy, and passes bytes on.
 *
 * The agent accepts and forwards (PROTOCOL.md: ACCEPT). The gate reads HTTP and SOCKS as hostile
 * input, checks the host against the policy, has the dialer connect, and relays. Bytes are read
 * from one side only as far as the other side takes them, so memory is bounded for each connection,
 * and one that stands still blocks no other. Every decision goes into the log.
 *
 *   gate_new -> gate_set_policy ... -> gate_free
 *
 * The gate must be freed before its channel, and uses the log, the dial and the ceiling of its
 * creator until then. */
#pragma once
#include <stdint.h>

#include "base/cleanup.h"
#include "egress/net_policy.h"

struct channel;
struct dial;
struct gate;
struct gate_log;
struct loop;
struct net_secrets;

enum {
	GATE_PORT = 3128,     /* of 127.0.0.1 in the sandbox, unless a program has taken it */
	GATE_LINKS_MAX = 200, /* connections at a time */
	GATE_WAITING = 8,     /* of them waiting to be accepted */
	/* Of them to the mirror, and to the interceptor, which all sandboxes share; others wait. */
	GATE_SERVED_MAX = 16,
	GATE_HEAD_MS = 10000,  /* for the request */
	GATE_IDLE_MS = 900000, /* without a byte in either direction */
	GATE_CLOSE_MS = 30000, /* for a program to close, after the answer to its request */
	GATE_PASSWORD_SIZE = 40,
};

struct gate_options {
	struct loop *loop;
	struct channel *channel; /* ready */
	struct dial *dial;
	struct dial *mirror;      /* of packages (mirror.h); or NULL */
	struct dial *interceptor; /* of TLS to hosts with a secret (intercept.h); or NULL */
	const struct net_ceiling *ceiling;
	const struct net_secrets *secrets; /* NULL: none */
	struct gate_log *log;
	uint16_t port;
	/* Connections without this password are refused; "": all programs of the sandbox may use
	 * the gate. */
	char password[GATE_PASSWORD_SIZE];
	/* The port was in use, and the gate has taken another one: gate_port(). May be NULL. */
	void (*moved)(void *ctx);
	void *ctx;
};

struct gate *gate_new(const struct gate_options *options, const struct net_policy *policy);
struct gate *gate_free(struct gate *gate);
DEFINE_CLEANUP(gate)

/* Holds for new connections, and ends those that are not allowed any more. */
void gate_set_policy(struct gate *gate, const struct net_policy *policy);
uint16_t gate_port(const struct gate *gate);
