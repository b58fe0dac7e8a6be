#include "sandbox/copy/tar_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/copy/ignore.h"
#include "wire/tar_pax.h"

enum state { HEADER, RECORDS, DATA, END };

struct tar_filter {
	const struct ignore *ignore; /* or NULL */
	bool masks_modes;
	enum state state;
	struct buf ahead; /* blocks of the entry whose name is not known yet */
	uint64_t left;    /* bytes of this state that have not come */
	size_t records;   /* of RECORDS: bytes without the padding */
	bool keeps;       /* the data of this entry is passed on */
	bool has_extra;
	struct tar_extra extra;
	uint64_t left_out;
	uint64_t entries, bytes; /* that were passed on */
};

_Static_assert(TAR_FILTER_MORE >= TAR_PAX_MAX + 4 * TAR_BLOCK, "an extended header may wait");

static void begin(struct tar_filter *filter, enum state state, uint64_t left)
{
	filter->state = state;
	filter->left = left;
}

struct tar_filter *tar_filter_new(const struct ignore *ignore)
{
	struct tar_filter *filter = mem_new(sizeof *filter);

	filter->ignore = ignore;
	buf_init(&filter->ahead, TAR_FILTER_MORE);
	begin(filter, HEADER, TAR_BLOCK);
	return filter;
}

void tar_filter_mask_modes(struct tar_filter *filter)
{
	filter->masks_modes = true;
}

struct tar_filter *tar_filter_free(struct tar_filter *filter)
{
	if (filter != NULL)
		buf_done(&filter->ahead);
	free(filter);
	return NULL;
}

/* --- one entry ------------------------------------------------------------------------- */

static struct view name_of(const struct tar_filter *filter, const struct tar_header *header)
{
	struct view name = view_of(filter->extra.has_name ? filter->extra.name : header->name);

	while (name.len > 0 && name.ptr[name.len - 1] == '/')
		name.len--;
	return name;
}

/* Files, links of both kinds, directories. */
static bool is_packed(char type)
{
	return type == '0' || type == '1' || type == '2' || type == '5';
}

static int judge(struct tar_filter *filter, struct view name, bool is_directory, struct error *err)
{
	filter->keeps = true;
	if (filter->ignore == NULL)
		return 0;
	ignore_credit(filter->ignore);
	filter->keeps = !ignore_has(filter->ignore, name, is_directory);
	return ignore_check(filter->ignore, err);
}

static int take_entry(struct tar_filter *filter, const struct tar_header *header, struct buf *out,
                      struct error *err)
{
	uint64_t size = filter->extra.has_size ? filter->extra.size : header->size;
	bool is_directory = header->type == '5';

	if (!is_packed(header->type))
		return error_set(err, ERR_SYNTAX, "the archive has an entry of type %d",
		                 header->type);
	if (size > TAR_SIZE_MAX || (header->type != '0' && size != 0))
		return error_set(err, ERR_SYNTAX, "the archive has an entry of a wrong size");
	if (judge(filter, name_of(filter, header), is_directory, err) < 0)
		return -1;
	if (filter->masks_modes)
		tar_set_mode(filter->ahead.ptr + filter->ahead.len - TAR_BLOCK,
		             header->mode & 0755);
	if (filter->keeps && buf_add(out, buf_view(&filter->ahead), err) < 0)
		return -1;
	filter->left_out += !filter->keeps;
	filter->entries += filter->keeps;
	buf_clear(&filter->ahead);
	filter->extra = (struct tar_extra){ 0 };
	filter->has_extra = false;
	size += tar_padding(size);
	if (size == 0)
		begin(filter, HEADER, TAR_BLOCK);
	else
		begin(filter, DATA, size);
	return 0;
}

static int take_header(struct tar_filter *filter, struct buf *out, struct error *err)
{
	struct tar_header header;
	int r = tar_decode(filter->ahead.ptr + filter->ahead.len - TAR_BLOCK, &header, err);

	if (r < 0)
		return -1;
	if (r == 0) {
		if (filter->has_extra)
			return error_set(err, ERR_SYNTAX, "the archive ends within an entry");
		begin(filter, END, 0);
		r = buf_add(out, buf_view(&filter->ahead), err);
		buf_clear(&filter->ahead);
		return r;
	}
	if (header.type != 'x')
		return take_entry(filter, &header, out, err);
	if (filter->has_extra || header.size == 0 || header.size > TAR_PAX_MAX)
		return error_set(err, ERR_SYNTAX, "the archive has a wrong extended header");
	filter->has_extra = true;
	filter->records = (size_t)header.size;
	begin(filter, RECORDS, header.size + tar_padding(header.size));
	return 0;
}

static int take_records(struct tar_filter *filter, struct error *err)
{
	struct view records = { filter->ahead.ptr + TAR_BLOCK, filter->records };

	if (tar_pax_read(records, &filter->extra, err) < 0)
		return -1;
	begin(filter, HEADER, TAR_BLOCK);
	return 0;
}

/* --- the stream -------------------------------------------------------------------------- */

static int take_part(struct tar_filter *filter, struct view part, struct buf *out,
                     struct error *err)
{
	switch (filter->state) {
	case END:
		return buf_add(out, part, err);
	case DATA:
		if (filter->keeps && buf_add(out, part, err) < 0)
			return -1;
		filter->bytes += filter->keeps ? part.len : 0;
		if (filter->left == 0)
			begin(filter, HEADER, TAR_BLOCK);
		return 0;
	case HEADER:
		if (buf_add(&filter->ahead, part, err) < 0)
			return -1;
		return filter->left == 0 ? take_header(filter, out, err) : 0;
	case RECORDS:
		break;
	}
	if (buf_add(&filter->ahead, part, err) < 0)
		return -1;
	return filter->left == 0 ? take_records(filter, err) : 0;
}

int tar_filter_take(struct tar_filter *filter, struct view bytes, struct buf *out,
                    struct error *err)
{
	while (bytes.len != 0) {
		struct view part = bytes;

		if (filter->state != END) {
			if (part.len > filter->left)
				part.len = (size_t)filter->left;
			filter->left -= part.len;
		}
		if (take_part(filter, part, out, err) < 0)
			return -1;
		bytes.ptr += part.len;
		bytes.len -= part.len;
	}
	return 0;
}

bool tar_filter_is_done(const struct tar_filter *filter)
{
	return filter->state == END;
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
