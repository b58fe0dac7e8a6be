/* mirror_reply.c - answers to installers (see internal.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "egress/mirror/internal.h"

int mirror_reply_bytes(const struct mirror *mirror, struct view bytes)
{
	struct error ignored;

	return fd_write_all(mirror->fd, bytes, &ignored);
}

int mirror_reply_head(const struct mirror *mirror, const char *type, uint64_t length)
{
	char head[300], size[48] = "";

	if (length != UINT64_MAX)
		(void)snprintf(size, sizeof size, "Content-Length: %" PRIu64 "\r\n", length);
	(void)snprintf(head, sizeof head,
	               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%sConnection: close\r\n\r\n", type,
	               size);
	return mirror_reply_bytes(mirror, view_of(head));
}

/* 502 for a failure of the index: installers try again after 500 and 503, which would only make
 * their user wait. */
void mirror_reply_error(const struct mirror *mirror, const struct error *why)
{
	const char *status = why->kind == ERR_NOT_FOUND ? "404 Not Found"
	                     : why->kind == ERR_INVALID ? "400 Bad Request"
	                                                : "502 Bad Gateway";
	char answer[sizeof why->msg + 300];

	(void)snprintf(answer, sizeof answer,
	               "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
	               "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
	               status, strlen(why->msg) + 1, why->msg);
	(void)!mirror_reply_bytes(mirror, view_of(answer));
}
