/* reply_queue.h - replies that the server's socket has not taken yet, in their order.
 *
 * For the process that creates sandboxes, which never waits for the server to read. While
 * REPLIES_MANY are queued that process reads no requests, which bounds the queue. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "engine/remote/messages.h"

enum { REPLIES_MANY = 1024 };

struct replies {
	struct list queue;
	size_t count;
};

void replies_init(struct replies *replies);
void replies_add(struct replies *replies, const struct engine_reply *reply);
/* Takes over the descriptors, at most REPLY_FDS_MAX. */
void replies_add_with_fds(struct replies *replies, const struct engine_reply *reply, const int *fds,
                          size_t count);
void replies_add_failure(struct replies *replies, enum engine_reply_kind kind, uint64_t number,
                         const struct error *err);
/* REPLY_STARTED: takes over the channel and the counter files, of which -1 stands for none. */
void replies_add_started(struct replies *replies, const struct engine_reply *reply, int channel,
                         const int counters[CGROUP_COUNTER_FILES]);
/* Answers a REQUEST_CONNECT by connect(), which is NULL if servers share nothing. A request has
 * only the name of a server, and the callback knows the directory of its socket: a server that was
 * taken over can connect to no other socket of the host. */
void replies_connect(struct replies *replies, const struct engine_request *request,
                     int (*connect)(void *ctx, const char *instance, struct error *err), void *ctx);
/* One REPLY_LAYER for each layer, then REPLY_READY. */
void replies_add_report(struct replies *replies, const struct engine_report *report);
/* Sends as many as the socket takes. False: the server has closed its end. */
bool replies_flush(struct replies *replies, int socket);
