#include "wire/tar_parser.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

enum { RECORDS_MAX = TAR_HEAD_MAX - 2 * TAR_BLOCK };

static void expect_head(struct tar_parser *parser)
{
	parser->state = TAR_AT_HEAD;
	parser->left = TAR_BLOCK;
	parser->head_len = parser->records = 0;
	parser->number++;
	(void)snprintf(parser->where, sizeof parser->where, "entry %llu",
	               (unsigned long long)parser->number);
}

void tar_parser_init(struct tar_parser *parser)
{
	parser->number = 0;
	expect_head(parser);
}

/* --- numbers and texts ------------------------------------------------------------- */

/* Octal digits that fill the field, and a NUL: what put_octal() of tar.c writes. */
static bool read_octal(const char *field, size_t len, uint64_t *ret)
{
	uint64_t value = 0; /* at most 33 bits: a field has at most 11 digits */

	for (size_t i = 0; i + 1 < len; i++) {
		if (field[i] < '0' || field[i] > '7')
			return false;
		value = value << 3 | (uint64_t)(field[i] - '0');
	}
	*ret = value;
	return field[len - 1] == '\0';
}

/* The decimal digits in front of *text, taken off; false if there are none or too many. */
static bool take_number(struct view *text, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
		if (value > TAR_SIZE_MAX / 10)
			return false;
		value = value * 10 + (uint64_t)(text->ptr[i] - '0');
	}
	text->ptr += i;
	text->len -= i;
	*ret = value;
	return i != 0 && value <= TAR_SIZE_MAX;
}

/* Appends a field to out[used]; a field that is full has no terminator. Returns the new length. */
static size_t append_field(char *out, size_t used, const char *field, size_t len)
{
	size_t added = strnlen(field, len);

	memcpy(out + used, field, added);
	out[used + added] = '\0';
	return used + added;
}

/* --- pax records ------------------------------------------------------------------- */

/* A NUL would make the path that is checked another one than the path that is opened. */
static bool read_text(struct view value, char out[TAR_NAME_MAX + 1])
{
	if (value.len == 0 || value.len > TAR_NAME_MAX ||
	    memchr(value.ptr, '\0', value.len) != NULL)
		return false;
	memcpy(out, value.ptr, value.len);
	out[value.len] = '\0';
	return true;
}

static bool read_number(struct view value, uint64_t max, uint64_t *ret)
{
	return take_number(&value, ret) && value.len == 0 && *ret <= max;
}

static bool read_record(struct tar_parser *parser, struct view key, struct view value)
{
	uint64_t mtime;

	if (view_is(key, "path"))
		return read_text(value, parser->name);
	if (view_is(key, "linkpath"))
		return read_text(value, parser->link);
	if (view_is(key, "size"))
		return read_number(value, TAR_SIZE_MAX, &parser->entry.size);
	if (!view_is(key, "mtime") || !read_number(value, TAR_TIME_MAX, &mtime))
		return false;
	parser->entry.mtime = (int64_t)mtime;
	return true;
}

/* Cuts "LENGTH KEY=VALUE\n" off *records. */
static bool cut_record(struct view *records, struct view *key, struct view *value)
{
	struct view left = *records;
	const char *equals;
	uint64_t len;
	size_t used;

	/* LENGTH is compared with the bytes there are before it is used as an offset. */
	if (!take_number(&left, &len) || len > records->len || left.len == 0 || left.ptr[0] != ' ')
		return false;
	used = records->len - left.len + 1; /* the digits and the space */
	if (len <= used || records->ptr[len - 1] != '\n')
		return false;
	left = (struct view){ records->ptr + used, (size_t)len - used - 1 };
	equals = memchr(left.ptr, '=', left.len);
	if (equals == NULL)
		return false;
	*key = (struct view){ left.ptr, (size_t)(equals - left.ptr) };
	*value = (struct view){ equals + 1, left.len - key->len - 1 };
	records->ptr += len;
	records->len -= (size_t)len;
	return true;
}

