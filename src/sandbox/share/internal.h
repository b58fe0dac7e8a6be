/* internal.h - what the files of this folder share.
 *
 *   share.c         the holder: accepts connections
 *   relay.c         the holder: the request of one guest, and its answer
 *   relay_stream.c  the holder: the streams of one guest, after SHARE_ATTACH
 *   share_call.c    the guest: one request */
#pragma once
#include "base/buf.h"
#include "base/list.h"
#include "sandbox/sandbox.h"
#include "sandbox/share/share.h"
#include "wire/stream_rules.h"

enum {
	GUESTS_MAX = 8, /* connections at a time */
	/* Bytes that a guest has given credit for but does not read, then its connection is
	 * closed. */
	GUEST_QUEUE_MAX = 4 * 1024 * 1024,
};

struct share {
	struct loop *loop;
	struct manager *manager;
	struct share_config config;
	struct loop_watch *watch; /* of the listener */
	struct list relays;
	unsigned count; /* of relays with an open connection */
};

/* One connection. Its memory is freed by the loop, when no callback of the sandbox is pending. */
struct relay {
	struct list node; /* in share->relays, until it is freed */
	struct share *share;
	struct loop *loop; /* the relay may outlive the share */
	int fd;
	struct input *input;
	struct output *output;
	struct loop_timer *deadline;    /* for the request, then for the handshake */
	struct buf partial;             /* bytes that are not a whole request or frame yet */
	struct sandbox *sandbox;        /* held; NULL before the request */
	struct share_changes *update;   /* of SHARE_UPDATE; or NULL */
	struct sandbox_changes changes; /* the same, with pointers into *update */
	struct wire_link link;          /* in the place of an agent */
	struct list streams;
	unsigned live;    /* streams */
	bool has_request; /* the request is complete */
	bool is_attached; /* frames are exchanged */
	bool is_waiting;  /* sandbox_wake() or another function of the sandbox will call back */
	bool is_closed;
};

/* Takes over fd. */
void relay_new(struct share *share, int fd);
/* Closes the connection. The struct is freed later. */
void relay_close(struct relay *relay);
/* Queues bytes for the guest; closes the connection if too many are queued. */
void relay_send(struct relay *relay, struct view bytes);
void relay_send_message(struct relay *relay, const struct wire_message *message, uint32_t stream);

/* Handles a frame of the guest. -1: it breaks the protocol. */
MUST_CHECK int relay_receive_frame(struct relay *relay, const struct wire_frame *frame,
                                   struct error *err);
void relay_cancel_streams(struct relay *relay);
