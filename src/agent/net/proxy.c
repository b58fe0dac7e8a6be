#include "agent/net/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/net/proxy_request.h"
#include "base/clock.h"
#include "base/error.h"

enum { BACKLOG = 64, ACCEPTS = 16 };

/* Where bytes of any client are read to, before they are kept or dropped. */
static char scratch[PROXY_HEADER_MAX];

/* --- a client comes and goes ------------------------------------------------------- */

/* Perhaps too early, when who wanted it is gone by then; never too late. */
static void call_at(struct proxy *proxy, uint64_t at)
{
	if (proxy->next_due == 0 || at < proxy->next_due)
		proxy->next_due = at;
}

static void set_due(struct proxy_client *client, uint64_t ms)
{
	client->due = clock_now_ms() + ms;
	call_at(&client->agent->proxy, client->due);
}

static void drop(struct proxy_client *client)
{
	source_close(&client->source);
	buf_done(&client->bytes);
	client->stream = NULL;
	client->due = 0;
}

/* The client's socket, now somebody else's; the slot is free. */
static int hand_on(struct proxy_client *client)
{
	int fd = source_take(&client->source);

	drop(client);
	return fd;
}

static void linger(struct proxy_client *client)
{
	buf_done(&client->bytes);
	client->stream = NULL;
	client->state = PROXY_LINGERS;
	set_due(client, PROXY_LINGER_MS);
	(void)shutdown(client->source.fd, SHUT_WR);
	source_want(&client->source, EPOLLIN);
}

/* A few hundred bytes into an empty socket: they go at once or nobody is there. */
static void say_no(int fd, unsigned status, struct view why)
{
	AUTO_BUF struct buf answer;

	buf_init(&answer, PROXY_ANSWER_MAX);
	proxy_answer(status, why, &answer);
	(void)!write(fd, answer.ptr, answer.len);
}

static void refuse(struct proxy_client *client, unsigned status, struct view why)
{
	say_no(client->source.fd, status, why);
	linger(client);
}

/* --- what it wants ----------------------------------------------------------------- */

/* The head has come as a whole, and perhaps something behind it. */
static void ask(struct proxy_client *client, size_t head_len)
{
	struct view head = { client->bytes.ptr, head_len };
	struct view rest = { client->bytes.ptr + head_len, client->bytes.len - head_len };
	struct proxy_request request;
	struct proxy_refusal refusal;
	AUTO_BUF struct buf first;
	struct error full;

	buf_init(&first, PROXY_HEADER_MAX + PROXY_REWRITE_MAX);
	if (proxy_request_read(head, &request, &first, &refusal) < 0)
		return refuse(client, refusal.status, view_of(refusal.why));
	/* What comes behind the body is another request: it has no business there. */
	if (!request.tunnel && rest.len > request.length)
		rest.len = (size_t)request.length;
	if (buf_add(&first, rest, &full) < 0)
		return refuse(client, 431, view_of("the request's head is too long"));
	client->stream = relay_dial(client->agent, client, request.host, request.port);
	if (client->stream == NULL)
		return refuse(client, 503, view_of("64 connections are open, which is the most"));
	client->tunnel = request.tunnel;
	client->expects = request.expects;
	client->left = request.tunnel ? 0 : request.length - rest.len;
	client->state = PROXY_WAITS;
	client->due = 0;
	buf_done(&client->bytes);
	client->bytes = first;
	first = (struct buf){ 0 };
	source_want(&client->source, EPOLLRDHUP);
}

static void read_head(struct proxy_client *client)
{
	struct view bytes = { scratch, 0 };
	size_t seen = client->bytes.len;
	struct proxy_refusal refusal;
	struct error full;
	ssize_t n, len;

	n = read(client->source.fd, scratch, PROXY_HEADER_MAX - seen);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return drop(client);
	bytes.len = (size_t)n;
	if (buf_add(&client->bytes, bytes, &full) < 0)
		return drop(client);
	len = proxy_head_length_from(buf_view(&client->bytes), seen, &refusal);
	if (len > 0)
		return ask(client, (size_t)len);
	if (len < 0)
		return refuse(client, refusal.status, view_of(refusal.why));
	if (client->bytes.len == PROXY_HEADER_MAX)
		refuse(client, 431, view_of("the request's head has more than 16384 bytes"));
}

static void watch_waiting(struct proxy_client *client, uint32_t events)
{
	/* Who has said a whole request may well say that nothing follows. */
	if (!client->tunnel && !(events & (EPOLLHUP | EPOLLERR)))
		return source_want(&client->source, 0);
	if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	relay_leave(client->stream);
	drop(client);
}

static void read_in_vain(struct proxy_client *client)
{
	ssize_t n = read(client->source.fd, scratch, sizeof scratch);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		drop(client);
}

static void on_client(struct source *source, uint32_t events)
{
	struct proxy_client *client = container_of(source, struct proxy_client, source);

	switch (client->state) {
	case PROXY_ASKS:
		return read_head(client);
	case PROXY_WAITS:
		return watch_waiting(client, events);
	case PROXY_LINGERS:
		return read_in_vain(client);
	}
}

/* --- what it gets ------------------------------------------------------------------ */