static int read_records(struct tar_parser *parser, struct error *err)
{
	struct view records = { parser->head + TAR_BLOCK, parser->records };
	struct view key, value;

	while (records.len != 0)
		if (!cut_record(&records, &key, &value) || !read_record(parser, key, value))
			return error_set(err, ERR_SYNTAX,
			                 "%s: its pax header has a record that PACK does not write",
			                 parser->where);
	return 0;
}

/* --- heads ------------------------------------------------------------------------- */

static bool is_zero_block(const char *block)
{
	return block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

static bool checksum_is_right(const struct tar_block *block)
{
	struct tar_block copy = *block;

	tar_set_checksum(&copy);
	return memcmp(copy.checksum, block->checksum, sizeof copy.checksum) == 0;
}

static int read_block(struct tar_parser *parser, struct tar_block *ret, struct error *err)
{
	struct tar_entry *entry = &parser->entry;
	uint64_t mode, mtime;

	memcpy(ret, parser->head + parser->head_len - TAR_BLOCK, sizeof *ret);
	if (memcmp(ret->magic, TAR_MAGIC, sizeof ret->magic) != 0 || !checksum_is_right(ret) ||
	    !read_octal(ret->mode, sizeof ret->mode, &mode) ||
	    !read_octal(ret->size, sizeof ret->size, &entry->size) ||
	    !read_octal(ret->mtime, sizeof ret->mtime, &mtime))
		return error_set(err, ERR_SYNTAX, "%s: not a tar header as PACK writes it",
		                 parser->where);
	/* Set-user-id and its like would give a program the rights of the user who unpacks it. */
	entry->mode = (unsigned)(mode & 0777);
	entry->mtime = (int64_t)mtime;
	return 0;
}

static bool read_type(char letter, enum tar_type *ret)
{
	for (size_t i = 0; i < sizeof tar_type_letters; i++)
		if (letter == tar_type_letters[i]) {
			*ret = (enum tar_type)i;
			return true;
		}
	return false;
}

/* The name and the link of the ustar header; pax records may replace them. */
static void read_fields(struct tar_parser *parser, const struct tar_block *block)
{
	size_t used = append_field(parser->name, 0, block->prefix, sizeof block->prefix);

	if (used != 0)
		parser->name[used++] = '/';
	(void)append_field(parser->name, used, block->name, sizeof block->name);
	(void)append_field(parser->link, 0, block->link, sizeof block->link);
}

/* Sets name and link of the entry, without the slash that marks a directory, and parser->where. */
static void set_name(struct tar_parser *parser)
{
	size_t len = strlen(parser->name);
	char shown[96];

	if (parser->entry.type == TAR_DIRECTORY && len != 0 && parser->name[len - 1] == '/')
		parser->name[len - 1] = '\0';
	if (parser->entry.type != TAR_SYMLINK)
		parser->link[0] = '\0';
	parser->entry.name = parser->name;
	parser->entry.link = parser->link;
	(void)snprintf(parser->where, sizeof parser->where, "entry %llu ('%s')",
	               (unsigned long long)parser->number,
	               utf8_escape(view_of(parser->name), shown, sizeof shown));
}

static int read_entry(struct tar_parser *parser, const struct tar_block *block, struct error *err)
{
	if (!read_type(block->type, &parser->entry.type))
		return error_set(err, ERR_SYNTAX,
		                 "%s: of type %#x, which is no file, directory or symbolic link",
		                 parser->where, (unsigned)(unsigned char)block->type);
	read_fields(parser, block);
	if (read_records(parser, err) < 0)
		return -1;
	set_name(parser);
	/* Tar programs disagree on whether data follows such a header: one would read as data what
	 * another takes for entries. */
	if (parser->entry.type != TAR_FILE && parser->entry.size != 0)
		return error_set(err, ERR_SYNTAX, "%s: it is not a file, but has %llu bytes",
		                 parser->where, (unsigned long long)parser->entry.size);
	return 1;
}

/* Expects the records and the entry's own header behind a pax header. */
static int expect_records(struct tar_parser *parser, struct error *err)
{
	uint64_t size = parser->entry.size;

	if (size == 0 || size > RECORDS_MAX)
		return error_set(err, ERR_SYNTAX, "%s: a pax header of %llu bytes (1 to %d)",
		                 parser->where, (unsigned long long)size, RECORDS_MAX);
	parser->records = (size_t)size;
	parser->left = size + tar_padding(size) + TAR_BLOCK;
	return 0;
}

/* Called when all expected bytes of the head have arrived. 1: the head is complete; 0: a pax header
 * was read, and more bytes are expected. */
static int read_head(struct tar_parser *parser, struct error *err)
{
	struct tar_block block;

	if (parser->records == 0 && is_zero_block(parser->head)) {
		parser->state = TAR_AT_TRAILER;
		parser->left = TAR_TRAILER - TAR_BLOCK;
		return 0;
	}
	if (read_block(parser, &block, err) < 0)
		return -1;
	if (parser->records == 0 && block.type == TAR_PAX_LETTER)
		return expect_records(parser, err);
	return read_entry(parser, &block, err);
}

static int read_trailer(struct tar_parser *parser, struct error *err)
{
	if (!is_zero_block(parser->head + TAR_BLOCK))
		return error_set(err, ERR_SYNTAX,
		                 "the archive's end is one block of zeros, not two");
	parser->state = TAR_ENDED;
	return 1;
}

/* --- the stream -------------------------------------------------------------------- */

/* Called with the first byte behind a finished part, not with the last byte of it: until then
 * parser->where names the entry whose bytes the caller may still be writing. */
static void start_next_part(struct tar_parser *parser)
{
	uint64_t size = parser->entry.size;

	if (parser->state == TAR_AT_HEAD && size != 0) {
		parser->state = TAR_IN_DATA;
		parser->left = size;
	} else if (parser->state == TAR_IN_DATA && tar_padding(size) != 0) {
		parser->state = TAR_IN_PADDING;
		parser->left = tar_padding(size);
	} else {
		expect_head(parser);
	}
}

/* Collects the bytes of a head or a trailer. 1: *ret is the whole head or trailer; 0: more bytes
 * are expected. */
static int collect_head(struct tar_parser *parser, struct view part, struct tar_piece *ret,
                        struct error *err)
{
	bool is_trailer = parser->state == TAR_AT_TRAILER;
	int r;

	memcpy(parser->head + parser->head_len, part.ptr, part.len);
	parser->head_len += part.len;
	if (parser->left != 0)
		return 0;
	r = is_trailer ? read_trailer(parser, err) : read_head(parser, err);
	if (r <= 0)
		return r;
	*ret = (struct tar_piece){ is_trailer ? TAR_PIECE_END : TAR_PIECE_ENTRY,
		                   { parser->head, parser->head_len } };
	return 1;
}

int tar_parse(struct tar_parser *parser, struct view *bytes, struct tar_piece *ret,
              struct error *err)
{
	while (bytes->len != 0) {
		struct view part = *bytes;
		int r = 1;

		if (parser->state == TAR_ENDED)
			return error_set(err, ERR_SYNTAX, "bytes follow the archive's end");
		if (parser->left == 0)
			start_next_part(parser);
		if (part.len > parser->left)
			part.len = (size_t)parser->left;
		bytes->ptr += part.len;
		bytes->len -= part.len;
		parser->left -= part.len;
		if (parser->state == TAR_AT_HEAD || parser->state == TAR_AT_TRAILER) {
			r = collect_head(parser, part, ret, err);
		} else {
			ret->kind = parser->state == TAR_IN_DATA ? TAR_PIECE_DATA
			                                         : TAR_PIECE_PADDING;
			ret->bytes = part;
		}
		if (r != 0)
			return r;
	}
	return 0;
}

int tar_parser_check_end(const struct tar_parser *parser, struct error *err)
{
	if (parser->state == TAR_ENDED)
		return 0;
	if (parser->number == 1 && parser->head_len == 0)
		return error_set(err, ERR_SYNTAX, "the archive is empty: no bytes came");
	return error_set(err, ERR_SYNTAX, "the archive ends within %s",
	                 parser->state == TAR_AT_TRAILER ? "its trailer" : parser->where);
}
