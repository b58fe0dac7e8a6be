/* input.h - bytes from a descriptor, as they come.
 *
 * One read of at most 64 KiB per wake-up, so a fast peer cannot starve the others; what
 * is kept of the bytes is the receiver's business. Works on pipes, sockets and terminals,
 * and on regular files and /dev/null, which epoll does not take. The descriptor is
 * borrowed and its flags are left alone. */
#pragma once
#include "base/view.h"

struct error;
struct input;
struct loop;

enum { INPUT_CHUNK = 64 * 1024 }; /* the most that comes at once */

struct input_events {
	void (*bytes)(void *ctx, struct view bytes);
	/* Last call: NULL for the end, or why reading failed. */
	void (*end)(void *ctx, const struct error *why);
};

struct input *input_new(struct loop *loop, int fd, const struct input_events *events, void *ctx);
void input_pause(struct input *input);
void input_resume(struct input *input);
struct input *input_free(struct input *input); /* also from within its own callback */
