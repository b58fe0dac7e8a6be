/* request_queue.h - requests that the socket has not taken yet, in their order.
 *
 * The process that creates sandboxes reads no requests while too many of its replies are unread, so
 * a socket buffer can be full; the server must not block on it. The list is the caller's and owns
 * its entries. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct engine_request;

/* Adds an empty request, which the caller fills in. The request is valid until
 * request_queue_send(). */
struct engine_request *request_queue_add(struct list *queue);
/* Sends as many requests as the socket takes. True: some are left. */
bool request_queue_send(struct list *queue, int socket);
/* Frees all requests without sending them. */
void request_queue_done(struct list *queue);
