#include "agent/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/mem.h"

/* Credit is given back in large pieces, to send few messages, or when the server has none left,
 * because it may be waiting for it then. */
static void give_credit(struct feed *feed, size_t bytes)
{
	feed->owed += bytes;
	if (feed->owed < feed->window / 4 && feed->stream->wire.credit[feed->channel] != 0)
		return;
	if (feed->owed != 0 && !feed->ending)
		stream_send_credit(feed->stream, feed->channel, feed->owed);
	feed->owed = 0;
}

void feed_close(struct feed *feed)
{
	source_close(&feed->source);
	free(feed->queue);
	feed->queue = NULL;
	feed->start = feed->end = 0;
}

static void discard_queue(struct feed *feed)
{
	size_t waiting = feed->end - feed->start;

	feed_close(feed);
	give_credit(feed, waiting);
}

/* Sends one frame as one packet. Returns how many of the bytes were sent, 0 for an END, or -1 and
 * errno. */
static ssize_t send_packet(const struct feed *feed, enum wire_type type, struct view bytes)
{
	struct wire_frame frame = { .type = (uint8_t)type, .channel = WIRE_IN };
	char header[WIRE_HEADER];
	union {
		const char *in;
		char *out;
	} same = { bytes.ptr }; /* iovec has no const; sendmsg() only reads */
	struct iovec parts[2];

	if (bytes.len > FEED_PACKET_MAX)
		bytes.len = FEED_PACKET_MAX;
	frame.payload = bytes;
	wire_frame_header(&frame, header);
	parts[0] = (struct iovec){ header, sizeof header };
	parts[1] = (struct iovec){ same.out, bytes.len };
	if (sendmsg(feed->source.fd, &(struct msghdr){ .msg_iov = parts, .msg_iovlen = 2 },
	            MSG_NOSIGNAL) < 0)
		return -1;
	return (ssize_t)bytes.len;
}

/* The last call on a feed: `drained` may end the stream that the feed is embedded in. */
static void finish_feed(struct feed *feed)
{
	if (feed->packets && send_packet(feed, WIRE_END, (struct view){ "", 0 }) < 0 &&
	    errno == EAGAIN)
		return source_want(&feed->source, EPOLLOUT);
	free(feed->queue);
	feed->queue = NULL;
	if (feed->drained != NULL)
		feed->drained(feed);
	else
		source_close(&feed->source);
}

/* Returns how many bytes were written; -1: the reader is gone. */
static ssize_t write_bytes(const struct feed *feed, struct view bytes)
{
	ssize_t n;

	do
		n = feed->packets ? send_packet(feed, WIRE_DATA, bytes)
		                  : write(feed->source.fd, bytes.ptr, bytes.len);
	while (n < 0 && errno == EINTR);
	return n < 0 && errno == EAGAIN ? 0 : n;
}

static void on_ready(struct source *source, uint32_t events)
{
	struct feed *feed = container_of(source, struct feed, source);
	ssize_t n;

	(void)events;
	if (source->fd < 0)
		return;
	if (feed->end == feed->start) {
		source_want(source, 0);
		if (feed->ending)
			finish_feed(feed);
		return;
	}
	n = write_bytes(feed, (struct view){ feed->queue + feed->start, feed->end - feed->start });
	if (n < 0) {
		discard_queue(feed);
		if (feed->ending)
			finish_feed(feed);
		return;
	}
	feed->start += (size_t)n;
	give_credit(feed, (size_t)n);
	if (feed->start != feed->end)
		return;
	feed->start = feed->end = 0;
	source_want(source, 0);
	if (feed->ending)
		finish_feed(feed);
}

void feed_grow(struct feed *feed, size_t bytes)
{
	feed->window += bytes;
	stream_send_credit(feed->stream, feed->channel, bytes);
}

int feed_open(struct feed *feed, struct stream *stream, uint8_t channel, int fd,
              void (*drained)(struct feed *), struct error *err)
{
	*feed = (struct feed){
		.stream = stream, .channel = channel, .window = WIRE_WINDOW, .drained = drained
	};
	return source_add(&feed->source, stream->agent->poller.inner, fd, 0, on_ready, err);
}

void feed_open_discarding(struct feed *feed, struct stream *stream, uint8_t channel)
{
	*feed = (struct feed){
		.source.fd = -1, .stream = stream, .channel = channel, .window = WIRE_WINDOW
	};
}

/* The queue cannot overflow: the server has credit for one window at most, and is given more only
 * for bytes that have left the queue. */
static void enqueue_bytes(struct feed *feed, struct view bytes)
{
	if (feed->queue == NULL)
		feed->queue = mem_new(feed->window);
	if (feed->window - feed->end < bytes.len) {
		memmove(feed->queue, feed->queue + feed->start, feed->end - feed->start);
		feed->end -= feed->start;
		feed->start = 0;
	}
	memcpy(feed->queue + feed->end, bytes.ptr, bytes.len);
	feed->end += bytes.len;
	source_want(&feed->source, EPOLLOUT);
}

void feed_put(struct feed *feed, struct view bytes)
{
	ssize_t n = 0;

	if (feed->source.fd < 0)
		return give_credit(feed, bytes.len);
	if (feed->end == feed->start)
		n = write_bytes(feed, bytes);
	if (n < 0) {
		discard_queue(feed);
		return give_credit(feed, bytes.len);
	}
	bytes.ptr += n;
	bytes.len -= (size_t)n;
	if (bytes.len != 0)
		enqueue_bytes(feed, bytes);
	give_credit(feed, (size_t)n);
}

void feed_end(struct feed *feed)
{
	feed->ending = true;
	if (feed->end == feed->start)
		finish_feed(feed);
}
