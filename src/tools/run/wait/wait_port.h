/* wait_port.h - waits until a process in a sandbox listens on a TCP port.
 *
 * The agent reads the kernel's table of the sandbox's own sockets (/proc/net/tcp, tcp6) several
 * times a second; no connection is made, which a server with one client would notice.
 *
 *   wait_port_start -> fn -> wait_port_stop    (the struct belongs to the caller)
 *
 * fn is called once, from the loop. wait_port_stop() may come at any time; zeroed is allowed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

struct files_op;
struct loop;
struct loop_timer;
struct sandbox;

struct wait_port {
	uint16_t port;
	bool is_open;
	struct loop_timer *timer; /* NULL: not started */
	struct files_op *op;
	unsigned table; /* which of the tables is being read */
	/* The sandbox of the process; NULL: it is gone. */
	struct sandbox *(*find_sandbox)(void *ctx);
	void (*fn)(void *ctx);
	void *ctx;
};

void wait_port_start(struct wait_port *wait, struct loop *loop);
void wait_port_stop(struct wait_port *wait);

/* Whether a table in the format of /proc/net/tcp has a socket that listens on the port. */
bool wait_port_is_listed(struct view table, uint16_t port);
