#include "wire/tar.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

struct raw { /* the block on the wire */
	char name[TAR_FIELD_NAME];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[TAR_FIELD_NAME];
	char magic[8]; /* and version */
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[TAR_FIELD_PREFIX];
	char rest[12];
};
_Static_assert(sizeof(struct raw) == TAR_BLOCK, "a header is one block");

enum { SPARSE_MORE = 482 }; /* GNU, type S: whether its map goes on in another block */

/* --- decode ------------------------------------------------------------------------ */

/* GNU's way to write what octal digits cannot hold: two's complement, big endian, marked by
 * the first bit. */
static bool read_binary(const unsigned char *field, size_t len, uint64_t *ret, bool *negative)
{
	uint64_t value = 0;

	*negative = field[0] == 0xff;
	if (*negative)
		return true;
	if (field[0] != 0x80)
		return false;
	for (size_t i = 1; i < len; i++) {
		if (value > UINT64_MAX >> 8)
			return false;
		value = value << 8 | field[i];
	}
	*ret = value;
	return true;
}

/* Octal digits, spaces before them, a space or NUL behind them unless the field is full.
 * An empty field is 0: old programs leave out what they do not know. */
static bool read_octal(const char *field, size_t len, uint64_t *ret)
{
	uint64_t value = 0; /* at most 36 bits: fields are at most 12 bytes */
	size_t i = 0;

	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(field[i] - '0');
	if (i < len && field[i] != ' ' && field[i] != '\0')
		return false;
	*ret = value;
	return true;
}

static bool read_number(const char *field, size_t len, uint64_t *ret, bool *negative)
{
	*ret = 0;
	*negative = false;
	if (((unsigned char)field[0] & 0x80) != 0)
		return read_binary((const unsigned char *)field, len, ret, negative);
	return read_octal(field, len, ret);
}

/* Some old programs added signed bytes. */
static bool checksum_is_right(const char *block)
{
	const size_t at = offsetof(struct raw, checksum);
	unsigned sum = 0;
	int signed_sum = 0;
	uint64_t want;

	if (!read_octal(block + at, sizeof((struct raw *)0)->checksum, &want))
		return false;
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool blank = i >= at && i < at + sizeof((struct raw *)0)->checksum;
		char byte = blank ? ' ' : block[i];

		sum += (unsigned char)byte;
		signed_sum += (signed char)byte;
	}
	return want == sum || (signed_sum >= 0 && want == (unsigned)signed_sum);
}

