/* poller.h - waiting for descriptors: two epoll sets, one inside the other.
 *
 * The outer set holds the channel. The inner set holds every descriptor whose handler may send
 * something: pipes, sockets, SIGCHLD. The inner set is itself a member of the outer one, and is
 * disabled there while the outgoing buffer is busy. So one system call stops all handlers at once.
 *
 * A source is embedded in an object that is never freed, only reused. An event that was fetched
 * before its source was closed or reused can therefore still reach the source: the loop skips
 * sources with fd -1, and every handler must cope with a call although nothing is ready. A hang-up
 * is reported once even to a source that asked for no events. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/attr.h"

struct error;
struct source;

typedef void source_fn(struct source *source, uint32_t events);

struct source {
	int fd;  /* -1: not in use */
	int set; /* the epoll set that fd is in */
	uint32_t events;
	source_fn *ready;
};

struct poller {
	int outer, inner;
	bool inner_on;
};

MUST_CHECK int poller_init(struct poller *poller, struct error *err);
void poller_enable_inner(struct poller *poller, bool on);

/* Registers a descriptor for EPOLLIN, EPOLLOUT or both; 0: for neither yet. The source owns fd if
 * this succeeds. */
MUST_CHECK int source_add(struct source *source, int set, int fd, uint32_t events, source_fn *ready,
                          struct error *err);
void source_want(struct source *source, uint32_t events);
/* Removes the descriptor from the set explicitly and closes it. close() alone would leave it in the
 * set while a forked child holds a copy. */
void source_close(struct source *source);
