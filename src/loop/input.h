/* input.h - reads a descriptor and passes the bytes to a callback as they arrive.
 *
 * Each event reads at most INPUT_CHUNK bytes, so a fast peer cannot starve other descriptors.
 * Pipes, sockets and terminals work, and so do regular files and /dev/null, which epoll does not
 * support. The caller owns the descriptor, which must outlive the input; its flags are not
 * changed.
 *
 *   input_new() -> bytes(), bytes() ... end() -> input_free() */
#pragma once
#include "base/view.h"

struct error;
struct input;
struct loop;

/* Most bytes of one callback: with a header of 8 bytes they are one frame of 64 KiB (src/wire).
 * Eight bytes more would be a second frame of their own, at each end a second system call. */
enum { INPUT_CHUNK = 64 * 1024 - 8 };

struct input_events {
	void (*bytes)(void *ctx, struct view bytes);
	/* The last callback. why: NULL at the end of input, or the error of read(). */
	void (*end)(void *ctx, const struct error *why);
	/* The writer has closed its end while the input is paused; bytes before the end of input
	 * may still be unread. Called at most once for each pause; NULL: not wanted. */
	void (*hung_up)(void *ctx);
};

struct input *input_new(struct loop *loop, int fd, const struct input_events *events, void *ctx);
void input_pause(struct input *input);
void input_resume(struct input *input);
struct input *input_free(struct input *input); /* may be called from its own callbacks */
