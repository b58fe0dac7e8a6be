#include "agent/program/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "wire/table.h"

/* Credit goes back in pieces worth a message, or when nothing waits any more. */
static void give_back(struct feed *feed, size_t bytes)
{
	feed->owed += bytes;
	if (feed->owed < WIRE_WINDOW / 4 && feed->end != feed->start)
		return;
	if (feed->owed != 0 && !feed->ending)
		stream_grant(feed->stream, feed->channel, feed->owed);
	feed->owed = 0;
}

static void swallow(struct feed *feed)
{
	size_t waiting = feed->end - feed->start;

	source_close(&feed->source);
	free(feed->queue);
	feed->queue = NULL;
	feed->start = feed->end = 0;
	give_back(feed, waiting);
}

/* One frame as one packet. What went of the bytes, 0 for an END; -1 as of write(2). */
static ssize_t put_packet(const struct feed *feed, enum wire_type type, struct view bytes)
{
	struct wire_frame frame = { .type = (uint8_t)type, .channel = WIRE_IN };
	char header[WIRE_HEADER];
	union {
		const char *in;
		char *out;
	} same = { bytes.ptr }; /* iovec has no const */
	struct iovec parts[2];

	if (bytes.len > WIRE_RECORDS_MAX)
		bytes.len = WIRE_RECORDS_MAX;
	frame.payload = bytes;
	wire_frame_header(&frame, header);
	parts[0] = (struct iovec){ header, sizeof header };
	parts[1] = (struct iovec){ same.out, bytes.len };
	if (sendmsg(feed->source.fd, &(struct msghdr){ .msg_iov = parts, .msg_iovlen = 2 },
	            MSG_NOSIGNAL) < 0)
		return -1;
	return (ssize_t)bytes.len;
}

/* The last call on a feed, like break_off(): the stream may be gone after it. */
static void finish(struct feed *feed)
{
	if (feed->packets && put_packet(feed, WIRE_END, (struct view){ "", 0 }) < 0 &&
	    errno == EAGAIN)
		return source_want(&feed->source, EPOLLOUT);
	free(feed->queue);
	feed->queue = NULL;
	if (feed->drained != NULL)
		feed->drained(feed);
	else
		source_close(&feed->source);
}

static void break_off(struct feed *feed)
{
	if (feed->broken != NULL)
		feed->broken(feed);
	else if (feed->ending)
		finish(feed);
}

/* How many went; -1: it takes none any more. */
static ssize_t put(const struct feed *feed, struct view bytes)
{
	ssize_t n;

	do
		n = feed->packets ? put_packet(feed, WIRE_DATA, bytes)
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
			finish(feed);
		return;
	}
	n = put(feed, (struct view){ feed->queue + feed->start, feed->end - feed->start });
	if (n < 0) {
		swallow(feed);
		return break_off(feed);
	}
	feed->start += (size_t)n;
	give_back(feed, (size_t)n);
	if (feed->start != feed->end)
		return;
	feed->start = feed->end = 0;
	source_want(source, 0);
	if (feed->ending)
		finish(feed);
}

int feed_start(struct feed *feed, struct stream *stream, uint8_t channel, int fd,
               void (*drained)(struct feed *), struct error *err)
{
	*feed = (struct feed){ .stream = stream, .channel = channel, .drained = drained };
	return source_add(&feed->source, stream->agent->poller.inner, fd, 0, on_ready, err);
}

void feed_swallow(struct feed *feed, struct stream *stream, uint8_t channel)
{
	*feed = (struct feed){ .source.fd = -1, .stream = stream, .channel = channel };
}

void feed_hold(struct feed *feed, struct stream *stream, uint8_t channel,
               void (*drained)(struct feed *))
{
	*feed = (struct feed){
		.source.fd = -1,
		.stream = stream,
		.channel = channel,
		.held = true,
		.drained = drained,
	};
}

int feed_release(struct feed *feed, int fd, struct error *err)
{
	bool some = feed->end != feed->start;

	if (source_add(&feed->source, feed->stream->agent->poller.inner, fd, some ? EPOLLOUT : 0,
	               on_ready, err) < 0)
		return -1;
	feed->held = false;
	if (feed->ending && !some)
		finish(feed);
	return 0;
}

/* The credit given bounds what can wait: one window, and what was granted of it again. */
static void enqueue(struct feed *feed, struct view bytes)
{
	if (feed->queue == NULL)
		feed->queue = mem_new(WIRE_WINDOW);
	if (WIRE_WINDOW - feed->end < bytes.len) {
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

	if (feed->held)
		return enqueue(feed, bytes);
	if (feed->source.fd < 0)
		return give_back(feed, bytes.len);
	if (feed->end == feed->start)
		n = put(feed, bytes);
	if (n < 0) {
		swallow(feed);
		give_back(feed, bytes.len);
		return break_off(feed);
	}
	bytes.ptr += n;
	bytes.len -= (size_t)n;
	if (bytes.len != 0)
		enqueue(feed, bytes);
	give_back(feed, (size_t)n);
}

void feed_end(struct feed *feed)
{
	feed->ending = true;
	if (feed->end == feed->start && !feed->held)
		finish(feed);
}

void feed_stop(struct feed *feed)
{
	source_close(&feed->source);
	free(feed->queue);
	feed->queue = NULL;
	feed->start = feed->end = 0;
}
