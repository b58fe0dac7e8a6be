#include "sandbox/copy/tar_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/copy/ignore.h"
#include "wire/tar_parser.h"

_Static_assert(TAR_FILTER_MORE >= TAR_HEAD_MAX + TAR_TRAILER, "a head may wait for its last byte");

struct tar_filter {
	const struct ignore *ignore;       /* or NULL */
	bool keeps;                        /* the entry under way is passed on */
	uint64_t left_out, entries, bytes; /* entries left out; entries and bytes passed on */
	struct tar_parser parser;
};

struct tar_filter *tar_filter_new(const struct ignore *ignore)
{
	struct tar_filter *filter = mem_new(sizeof *filter);

	filter->ignore = ignore;
	tar_parser_init(&filter->parser);
	return filter;
}

struct tar_filter *tar_filter_free(struct tar_filter *filter)
{
	free(filter);
	return NULL;
}

/* The first entry of a hostile archive may name a path that takes long to match: ignore_check()
 * fails when the steps are spent, and the copy ends. */
static int check_ignore(struct tar_filter *filter, const struct tar_entry *entry, struct error *err)
{
	filter->keeps = true;
	if (filter->ignore == NULL)
		return 0;
	ignore_credit(filter->ignore);
	filter->keeps = !ignore_has(filter->ignore, view_of(entry->name),
	                            entry->type == TAR_DIRECTORY);
	return ignore_check(filter->ignore, err);
}

static int take_entry(struct tar_filter *filter, struct view head, struct buf *out,
                      struct error *err)
{
	const struct tar_entry *entry = &filter->parser.entry;

	if (check_ignore(filter, entry, err) < 0)
		return -1;
	if (!filter->keeps) {
		filter->left_out++;
		return 0;
	}
	if (buf_add(out, head, err) < 0)
		return -1;
	filter->entries++;
	return 0;
}

static int take_piece(struct tar_filter *filter, const struct tar_piece *piece, struct buf *out,
                      struct error *err)
{
	if (piece->kind == TAR_PIECE_ENTRY)
		return take_entry(filter, piece->bytes, out, err);
	if (piece->kind != TAR_PIECE_END && !filter->keeps)
		return 0;
	if (piece->kind == TAR_PIECE_DATA)
		filter->bytes += piece->bytes.len;
	return buf_add(out, piece->bytes, err);
}

int tar_filter_take(struct tar_filter *filter, struct view bytes, struct buf *out,
                    struct error *err)
{
	struct tar_piece piece;
	int r;

	while ((r = tar_parse(&filter->parser, &bytes, &piece, err)) > 0)
		if (take_piece(filter, &piece, out, err) < 0)
			return -1;
	return r;
}

int tar_filter_check_end(const struct tar_filter *filter, struct error *err)
{
	return tar_parser_check_end(&filter->parser, err);
}

uint64_t tar_filter_left_out(const struct tar_filter *filter)
{
	return filter->left_out;
}

bool tar_filter_has_rules(const struct tar_filter *filter)
{
	return filter->ignore != NULL;
}

void tar_filter_passed(const struct tar_filter *filter, uint64_t *ret_entries, uint64_t *ret_bytes)
{
	*ret_entries = filter->entries;
	*ret_bytes = filter->bytes;
}