void proxy_opened(struct proxy_client *client, struct stream *stream)
{
	struct wire_message first = { .type = WIRE_DATA, .data.bytes = buf_view(&client->bytes) };
	struct view word = { "", 0 };
	uint64_t left = client->left;
	bool tunnel = client->tunnel;
	int fd;

	if (tunnel)
		word = view_of("HTTP/1.1 200 Connection established\r\n\r\n");
	else if (client->expects && left != 0)
		word = view_of("HTTP/1.1 100 Continue\r\n\r\n");
	if (word.len != 0 && write(client->source.fd, word.ptr, word.len) != (ssize_t)word.len) {
		relay_leave(stream);
		return drop(client);
	}
	/* Less than the credit a stream begins with. */
	if (first.data.bytes.len != 0)
		stream_say(stream, &first, WIRE_IN);
	fd = hand_on(client);
	if (tunnel)
		relay_join(stream, fd);
	else
		relay_join_request(stream, fd, left);
}

void proxy_refused(struct proxy_client *client, enum wire_failure failure, struct view why)
{
	unsigned status = failure == WIRE_FAILED_DENIED  ? 403
	                  : failure == WIRE_FAILED_LIMIT ? 503
	                                                 : 502;

	refuse(client, status, why);
}

/* --- slots ------------------------------------------------------------------------- */

static struct proxy_client *free_slot(struct proxy *proxy)
{
	for (size_t i = 0; i < PROXY_CLIENTS; i++)
		if (proxy->clients[i].source.fd < 0)
			return &proxy->clients[i];
	return NULL;
}

static struct proxy_client *oldest(struct proxy *proxy, enum proxy_state state)
{
	struct proxy_client *found = NULL;

	for (size_t i = 0; i < PROXY_CLIENTS; i++) {
		struct proxy_client *client = &proxy->clients[i];

		if (client->state == state && (found == NULL || client->due < found->due))
			found = client;
	}
	return found;
}

/* Whoever has had its answer, or is slowest to ask, makes room: nobody can keep the others out
 * by saying nothing. */
static struct proxy_client *make_room(struct proxy *proxy)
{
	struct proxy_client *client = free_slot(proxy);

	if (client != NULL)
		return client;
	client = oldest(proxy, PROXY_LINGERS);
	if (client == NULL)
		client = oldest(proxy, PROXY_ASKS);
	if (client != NULL)
		drop(client);
	return client;
}

/* Takes over fd. */
static void settle(struct proxy_client *client, struct agent *agent, int fd, enum proxy_state state)
{
	struct error err;

	*client = (struct proxy_client){ .agent = agent, .state = state };
	buf_init(&client->bytes, PROXY_HEADER_MAX);
	if (source_add(&client->source, agent->poller.inner, fd, EPOLLIN, on_client, &err) < 0)
		(void)close(fd);
	else
		set_due(client, state == PROXY_ASKS ? PROXY_HEADER_MS : PROXY_LINGER_MS);
}

void proxy_linger(struct agent *agent, int fd)
{
	struct proxy_client *client = free_slot(&agent->proxy);

	(void)shutdown(fd, SHUT_WR);
	if (client != NULL) {
		settle(client, agent, fd, PROXY_LINGERS);
	} else {
		(void)!read(fd, scratch, sizeof scratch);
		(void)close(fd);
	}
}

static void welcome(struct agent *agent, int fd)
{
	struct proxy_client *client = make_room(&agent->proxy);

	if (client != NULL)
		return settle(client, agent, fd, PROXY_ASKS);
	(void)!read(fd, scratch, sizeof scratch);
	say_no(fd, 503, view_of("64 clients wait for a connection, which is the most"));
	(void)close(fd);
}

static void on_listener(struct source *source, uint32_t events)
{
	struct agent *agent = container_of(source, struct agent, proxy.listener);

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		/* cppcheck-suppress nullPointer ; the address is not asked for */
		int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			welcome(agent, fd);
			continue;
		}
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		/* No descriptors, no memory: it would be told of the same one without end. */
		source_want(source, 0);
		agent->proxy.paused_until = clock_now_ms() + PROXY_PAUSE_MS;
		call_at(&agent->proxy, agent->proxy.paused_until);
		return;
	}
}

int proxy_open(struct agent *agent, uint16_t port, struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons(port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct proxy *proxy = &agent->proxy;
	socklen_t len = sizeof address;
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	for (size_t i = 0; i < PROXY_CLIENTS; i++)
		proxy->clients[i].source.fd = -1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		(void)error_sys(err, "proxy on 127.0.0.1:%u", port);
	} else if (source_add(&proxy->listener, agent->poller.inner, fd, EPOLLIN, on_listener,
	                      err) == 0) {
		proxy->port = ntohs(address.sin_port);
		return 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* --- time -------------------------------------------------------------------------- */

static void client_due(struct proxy_client *client)
{
	if (client->state == PROXY_ASKS)
		refuse(client, 408, view_of("no whole request within 10 s"));
	else
		drop(client);
}

void proxy_due(struct agent *agent, uint64_t now)
{
	struct proxy *proxy = &agent->proxy;

	if (proxy->next_due == 0 || now < proxy->next_due)
		return;
	proxy->next_due = 0;
	if (proxy->paused_until > now)
		call_at(proxy, proxy->paused_until);
	else
		source_want(&proxy->listener, EPOLLIN);
	for (size_t i = 0; i < PROXY_CLIENTS; i++) {
		struct proxy_client *client = &proxy->clients[i];

		if (client->due > now)
			call_at(proxy, client->due);
		else if (client->due != 0)
			client_due(client);
	}
}
