/* gate_answer.c - what the gate itself answers to a request, by HTTP or SOCKS (see internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/gate/internal.h"

enum { ANSWERED_MS = 2000 }; /* for the program to read a refusal and close */

/* Ends the program's direction too: bytes that it still sends are discarded. A connection that is
 * closed with unread bytes is reset, and the program might not see the answer. */
static void finish_answer(struct gate_link *link)
{
	link->state = LINK_ANSWERED;
	buf_clear(&link->head);
	if (link->pending.len == 0)
		channel_send_end(link->stream, WIRE_IN);
	link->outside_ended = true;
	loop_timer_start(link->timer, ANSWERED_MS);
}

static void answer_http(struct gate_link *link, const char *status, const char *text)
{
	char answer[1024];
	int len = snprintf(answer, sizeof answer,
	                   "HTTP/1.1 %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n"
	                   "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
	                   status,
	                   strncmp(status, "407", 3) == 0
	                           ? "Proxy-Authenticate: Basic realm=\"belljar\"\r\n"
	                           : "",
	                   strlen(text) + 1, text);

	gate_link_send(link, (struct view){ answer, (size_t)len });
	finish_answer(link);
}

static void answer_socks(struct gate_link *link, enum proxy_socks_status status)
{
	struct proxy_socks_reply reply;

	proxy_socks_answer(status, &reply);
	gate_link_send(link, (struct view){ reply.bytes, reply.len });
}

void gate_answer_refusal(struct gate_link *link, const struct error *why)
{
	gate_link_log(link, false, why->msg);
	if (!link->is_socks)
		return answer_http(link, "403 Forbidden", why->msg);
	answer_socks(link, SOCKS_NOT_ALLOWED);
	finish_answer(link);
}

void gate_answer_malformed(struct gate_link *link, const struct error *why)
{
	gate_link_log(link, false, why->msg);
	if (link->is_socks)
		finish_answer(link);
	else
		answer_http(link, "400 Bad Request", why->msg);
}

void gate_answer_failure(struct gate_link *link, const struct error *why)
{
	gate_link_log(link, true, why->msg);
	if (!link->is_socks)
		return answer_http(link, "502 Bad Gateway", why->msg);
	answer_socks(link, SOCKS_UNREACHABLE);
	finish_answer(link);
}

void gate_answer_instead(struct gate_link *link, const struct error *why)
{
	char target[NET_HOST_SIZE];
	struct error err = *why;

	(void)net_host_text(&link->host, link->port, target);
	(void)error_wrap(&err, "%s", target);
	gate_relay_stop(link);
	gate_link_log(link, false, err.msg);
	/* The rest of the request is read and discarded. */
	channel_consumed(link->stream, WIRE_OUT, link->unconfirmed);
	link->unconfirmed = 0;
	answer_http(link, "502 Bad Gateway", err.msg);
}

void gate_answer_stranger(struct gate_link *link, const struct error *why)
{
	gate_link_log(link, false, why->msg);
	if (!link->is_socks)
		return answer_http(link, "407 Proxy Authentication Required", why->msg);
	answer_socks(link, SOCKS_NOT_ALLOWED);
	finish_answer(link);
}

void gate_answer_connected(struct gate_link *link)
{
	if (link->is_socks)
		answer_socks(link, SOCKS_SUCCEEDED);
	else
		gate_link_send(link, view_of("HTTP/1.1 200 Connection established\r\n\r\n"));
}
