/* gate_log.h - the connections that programs of one sandbox have tried to make: the last hosts,
 * each once with a count, so that a program that tries one host again and again takes no more
 * memory.
 *
 * The log lives as long as the struct sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/net_host.h"

enum { GATE_LOG_ENTRIES = 64, GATE_REASON_MAX = 320 };

struct gate_attempt {
	char target[NET_HOST_SIZE]; /* "example.org:443"; "" if the request named no host */
	bool is_allowed;
	uint64_t count;
	uint64_t refusal;             /* the number of its last refusal: see gate_log_refusals() */
	char reason[GATE_REASON_MAX]; /* of the refusal or failure; "" */
};

struct gate_log {
	size_t count;
	struct gate_attempt entries[GATE_LOG_ENTRIES]; /* the newest last */
	uint64_t refusals;
	uint64_t bytes; /* to and from hosts outside, of all gates of the sandbox */
	/* A host is new in the log. May be NULL. */
	void (*added)(void *ctx, const struct gate_attempt *attempt);
	void *ctx;
};

void gate_log_add(struct gate_log *log, const char *target, bool is_allowed, const char *reason);
/* How many connections were refused so far. */
uint64_t gate_log_refusals(const struct gate_log *log);
/* The last host that was refused after `since` refusals, and how many others were; NULL: none. */
const struct gate_attempt *gate_log_refused(const struct gate_log *log, uint64_t since,
                                            size_t *others);
