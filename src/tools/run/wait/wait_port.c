#include "tools/run/wait/wait_port.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"

enum { POLL_MS = 200, TABLE_MAX = 256 * 1024 };

static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };

/* Cuts the next word from the front. False: there is none. */
static bool next_word(struct view *rest, struct view *ret)
{
	size_t skip = 0, len = 0;

	while (skip < rest->len && rest->ptr[skip] == ' ')
		skip++;
	while (skip + len < rest->len && rest->ptr[skip + len] != ' ')
		len++;
	*ret = (struct view){ rest->ptr + skip, len };
	*rest = (struct view){ rest->ptr + skip + len, rest->len - skip - len };
	return len != 0;
}

/* A line is "0: 0100007F:1F90 00000000:0000 0A ...": number, own address, other address, state. */
static bool line_listens(struct view line, const char *suffix)
{
	struct view number, own, other, state;
	size_t len = strlen(suffix);

	return next_word(&line, &number) && next_word(&line, &own) && next_word(&line, &other) &&
	       next_word(&line, &state) && view_is(state, "0A") && own.len > len &&
	       memcmp(own.ptr + own.len - len, suffix, len) == 0;
}

bool wait_port_is_listed(struct view table, uint16_t port)
{
	struct view line;
	char suffix[8];

	(void)snprintf(suffix, sizeof suffix, ":%04X", port);
	while (view_next_line(&table, &line))
		if (line_listens(line, suffix))
			return true;
	return false;
}

static void read_table(struct wait_port *wait);

static void on_read(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct wait_port *wait = ctx;

	wait->op = NULL;
	if (why == NULL && wait_port_is_listed(reply->bytes, wait->port)) {
		wait->is_open = true;
		wait->fn(wait->ctx);
		return;
	}
	wait->table = (wait->table + 1) % ARRAY_LEN(tables);
	if (wait->table != 0)
		read_table(wait);
	else
		loop_timer_start(wait->timer, POLL_MS);
}

static void read_table(struct wait_port *wait)
{
	const struct wire_message request = { .type = WIRE_READ,
		                              .read = { .unit = WIRE_UNIT_BYTES,
		                                        .count = TABLE_MAX,
		                                        .max = TABLE_MAX,
		                                        .path = view_of(tables[wait->table]) } };
	struct sandbox *sandbox = wait->find_sandbox(wait->ctx);
	struct channel *channel = sandbox != NULL ? sandbox_channel(sandbox) : NULL;
	struct error err;

	if (channel == NULL || files_start(channel, &request, (struct view){ 0 }, TABLE_MAX,
	                                   on_read, wait, &wait->op, &err) < 0)
		loop_timer_start(wait->timer, POLL_MS);
}

static void on_timer(void *ctx)
{
	read_table(ctx);
}

void wait_port_start(struct wait_port *wait, struct loop *loop)
{
	wait->timer = loop_timer_new(loop, on_timer, wait);
	loop_timer_start(wait->timer, 0);
}

void wait_port_stop(struct wait_port *wait)
{
	if (wait->op != NULL)
		files_cancel(wait->op);
	wait->op = NULL;
	if (wait->timer != NULL)
		wait->timer = loop_timer_free(wait->timer);
}
