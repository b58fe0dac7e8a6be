/* poller.h - waiting for descriptors: two epoll sets, one within the other.
 *
 * The outer set holds the channel. The inner one holds everything that makes us say something:
 * pipes, sockets, children. It is itself a member of the outer set, and is taken out of it
 * while what was said before still waits to be read. So one call stops all producers.
 *
 * A source is embedded in an object that is never freed, only used again: an event that was
 * already fetched when its source was closed meets fd -1, or no handler, or at worst a source
 * that is not ready, which every handler must take calmly. A hang-up is told, once, even to
 * a source that wants nothing. */
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
	int set; /* the epoll set it is in */
	uint32_t events;
	source_fn *ready;
};

struct poller {
	int outer, inner;
	bool inner_on;
};

MUST_CHECK int poller_init(struct poller *poller, struct error *err);
void poller_let_produce(struct poller *poller, bool on);

/* Registers a descriptor for EPOLLIN, EPOLLOUT or both; 0: not now. */
MUST_CHECK int source_add(struct source *source, int set, int fd, uint32_t events, source_fn *ready,
                          struct error *err);
void source_want(struct source *source, uint32_t events);
int source_take(struct source *source);   /* the descriptor, no longer registered */
void source_close(struct source *source); /* out of the set first: a forked child may hold a copy */
