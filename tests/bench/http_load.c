/* http_load.c - a load generator for HTTP servers: many connections that repeat one request, or many
 * event streams that stay open.
 *
 *   http_load calls ADDRESS REQUEST CONNECTIONS SECONDS [PAUSE_MS]
 *   http_load streams ADDRESS REQUEST CONNECTIONS SECONDS
 *
 * ADDRESS is 127.0.0.1:PORT and REQUEST a file with the bytes of one HTTP request, in which "@@@@@@"
 * stands for the number of the connection, so that requests have different ids. `calls` sends the
 * request on every connection, again and again after each complete response and a pause. `streams`
 * sends it once and expects that no response ends. Prints one line of JSON: counts, errors, and the latency of calls
 * in microseconds. Only loopback addresses are accepted. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

enum { CONNECTIONS_MAX = 16000, REQUEST_MAX = 64 * 1024, TAIL = 64 * 1024, SAMPLES_MAX = 1 << 21 };

struct connection {
	int fd;
	char *request;    /* the bytes to send, load.request_len of them */
	size_t sent;      /* bytes of the request */
	size_t head_len;  /* bytes in `head` */
	bool in_body;     /* the head of the response is complete */
	bool is_chunked;  /* the body ends with an empty chunk */
	uint64_t missing; /* bytes of the body that have not arrived */
	char last[8];     /* the last bytes of a chunked body */
	char head[1024];  /* of the response */
	double began_us;
	double due_us;           /* the end of the pause */
	struct connection *next; /* in the queue of pauses */
};

static struct {
	char request[REQUEST_MAX];
	size_t request_len;
	bool are_calls;
	struct sockaddr_in address;
	int epoll;
	struct connection *connections;
	size_t count, open;
	uint64_t responses, errors, bytes;
	double pause_us;
	struct connection *first, **last; /* pauses, which all last equally long, by their end */
	double *samples;
	size_t sample_count;
} load;

static void read_request(const char *path)
{
	FILE *in = fopen(path, "re");

	if (in == NULL)
		die(path, strerror(errno));
	load.request_len = fread(load.request, 1, sizeof load.request, in);
	(void)fclose(in);
	if (load.request_len == 0 || load.request_len == sizeof load.request)
		die(path, "empty or too long");
}

static void parse_address(const char *text)
{
	char host[64];
	const char *colon = strrchr(text, ':');

	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		die(text, "not ADDRESS:PORT");
	(void)snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
	load.address = (struct sockaddr_in){ .sin_family = AF_INET,
		                             .sin_port = htons((uint16_t)atoi(colon + 1)) };
	if (inet_pton(AF_INET, host, &load.address.sin_addr) != 1 ||
	    (ntohl(load.address.sin_addr.s_addr) >> 24) != 127)
		die(host, "not a loopback address");
}

static void watch(struct connection *c, int op, bool wants_write)
{
	struct epoll_event event = { .events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN,
		                     .data.ptr = c };

	if (epoll_ctl(load.epoll, op, c->fd, &event) < 0)
		die("epoll_ctl", strerror(errno));
}

static void drop_connection(struct connection *c)
{
	load.errors++;
	load.open--;
	(void)close(c->fd);
	c->fd = -1;
}

static void send_request(struct connection *c)
{
	ssize_t n = send(c->fd, c->request + c->sent, load.request_len - c->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != ENOTCONN) {
		drop_connection(c);
		return;
	}
	if (n > 0)
		c->sent += (size_t)n;
	watch(c, EPOLL_CTL_MOD, c->sent < load.request_len);
}

static void begin_request(struct connection *c)
{
	c->sent = c->head_len = 0;
	c->in_body = false;
	c->began_us = now_us();
	send_request(c);
}

static char *make_request(size_t number)
{
	char *copy = malloc(load.request_len + 1);
	char digits[8];
	char *at;

	if (copy == NULL)
		die("request", "no memory");
	memcpy(copy, load.request, load.request_len);
	copy[load.request_len] = '\0';
	at = strstr(copy, "@@@@@@");
	(void)snprintf(digits, sizeof digits, "%06zu", number);
	if (at != NULL)
		memcpy(at, digits, 6);
	return copy;
}

static void open_connection(struct connection *c)
{
	int on = 1;

	c->request = make_request((size_t)(c - load.connections));
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket", strerror(errno));
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(c->fd, (struct sockaddr *)&load.address, sizeof load.address) < 0 &&
	    errno != EINPROGRESS)
		die("connect", strerror(errno));
	load.open++;
	watch(c, EPOLL_CTL_ADD, true);
	c->began_us = now_us();
}

static void finish_response(struct connection *c)
{
	load.responses++;
	if (load.sample_count < SAMPLES_MAX)
		load.samples[load.sample_count++] = now_us() - c->began_us;
	if (load.pause_us == 0) {
		begin_request(c);
		return;
	}
	c->due_us = now_us() + load.pause_us;
	c->next = NULL;
	*load.last = c;
	load.last = &c->next;
}

static void end_pauses(void)
{
	while (load.first != NULL && now_us() >= load.first->due_us) {
		struct connection *c = load.first;

		load.first = c->next;
		if (load.first == NULL)
			load.last = &load.first;
		if (c->fd >= 0)
			begin_request(c);
	}
}

