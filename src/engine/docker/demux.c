#include "engine/docker/demux.h"

#include <string.h>

#include "base/error.h"

static int read_head(struct demux *demux, struct error *err)
{
	const unsigned char *head = demux->head;

	if (head[0] >= DEMUX_KIND_COUNT || head[1] != 0 || head[2] != 0 || head[3] != 0)
		return error_set(err, ERR_SYNTAX,
		                 "Docker sent output of a container with an unknown header: %02x "
		                 "%02x %02x %02x",
		                 head[0], head[1], head[2], head[3]);
	demux->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 |
	              head[7];
	return 0;
}

int demux_next(struct demux *demux, struct view *rest, struct demux_piece *ret, struct error *err)
{
	while (demux->left == 0) {
		size_t n = sizeof demux->head - demux->head_len;

		if (demux->head_len == sizeof demux->head) {
			demux->head_len = 0;
			continue;
		}
		if (rest->len == 0)
			return 0;
		if (n > rest->len)
			n = rest->len;
		memcpy(demux->head + demux->head_len, rest->ptr, n);
		demux->head_len += n;
		*rest = (struct view){ rest->ptr + n, rest->len - n };
		if (demux->head_len == sizeof demux->head && read_head(demux, err) < 0)
			return -1;
	}
	if (rest->len == 0)
		return 0;
	ret->kind = (enum demux_kind)demux->head[0];
	ret->bytes = (struct view){ rest->ptr, rest->len < demux->left ? rest->len : demux->left };
	demux->left -= (uint32_t)ret->bytes.len;
	*rest = (struct view){ rest->ptr + ret->bytes.len, rest->len - ret->bytes.len };
	return 1;
}

int demux_check_end(const struct demux *demux, struct error *err)
{
	if (demux->left != 0 || (demux->head_len != 0 && demux->head_len != sizeof demux->head))
		return error_set(err, ERR_SYNTAX,
		                 "the connection to the container ended in the middle of a piece "
		                 "of output");
	return 0;
}
