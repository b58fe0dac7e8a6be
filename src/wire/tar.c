#include "wire/tar.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

const char tar_type_letters[] = { [TAR_FILE] = '0', [TAR_DIRECTORY] = '5', [TAR_SYMLINK] = '2' };

/* Writes the low octal digits of `value` and a NUL; false if the value has more digits. */
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

/* Writes as many bytes as the field has; false if the text is longer. */
static bool put_text(char *field, size_t size, struct view text)
{
	memcpy(field, text.ptr, text.len < size ? text.len : size);
	return text.len <= size;
}

/* A name that is too long for its field is cut at a slash: the part before it goes into `prefix`.
 * False if the name does not fit in that way either. */
static bool put_name(struct tar_block *block, struct view name)
{
	if (put_text(block->name, sizeof block->name, name))
		return true;
	for (size_t i = name.len - sizeof block->name - 1; i <= sizeof block->prefix; i++) {
		struct view behind = { name.ptr + i + 1, name.len - i - 1 };

		if (i == 0 || name.ptr[i] != '/' || behind.len == 0)
			continue;
		memset(block->name, 0, sizeof block->name);
		return put_text(block->prefix, sizeof block->prefix,
		                (struct view){ name.ptr, i }) &&
		       put_text(block->name, sizeof block->name, behind);
	}
	return false;
}

void tar_set_checksum(struct tar_block *block)
{
	unsigned char bytes[TAR_BLOCK];
	unsigned sum = 0;

	/* The sum counts its own field as spaces. */
	memset(block->checksum, ' ', sizeof block->checksum);
	memcpy(bytes, block, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		sum += bytes[i];
	(void)put_octal(block->checksum, sizeof block->checksum - 1, sum);
}

static void init_block(struct tar_block *block, char type, unsigned mode)
{
	*block = (struct tar_block){ .type = type };
	memcpy(block->magic, TAR_MAGIC, sizeof block->magic);
	(void)put_octal(block->mode, sizeof block->mode, mode);
	(void)put_octal(block->uid, sizeof block->uid, 0);
	(void)put_octal(block->gid, sizeof block->gid, 0);
	(void)put_octal(block->size, sizeof block->size, 0);
	(void)put_octal(block->mtime, sizeof block->mtime, 0);
}

/* Appends "LENGTH KEY=VALUE\n"; LENGTH counts the whole record, its own digits included. */
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

/* Writes a number into its field, or as a pax record if it has too many digits. */
static int put_number(char *field, size_t len, const char *key, uint64_t value, struct buf *pax,
                      struct error *err)
{
	char text[24];

	if (put_octal(field, len, value))
		return 0;
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return add_record(pax, key, view_of(text), err);
}

static int add_block(struct buf *out, struct tar_block *block, struct error *err)
{
	tar_set_checksum(block);
	return buf_add(out, (struct view){ (const char *)block, sizeof *block }, err);
}

static int add_pax(struct buf *out, struct view records, struct error *err)
{
	static const char zeros[TAR_BLOCK];
	struct tar_block block;

	init_block(&block, TAR_PAX_LETTER, 0644);
	(void)put_text(block.name, sizeof block.name, view_of("././@PaxHeader"));
	(void)put_octal(block.size, sizeof block.size, records.len);
	if (add_block(out, &block, err) < 0 || buf_add(out, records, err) < 0)
		return -1;
	return buf_add(out, (struct view){ zeros, tar_padding(records.len) }, err);
}

/* utimensat(2) sets any second of 64 bits on some file systems. */
static uint64_t clamp_time(int64_t mtime)
{
	return mtime < 0 ? 0 : (uint64_t)(mtime < TAR_TIME_MAX ? mtime : TAR_TIME_MAX);
}

int tar_encode(const struct tar_entry *entry, struct buf *out, struct error *err)
{
	char records[TAR_HEAD_MAX], name[TAR_NAME_MAX + 1];
	struct buf pax = buf_fixed(records, sizeof records);
	struct view link = view_of(entry->link);
	uint64_t mtime = clamp_time(entry->mtime);
	struct tar_block block;
	int len;

	len = snprintf(name, sizeof name, "%s%s", entry->name,
	               entry->type == TAR_DIRECTORY ? "/" : "");
	if (len < 0 || (size_t)len >= sizeof name || link.len > TAR_NAME_MAX)
		return error_set(err, ERR_LIMIT, "a name of more than %d bytes", TAR_NAME_MAX);
	init_block(&block, tar_type_letters[entry->type], entry->mode & 0777);
	if (!put_name(&block, view_of(name)) && add_record(&pax, "path", view_of(name), err) < 0)
		return -1;
	if (!put_text(block.link, sizeof block.link, link) &&
	    add_record(&pax, "linkpath", link, err) < 0)
		return -1;
	if (put_number(block.size, sizeof block.size, "size", entry->size, &pax, err) < 0 ||
	    put_number(block.mtime, sizeof block.mtime, "mtime", mtime, &pax, err) < 0)
		return -1;
	if (pax.len != 0 && add_pax(out, buf_view(&pax), err) < 0)
		return -1;
	return add_block(out, &block, err);
}
