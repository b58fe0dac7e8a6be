#include "sandbox/run/code_dir.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/error.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"

void code_dir_choose(struct code_dir *dir, const char *below)
{
	uint32_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		abort();
	(void)snprintf(dir->path, sizeof dir->path, "%s/belljar-%u", below, number);
}

void code_dir_remove(struct code_dir *dir, struct sandbox *sandbox)
{
	static const struct channel_stream_events no_events;
	struct channel *channel = dir->path[0] != '\0' ? sandbox_channel(sandbox) : NULL;
	struct wire_message request = { .type = WIRE_REMOVE };
	struct channel_stream *stream;
	struct error err;

	/* WIRE_RECURSIVE does not follow links: code may have put one into its directory. */
	if (channel != NULL) {
		request.remove = (struct wire_remove){ WIRE_RECURSIVE, view_of(dir->path) };
		(void)!channel_open(channel, &request, &no_events, NULL, &stream, &err);
	}
	dir->path[0] = '\0';
}
