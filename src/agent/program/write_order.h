/* write_order.h - the order in which a program wrote to stdout, stderr and its control socket.
 *
 * Two pipes that are readable do not tell which of them was written to first. With O_ASYNC and
 * F_SETSIG the kernel queues one real-time signal for each write(2), with the number of the
 * descriptor, also if the pipe was not empty. The agent reads these signals with a signalfd, in the
 * order of the writes.
 *
 * A signal does not tell how many bytes were written, and the kernel joins small writes in one
 * page. Where writes to the other pipe came between such writes, the bytes are divided at the ends
 * of lines: most programs write each line at once, or each line in as many writes as the others.
 * Packet mode (O_DIRECT) would keep writes apart, but there each small write takes a whole page: a
 * program with a non-blocking stdout (Node.js) gets EAGAIN after 16 or 64 short lines, and loses
 * the rest if it exits then.
 *
 * Without the signals (a kernel without F_SETSIG, a full queue) output is sent as the pipes become
 * readable. Nothing waits for a signal, so only the order can be lost. A program that writes more
 * than FLOOD times in a second gets no more signals in that second, unless it is given input.
 *
 *   write_order_watch()  for a descriptor, before the program starts
 *   write_order_add(), write_order_next() ..., write_order_remove()  for its pump */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct program;
struct pump;

/* As many changes between the streams as an answer of the server shows. */
enum { WRITE_STRETCHES_MAX = 64 };

struct write_order {
	struct write_stretch { /* writes to one pump in a row */
		uint32_t writes;
		uint32_t bytes; /* still to be sent of them; 0: not known yet */
		uint8_t pump;
	} stretches[WRITE_STRETCHES_MAX]; /* that were not sent yet, oldest first */
	uint8_t count;
	uint8_t quiet;     /* bits: the pumps whose signals are switched off */
	uint8_t closed;    /* bits: the pumps whose write end was closed before the last signals */
	uint32_t signals;  /* how many came */
	uint32_t writes;   /* since since_ms */
	uint64_t since_ms; /* when the second began in which writes are counted */
};

/* Without memory or descriptors there is no order. */
void write_order_init(void);
void write_order_watch(int fd);

void write_order_add(struct pump *pump);
/* The descriptor is still open: its number must not be reused while a signal with it waits. */
void write_order_remove(struct pump *pump);

/* The pump that is to send now, while `ready` is readable, and how many bytes at most. */
struct pump *write_order_next(struct pump *ready, size_t *ret_max);
/* The program is given input: signals are switched on for what it prints in answer. */
void write_order_renew(struct program *program);