/* Decodes the head of the response. Returns false if it is not one of a success. */
static bool begin_body(struct connection *c)
{
	const char *length;

	c->head[c->head_len] = '\0';
	length = strcasestr(c->head, "\r\ncontent-length:");
	c->is_chunked = strcasestr(c->head, "\r\ntransfer-encoding: chunked") != NULL;
	c->missing = length != NULL ? strtoull(length + strlen("\r\ncontent-length:"), NULL, 10)
	                            : 0;
	c->in_body = true;
	memset(c->last, 0, sizeof c->last);
	return strncmp(c->head, "HTTP/1.1 200", 12) == 0;
}

/* Takes bytes up to the end of the head. Returns how many, or -1. */
static ssize_t take_head(struct connection *c, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (c->head_len == sizeof c->head - 1)
			return -1;
		c->head[c->head_len++] = bytes[i];
		if (c->head_len < 4 || memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) != 0)
			continue;
		return begin_body(c) ? (ssize_t)i + 1 : -1;
	}
	return (ssize_t)len;
}

/* Whether a body of chunks is complete: each response here ends with the empty chunk and is the only
 * one on the way. */
static bool ends_chunks(struct connection *c, const char *bytes, size_t len)
{
	static const char end[] = "0\r\n\r\n";
	size_t keep = len < sizeof c->last ? len : sizeof c->last;

	memmove(c->last, c->last + keep, sizeof c->last - keep);
	memcpy(c->last + sizeof c->last - keep, bytes + len - keep, keep);
	return memcmp(c->last + sizeof c->last - 5, end, 5) == 0;
}

static bool take_bytes(struct connection *c, const char *bytes, size_t len)
{
	if (!c->in_body) {
		ssize_t n = take_head(c, bytes, len);

		if (n < 0)
			return false;
		bytes += n;
		len -= (size_t)n;
		if (!c->in_body)
			return true;
		if (!load.are_calls)
			load.responses++;
	}
	if (!load.are_calls)
		return !c->is_chunked || len == 0 || !ends_chunks(c, bytes, len);
	if (c->is_chunked) {
		if (len != 0 && ends_chunks(c, bytes, len))
			finish_response(c);
		return true;
	}
	c->missing -= len < c->missing ? len : c->missing;
	if (c->missing == 0)
		finish_response(c);
	return true;
}

static void on_event(struct connection *c, uint32_t events)
{
	static char bytes[TAIL];
	ssize_t n;

	if (c->fd < 0)
		return;
	if ((events & EPOLLOUT) != 0 && c->sent < load.request_len)
		send_request(c);
	if (c->fd < 0 || (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0)
		return;
	n = recv(c->fd, bytes, sizeof bytes, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || !take_bytes(c, bytes, (size_t)n)) {
		drop_connection(c);
		return;
	}
	load.bytes += (uint64_t)n;
}

static void run_load(double seconds)
{
	struct epoll_event events[256];
	double until = now_us() + seconds * 1e6;
	size_t opened = 0;

	while (now_us() < until) {
		int n;

		/* A few at a time: the queue of a listening socket is short. */
		for (size_t i = 0; i < 64 && opened < load.count; i++)
			open_connection(&load.connections[opened++]);
		end_pauses();
		n = epoll_wait(load.epoll, events, ARRAY_LEN(events),
		               opened < load.count || load.first != NULL ? 1 : 100);
		for (int i = 0; i < n; i++)
			on_event(events[i].data.ptr, events[i].events);
	}
}

int main(int argc, char **argv)
{
	struct rlimit files;
	double seconds;

	if (argc != 6 && argc != 7)
		die("usage",
		    "http_load calls|streams ADDRESS:PORT REQUEST CONNECTIONS SECONDS [PAUSE_MS]");
	load.pause_us = argc == 7 ? strtod(argv[6], NULL) * 1e3 : 0;
	load.last = &load.first;
	load.are_calls = strcmp(argv[1], "calls") == 0;
	parse_address(argv[2]);
	read_request(argv[3]);
	load.count = strtoul(argv[4], NULL, 10);
	seconds = strtod(argv[5], NULL);
	if (load.count == 0 || load.count > CONNECTIONS_MAX || seconds <= 0 || seconds > 7200)
		die(argv[4], "too many or no connections, or a bad number of seconds");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	load.connections = calloc(load.count, sizeof *load.connections);
	load.samples = calloc(SAMPLES_MAX, sizeof *load.samples);
	if (load.epoll < 0 || load.connections == NULL || load.samples == NULL)
		die("start", strerror(errno));
	run_load(seconds);
	(void)median(load.samples, load.sample_count + (load.sample_count == 0));
	printf("{\"responses\":%llu,\"errors\":%llu,\"open\":%zu,\"bytes\":%llu,\"seconds\":%.1f,"
	       "\"p50_us\":%.0f,\"p99_us\":%.0f,\"max_us\":%.0f}\n",
	       (unsigned long long)load.responses, (unsigned long long)load.errors, load.open,
	       (unsigned long long)load.bytes, seconds, load.samples[load.sample_count / 2],
	       load.samples[load.sample_count * 99 / 100],
	       load.samples[load.sample_count > 0 ? load.sample_count - 1 : 0]);
	for (size_t i = 0; i < load.count; i++)
		free(load.connections[i].request);
	free(load.samples);
	free(load.connections);
	return load.errors == 0 ? 0 : 1;
}
