/* internal.h - what the files of the gate share.
 *
 *   gate.c        the port: ACCEPT streams, their number, the policy
 *   gate_link.c   one connection: reads the request, decides, dials, answers
 *   gate_answer.c one connection: answers of the gate itself
 *   gate_relay.c  one connection: the bytes in both directions
 *   gate_limits.c connections, bytes and rate
 *   gate_log.c    the log */
#pragma once
#include "base/buf.h"
#include "base/list.h"
#include "egress/proxy_http.h"
#include "egress/proxy_socks.h"
#include "egress/secret_answer.h"
#include "sandbox/channel/channel.h"
#include "sandbox/gate/gate.h"
#include "sandbox/gate/gate_log.h"

struct gate {
	struct gate_options options;
	struct net_policy policy;
	struct list links;
	unsigned count, waiting; /* links in all; those that no program has connected to */
	struct loop_timer *retry;
	struct loop_timer *refill; /* fires when bytes may be passed on again */
	int64_t allowance;         /* bytes that may be passed on now, if there is a rate */
	uint64_t refilled_ms;      /* when the allowance was last counted */
	bool is_throttled;
	bool holds_off; /* no stream is opened before the timer has fired */
	bool is_freed;
};

enum link_state {
	LINK_WAITING, /* no program has connected */
	LINK_HEAD,    /* the request is being read */
	LINK_QUEUED,  /* the mirror or interceptor has too many connections of this gate */
	LINK_DIALING,
	LINK_RELAY,
	LINK_ANSWERED, /* a refusal was sent; the program is to close */
};

struct gate_link {
	struct list node; /* in gate->links */
	struct gate *gate;
	struct channel_stream *stream; /* NULL: it has ended */
	enum link_state state;
	struct loop_timer *timer; /* for the request, then for silence */

	/* the request */
	struct buf head; /* bytes of the program that are not forwarded yet */
	size_t taken;    /* of `head`: read by SOCKS, not forwarded */
	bool is_socks, is_http;
	struct proxy_socks socks;
	struct net_host host;
	uint16_t port;
	struct proxy_body body; /* of a request of plain HTTP */
	bool has_extra;         /* bytes came behind the request */
	bool has_answer;        /* bytes came from outside */
	struct dial *service;   /* the mirror or the interceptor, or NULL */
	struct dial_request *dialing;

	/* the relay */
	int fd; /* the connection outside; -1: none */
	struct input *input;
	struct output *output;
	struct buf pending; /* from outside; the agent has not taken it */
	size_t unconfirmed; /* bytes of the program in `output`, whose credit is not given back */
	struct secret_answer *answer; /* NULL: no secret is for this host */
	uint64_t moved_ms;            /* when a byte was last passed on */
	bool program_ended;           /* the program has closed its direction */
	bool outside_ended;           /* the host outside has closed its direction */
	bool write_failed;
};

/* --- gate.c --- */

/* Opens further ACCEPT streams, if fewer than GATE_WAITING wait. */
void gate_fill(struct gate *gate);
/* Calls gate_fill() after a while: the agent could not accept. */
void gate_hold_off(struct gate *gate);

/* --- gate_limits.c --- */

/* The most connections at a time. */
unsigned gate_max_links(const struct gate *gate);
/* Fails if the sandbox has used up its bytes. */
MUST_CHECK int gate_check_bytes(const struct gate *gate, struct error *err);
/* Counts bytes that were passed on. True: the link was freed, because they were too many. */
bool gate_count_bytes(struct gate_link *link, size_t bytes);
/* Whether the gate may open another connection to the mirror or the interceptor. */
bool gate_may_serve(const struct gate *gate, const struct dial *service);
/* Starts the first link that waits for the mirror or the interceptor, if there is room for one. */
void gate_start_queued(struct gate *gate);
/* Reads and confirms bytes again on all links. */
void gate_refill(void *gate);

/* --- gate_link.c --- */

/* Opens one ACCEPT stream. */
MUST_CHECK int gate_link_open(struct gate *gate, struct error *err);
/* Ends the connection at once, and frees it. */
void gate_link_free(struct gate_link *link);
/* Sends bytes to the program; what does not fit into its credit waits in `pending`. */
void gate_link_send(struct gate_link *link, struct view bytes);
void gate_link_log(struct gate_link *link, bool is_allowed, const char *reason);

/* Decides about the host by the policy, and dials or refuses; frees no link. */
void gate_link_start(struct gate_link *link);
/* Whether the program wants the mirror of packages, and may use it. */
bool gate_link_is_mirrored(const struct gate_link *link);

/* --- gate_answer.c --- */

/* The host is reached, and the tunnel begins. */
void gate_answer_connected(struct gate_link *link);
/* The functions below end the connection, and record why. */
void gate_answer_refusal(struct gate_link *link, const struct error *why);
/* A malformed request is refused, too: it may be an attempt to be understood differently. */
void gate_answer_malformed(struct gate_link *link, const struct error *why);
/* The host cannot be reached. */
void gate_answer_failure(struct gate_link *link, const struct error *why);
/* The password of the gate is missing. */
void gate_answer_stranger(struct gate_link *link, const struct error *why);
/* The answer of the host must not be passed on. */
void gate_answer_instead(struct gate_link *link, const struct error *why);

/* --- gate_relay.c --- */

/* Takes over fd. */
MUST_CHECK int gate_relay_start(struct gate_link *link, int fd, struct error *err);
/* Writes the head of a request of plain HTTP. */
void gate_relay_head(struct gate_link *link, struct view head);
/* Passes on bytes of the program. */
void gate_relay_bytes(struct gate_link *link, struct view bytes);
/* Continues after a pause for the rate limit. */
void gate_relay_resume(struct gate_link *link);
/* The program has ended its direction: passes that on to the host, once all bytes are written. */
void gate_relay_end_outside(struct gate_link *link);
/* The agent takes more bytes. */
void gate_relay_writable(struct gate_link *link);
void gate_relay_stop(struct gate_link *link);