static bool is_zero(const char *block)
{
	return block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* A field that is full has no terminator. */
static size_t put_field(char *out, const char *field, size_t len)
{
	size_t used = strnlen(field, len);

	memcpy(out, field, used);
	out[used] = '\0';
	return used;
}

static void join_name(const struct raw *raw, char *out)
{
	size_t used = 0;

	/* GNU's own magic ends in two spaces, and something else stands in its prefix. */
	if (memcmp(raw->magic, "ustar", sizeof "ustar") == 0 && raw->prefix[0] != '\0') {
		used = put_field(out, raw->prefix, sizeof raw->prefix);
		out[used++] = '/';
	}
	(void)put_field(out + used, raw->name, sizeof raw->name);
}

static bool read_numbers(const struct raw *raw, struct tar_header *ret)
{
	uint64_t mode, mtime;
	bool negative;

	if (!read_number(raw->mode, sizeof raw->mode, &mode, &negative))
		return false;
	ret->mode = (unsigned)(mode & 0777);
	if (!read_number(raw->mtime, sizeof raw->mtime, &mtime, &negative))
		return false;
	ret->mtime = mtime > TAR_TIME_MAX ? TAR_TIME_MAX : (int64_t)mtime;
	return read_number(raw->size, sizeof raw->size, &ret->size, &negative) && !negative &&
	       ret->size <= TAR_SIZE_MAX;
}

int tar_decode(const char block[TAR_BLOCK], struct tar_header *ret, struct error *err)
{
	struct raw raw;
	struct tar_header header = { 0 };

	if (is_zero(block))
		return 0;
	memcpy(&raw, block, sizeof raw);
	if (!checksum_is_right(block) || !read_numbers(&raw, &header))
		return error_set(err, ERR_SYNTAX, "not a tar header");
	header.type = raw.type;
	header.sparse_more = raw.type == 'S' && block[SPARSE_MORE] != '\0';
	join_name(&raw, header.name);
	(void)put_field(header.link, raw.link, sizeof raw.link);
	*ret = header;
	return 1;
}

/* --- encode ------------------------------------------------------------------------ */

static const char type_letters[] = {
	[TAR_FILE] = '0', [TAR_DIRECTORY] = '5', [TAR_SYMLINK] = '2', [TAR_HARDLINK] = '1'
};

/* The digits that fit, and whether those were all. */
static bool put_octal(char *field, size_t len, uint64_t value)
{
	size_t i = len - 1;

	field[i] = '\0';
	while (i-- > 0) {
		field[i] = (char)('0' + (value & 7));
		value >>= 3;
	}
	return value == 0;
}

/* As many bytes as fit, and whether those were all. */
static bool put_text(char *field, size_t size, struct view text)
{
	memcpy(field, text.ptr, text.len < size ? text.len : size);
	return text.len <= size;
}

/* As it is, or cut in two at a slash: what is before it goes into the prefix. */
static bool put_name(struct raw *raw, struct view name)
{
	if (put_text(raw->name, sizeof raw->name, name))
		return true;
	for (size_t i = name.len - sizeof raw->name - 1; i <= sizeof raw->prefix; i++) {
		struct view behind = { name.ptr + i + 1, name.len - i - 1 };

		if (i == 0 || name.ptr[i] != '/' || behind.len == 0)
			continue;
		memset(raw->name, 0, sizeof raw->name);
		return put_text(raw->prefix, sizeof raw->prefix, (struct view){ name.ptr, i }) &&
		       put_text(raw->name, sizeof raw->name, behind);
	}
	return false;
}

static void put_checksum(struct raw *raw)
{
	unsigned char block[TAR_BLOCK];
	unsigned sum = 0;

	memset(raw->checksum, ' ', sizeof raw->checksum);
	memcpy(block, raw, sizeof block);
	for (size_t i = 0; i < sizeof block; i++)
		sum += block[i];
	(void)put_octal(raw->checksum, sizeof raw->checksum - 1, sum);
}

void tar_set_mode(char block[TAR_BLOCK], unsigned mode)
{
	struct raw raw;

	memcpy(&raw, block, sizeof raw);
	(void)put_octal(raw.mode, sizeof raw.mode, mode);
	put_checksum(&raw);
	memcpy(block, &raw, sizeof raw);
}

static void start_header(struct raw *raw, char type)
{
	*raw = (struct raw){ .type = type };
	memcpy(raw->magic,
	       "ustar\0"
	       "00",
	       sizeof raw->magic);
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts its own digits too. */
static int add_record(struct buf *pax, const char *key, struct view value, struct error *err)
{
	size_t rest = strlen(" =\n") + strlen(key) + value.len;
	size_t len = rest + 1, digits = 1;

	for (size_t most = 9; len > most; most = most * 10 + 9)
		len = rest + ++digits;
	if (buf_printf(pax, err, "%zu %s=", len, key) < 0 || buf_add(pax, value, err) < 0)
		return -1;
	return buf_add(pax, view_of("\n"), err);
}

static int add_number(struct buf *pax, const char *key, uint64_t value, struct error *err)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return add_record(pax, key, view_of(text), err);
}

static int add_block(struct buf *out, struct raw *raw, struct error *err)
{
	put_checksum(raw);
	return buf_add(out, (struct view){ (const char *)raw, sizeof *raw }, err);
}

static int add_pax(struct buf *out, struct view records, struct error *err)
{
	static const char zeros[TAR_BLOCK];
	struct raw raw;

	start_header(&raw, 'x');
	(void)put_text(raw.name, sizeof raw.name, view_of("././@PaxHeader"));
	(void)put_octal(raw.mode, sizeof raw.mode, 0644);
	(void)put_octal(raw.uid, sizeof raw.uid, 0);
	(void)put_octal(raw.gid, sizeof raw.gid, 0);
	(void)put_octal(raw.size, sizeof raw.size, records.len);
	(void)put_octal(raw.mtime, sizeof raw.mtime, 0);
	if (add_block(out, &raw, err) < 0 || buf_add(out, records, err) < 0)
		return -1;
	return buf_add(out, (struct view){ zeros, tar_padding(records.len) }, err);
}

/* Fills in the numbers; those that do not fit go into pax. */
static int put_numbers(struct raw *raw, const struct tar_entry *entry, struct buf *pax,
                       struct error *err)
{
	int64_t mtime = entry->mtime < 0 ? 0 : entry->mtime;

	(void)put_octal(raw->mode, sizeof raw->mode, entry->mode & 0777);
	if (!put_octal(raw->uid, sizeof raw->uid, entry->uid) &&
	    add_number(pax, "uid", entry->uid, err) < 0)
		return -1;
	if (!put_octal(raw->gid, sizeof raw->gid, entry->gid) &&
	    add_number(pax, "gid", entry->gid, err) < 0)
		return -1;
	if (!put_octal(raw->size, sizeof raw->size, entry->size) &&
	    add_number(pax, "size", entry->size, err) < 0)
		return -1;
	if (!put_octal(raw->mtime, sizeof raw->mtime, (uint64_t)mtime) &&
	    add_number(pax, "mtime", (uint64_t)mtime, err) < 0)
		return -1;
	return 0;
}

int tar_encode(const struct tar_entry *entry, struct buf *out, struct error *err)
{
	AUTO_BUF struct buf pax;
	char name[TAR_NAME_MAX + 1];
	struct view link = view_of(entry->link);
	struct raw raw;
	int len;

	assert(entry->type != TAR_OTHER);
	len = snprintf(name, sizeof name, "%s%s", entry->name,
	               entry->type == TAR_DIRECTORY ? "/" : "");
	if (len < 0 || (size_t)len >= sizeof name || link.len > TAR_NAME_MAX)
		return error_set(err, ERR_LIMIT, "a name of more than %d bytes", TAR_NAME_MAX);
	buf_init(&pax, TAR_ENCODED_MAX);
	start_header(&raw, type_letters[entry->type]);
	if (!put_name(&raw, view_of(name)) && add_record(&pax, "path", view_of(name), err) < 0)
		return -1;
	if (!put_text(raw.link, sizeof raw.link, link) &&
	    add_record(&pax, "linkpath", link, err) < 0)
		return -1;
	if (put_numbers(&raw, entry, &pax, err) < 0)
		return -1;
	if (pax.len != 0 && add_pax(out, buf_view(&pax), err) < 0)
		return -1;
	return add_block(out, &raw, err);
}
