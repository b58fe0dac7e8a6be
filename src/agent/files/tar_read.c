#include "agent/files/tar_read.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

enum {
	EXTENDED_MAX = 8,              /* headers in front of one entry */
	SPARSE_BLOCKS_MAX = 64 * 1024, /* of the map of one sparse file */
	BEHIND_MAX = 16 * 1024 * 1024, /* bytes behind the archive's end */
	SPARSE_MORE = 504,             /* in a block of the map: another one follows */
};

void tar_reader_init(struct tar_reader *reader, tar_source_fn *source, void *ctx)
{
	*reader = (struct tar_reader){ .source = source, .ctx = ctx };
	buf_init(&reader->records, TAR_PAX_MAX);
}

void tar_reader_done(struct tar_reader *reader)
{
	buf_done(&reader->records);
}

/* --- bytes ------------------------------------------------------------------------- */

/* Up to max bytes, at least one: 1; 0 at the end. */
static int take(struct tar_reader *reader, uint64_t max, struct view *ret, struct error *err)
{
	while (reader->ahead.len == 0) {
		/* Nobody may ask again after the end: the answer would never come. */
		int r = reader->dry ? 0 : reader->source(reader->ctx, &reader->ahead, err);

		if (r <= 0) {
			reader->ahead.len = 0;
			reader->dry = true;
			return r;
		}
	}
	reader->any = true;
	*ret = reader->ahead;
	if (ret->len > max)
		ret->len = (size_t)max;
	reader->ahead.ptr += ret->len;
	reader->ahead.len -= ret->len;
	return 1;
}

static int cut_short(const struct tar_reader *reader, struct error *err)
{
	return error_set(err, ERR_SYNTAX, "the archive ends within %s", reader->where);
}

/* One block into reader->block: 1; 0 if there is not one byte more. */
static int take_block(struct tar_reader *reader, struct error *err)
{
	size_t used = 0;

	while (used < TAR_BLOCK) {
		struct view bytes;
		int r = take(reader, TAR_BLOCK - used, &bytes, err);

		if (r < 0)
			return -1;
		if (r == 0)
			return used == 0 ? 0 : cut_short(reader, err);
		memcpy(reader->block + used, bytes.ptr, bytes.len);
		used += bytes.len;
	}
	return 1;
}

int tar_data(struct tar_reader *reader, struct view *ret, struct error *err)
{
	int r;

	if (reader->left == 0)
		return 0;
	r = take(reader, reader->left, ret, err);
	if (r == 0)
		return cut_short(reader, err);
	if (r > 0)
		reader->left -= ret->len;
	return r;
}

/* Over the rest of the data and what fills up its last block. */
static int pass_over(struct tar_reader *reader, struct error *err)
{
	struct view bytes;
	int r;

	reader->left += reader->padding;
	reader->padding = 0;
	while ((r = tar_data(reader, &bytes, err)) > 0)
		;
	return r;
}

static void expect_data(struct tar_reader *reader, uint64_t size)
{
	reader->left = size;
	reader->padding = tar_padding(size);
}

/* --- headers ----------------------------------------------------------------------- */

