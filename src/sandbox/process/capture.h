/* capture.h - keeps the beginning and the end of one output stream in memory, and counts its
 * bytes.
 *
 *   capture_init -> capture_add ... -> capture_done    (the struct belongs to the caller) */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct capture {
	size_t head_max, tail_max;
	char *head, *tail; /* NULL until the first byte; the tail is a ring */
	size_t head_len, head_room, tail_len;
	size_t tail_at; /* index of the oldest byte in the ring */
	uint64_t total;
};

void capture_init(struct capture *capture, size_t head_max, size_t tail_max);
void capture_done(struct capture *capture);

void capture_clear(struct capture *capture); /* as if nothing had been added */
void capture_add(struct capture *capture, struct view bytes);
/* Whether `bytes` more would push bytes out of the middle. */
bool capture_would_lose(const struct capture *capture, size_t bytes);
uint64_t capture_left_out(const struct capture *capture);
struct view capture_head(const struct capture *capture);
struct view capture_tail(struct capture *capture); /* valid until the next capture_add() */

/* The last line that is not blank, without terminal escapes, cut to the size of out. Returns
 * out. */
const char *capture_last_line(struct capture *capture, char *out, size_t size);