static const char *compression(const char *block)
{
	static const struct {
		const char *name, *magic;
	} known[] = {
		{ "gzip", "\x1f\x8b" },
		{ "bzip2", "BZh" },
		{ "xz", "\xfd"
		        "7zXZ" },
		{ "zstd", "\x28\xb5\x2f\xfd" },
		{ "zip", "PK\x03\x04" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (memcmp(block, known[i].magic, strlen(known[i].magic)) == 0)
			return known[i].name;
	return NULL;
}

static int not_a_header(const struct tar_reader *reader, struct error *err)
{
	const char *packed = reader->number == 1 ? compression(reader->block) : NULL;

	if (packed != NULL)
		return error_set(err, ERR_SYNTAX,
		                 "this is a %s file, not a tar archive: send it unpacked", packed);
	return error_wrap(err, "%s", reader->where);
}

/* The data of an extended header into reader->records. */
static int take_records(struct tar_reader *reader, const char *what, size_t max, struct error *err)
{
	struct view bytes;
	int r;

	if (reader->header.size > max)
		return error_set(err, ERR_LIMIT, "%s: its %s has %llu bytes (at most %zu)",
		                 reader->where, what, (unsigned long long)reader->header.size, max);
	buf_clear(&reader->records);
	expect_data(reader, reader->header.size);
	while ((r = tar_data(reader, &bytes, err)) > 0)
		if (buf_add(&reader->records, bytes, err) < 0)
			return -1;
	return r < 0 ? -1 : pass_over(reader, err);
}

static int take_pax(struct tar_reader *reader, struct tar_extra *extra, struct error *err)
{
	if (take_records(reader, "pax header", TAR_PAX_MAX, err) < 0)
		return -1;
	if (tar_pax_read(buf_view(&reader->records), extra, err) < 0)
		return error_wrap(err, "%s", reader->where);
	return 0;
}

static int take_long(struct tar_reader *reader, bool is_link, struct error *err)
{
	if (take_records(reader, is_link ? "GNU long link" : "GNU long name", TAR_LONG_MAX, err) <
	    0)
		return -1;
	if (tar_long_read(buf_view(&reader->records), is_link, &reader->own, err) < 0)
		return error_wrap(err, "%s", reader->where);
	return 0;
}

/* 1: that was an extended header; 0: it is an entry's own. */
static int take_extended(struct tar_reader *reader, struct error *err)
{
	int r;

	switch (reader->header.type) {
	case 'x':
	case 'X': /* Solaris */
		r = take_pax(reader, &reader->own, err);
		break;
	case 'g':
		r = take_pax(reader, &reader->global, err);
		break;
	case 'L':
	case 'K':
		r = take_long(reader, reader->header.type == 'K', err);
		break;
	default:
		return 0;
	}
	return r < 0 ? -1 : 1;
}

/* GNU's map of a sparse file goes on in blocks that its size does not count. */
static int pass_sparse_map(struct tar_reader *reader, struct error *err)
{
	bool more = reader->header.sparse_more;

	for (unsigned blocks = 0; more; blocks++) {
		int r = take_block(reader, err);

		if (r < 0)
			return -1;
		if (r == 0)
			return cut_short(reader, err);
		if (blocks == SPARSE_BLOCKS_MAX)
			return error_set(err, ERR_LIMIT, "%s: its map of holes is too long",
			                 reader->where);
		more = reader->block[SPARSE_MORE] != '\0';
	}
	return 0;
}

/* --- entries ----------------------------------------------------------------------- */

static enum tar_type type_of(const struct tar_reader *reader, const char *name)
{
	size_t len = strlen(name);

	switch (reader->header.type) {
	case '0':
	case '\0':
	case '7':
		if (reader->own.sparse || reader->global.sparse)
			return TAR_OTHER;
		/* Before there was a type for directories, they were files with a slash. */
		return len != 0 && name[len - 1] == '/' ? TAR_DIRECTORY : TAR_FILE;
	case '1':
		return TAR_HARDLINK;
	case '2':
		return TAR_SYMLINK;
	case '5':
		return TAR_DIRECTORY;
	default:
		return TAR_OTHER;
	}
}

static const struct tar_extra *said_by(const struct tar_reader *reader, bool own, bool global)
{
	return own ? &reader->own : global ? &reader->global : NULL;
}

/* Its own extended header is stronger than a global one, and that than the header. */
static void put_together(const struct tar_reader *reader, struct tar_entry *entry)
{
	const struct tar_extra *own = &reader->own, *global = &reader->global, *extra;
	const struct tar_header *header = &reader->header;

	*entry = (struct tar_entry){ .mode = header->mode };
	extra = said_by(reader, own->has_name, global->has_name);
	entry->name = extra != NULL ? extra->name : header->name;
	extra = said_by(reader, own->has_link, global->has_link);
	entry->link = extra != NULL ? extra->link : header->link;
	extra = said_by(reader, own->has_size, global->has_size);
	entry->size = extra != NULL ? extra->size : header->size;
	extra = said_by(reader, own->has_mtime, global->has_mtime);
	entry->mtime = extra != NULL ? extra->mtime : header->mtime;
	entry->type = type_of(reader, entry->name);
}

static void name_place(struct tar_reader *reader, const char *name)
{
	char shown[96];

	(void)snprintf(reader->where, sizeof reader->where, "entry %llu ('%s')",
	               (unsigned long long)reader->number,
	               utf8_escape(view_of(name), shown, sizeof shown));
}

/* Whether bytes follow a header that needs none is where tar programs disagree: one would
 * read as data what another takes for entries. A hard link's size is that of its file, as
 * everybody agrees. */
static int settle_size(struct tar_reader *reader, struct tar_entry *entry, struct error *err)
{
	char type = reader->header.type;

	if (entry->type == TAR_HARDLINK)
		entry->size = 0;
	if (entry->size != 0 && (entry->type == TAR_DIRECTORY || (type >= '2' && type <= '6')))
		return error_set(err, ERR_SYNTAX,
		                 "%s: it is not a file, but has %llu bytes of data", reader->where,
		                 (unsigned long long)entry->size);
	expect_data(reader, entry->size);
	return 0;
}

/* The end: what still comes is read, so that the sender can finish, but not without end. */
static int finish(struct tar_reader *reader, struct error *err)
{
	uint64_t behind = 0;
	struct view bytes;
	int r;

	reader->ended = true;
	while ((r = take(reader, UINT64_MAX, &bytes, err)) > 0) {
		behind += bytes.len;
		if (behind > BEHIND_MAX)
			return error_set(err, ERR_LIMIT,
			                 "more than %d bytes behind the archive's end", BEHIND_MAX);
	}
	return r;
}

/* One header of any kind: 1; 0 where nothing or zeros stand in its place. */
static int take_any_header(struct tar_reader *reader, struct error *err)
{
	int r = take_block(reader, err);

	if (r <= 0)
		return r;
	r = tar_decode(reader->block, &reader->header, err);
	return r < 0 ? not_a_header(reader, err) : r;
}

static int end_here(struct tar_reader *reader, struct error *err)
{
	if (!reader->any)
		return error_set(err, ERR_SYNTAX, "the archive is empty: no bytes came");
	return finish(reader, err);
}

/* The next header that is not an extended one: 1, 0 at the end. */
static int take_header(struct tar_reader *reader, struct error *err)
{
	for (unsigned extended = 0;; extended++) {
		int r = take_any_header(reader, err);

		if (r < 0)
			return -1;
		if (r == 0)
			return extended == 0 ? end_here(reader, err) : cut_short(reader, err);
		r = take_extended(reader, err);
		if (r <= 0)
			return r < 0 ? -1 : 1;
		if (extended == EXTENDED_MAX)
			return error_set(err, ERR_LIMIT, "%s: more than %d extended headers",
			                 reader->where, EXTENDED_MAX);
	}
}

int tar_next(struct tar_reader *reader, struct tar_entry *ret, struct error *err)
{
	struct tar_entry entry;
	int r;

	if (reader->ended)
		return 0;
	if (pass_over(reader, err) < 0)
		return -1;
	reader->number++;
	(void)snprintf(reader->where, sizeof reader->where, "entry %llu",
	               (unsigned long long)reader->number);
	reader->own = (struct tar_extra){ 0 };
	r = take_header(reader, err);
	if (r <= 0)
		return r;
	put_together(reader, &entry);
	name_place(reader, entry.name);
	if (pass_sparse_map(reader, err) < 0 || settle_size(reader, &entry, err) < 0)
		return -1;
	*ret = entry;
	return 1;
}
