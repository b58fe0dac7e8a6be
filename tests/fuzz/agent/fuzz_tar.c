/* fuzz_tar.c - any bytes are refused as an archive with a reason, or are entries whose names,
 * sizes and data are within the parser's limits, however the bytes are cut. Names that UNPACK
 * accepts stay beneath the target, and an entry that was read can be encoded and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/files/archive/unpack_place.h"
#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/tar_parser.h"

/* Checks by a second rule: no component is empty, '.' or '..', and depth counts them. */
static void check_name(const char *text)
{
	struct unpack_name name;
	struct error err = { .msg = "" };
	size_t parts = 0;

	if (unpack_name(text, &name, &err) < 0) {
		if (err.msg[0] == '\0')
			abort();
		return;
	}
	for (const char *at = text; *at != '\0'; parts++) {
		size_t len = strcspn(at, "/");

		if (len == 0 || len > 255 || (len == 1 && at[0] == '.') ||
		    (len == 2 && memcmp(at, "..", 2) == 0))
			abort();
		if (at[len] == '\0' && at != text + name.last)
			abort();
		at += len;
		if (*at == '/' && *++at == '\0')
			abort();
	}
	if (parts != name.depth + 1)
		abort();
}

/* Walks the link by hand: it is never above the target. */
static void check_link(const char *link, size_t depth)
{
	long level = (long)depth;

	if (!unpack_link_stays(link, depth))
		return;
	if (link[0] == '/' || link[0] == '\0')
		abort();
	for (const char *at = link; *at != '\0';) {
		size_t len = strcspn(at, "/");

		if (len == 2 && memcmp(at, "..", 2) == 0 && --level < 0)
			abort();
		at += len;
		at += strspn(at, "/");
	}
}

static void check_again(const struct tar_entry *entry)
{
	static struct tar_parser parser;
	const struct tar_entry *out = &parser.entry;
	AUTO_BUF struct buf tar;
	struct tar_piece piece;
	struct error err;
	struct view bytes;

	buf_init(&tar, TAR_HEAD_MAX);
	if (entry->name[0] == '\0')
		return;
	if (tar_encode(entry, &tar, &err) < 0) {
		if (err.kind != ERR_LIMIT || entry->type != TAR_DIRECTORY)
			abort();
		return;
	}
	bytes = buf_view(&tar);
	tar_parser_init(&parser);
	if (tar_parse(&parser, &bytes, &piece, &err) != 1 || bytes.len != 0 ||
	    out->type != entry->type || out->mode != entry->mode || out->mtime != entry->mtime ||
	    out->size != entry->size || strcmp(out->name, entry->name) != 0 ||
	    strcmp(out->link, entry->link) != 0)
		abort();
}

static void check_entry(const struct tar_entry *entry)
{
	if (strlen(entry->name) > TAR_NAME_MAX || strlen(entry->link) > TAR_NAME_MAX ||
	    entry->mode > 0777 || entry->mtime < 0 || entry->mtime > TAR_TIME_MAX ||
	    entry->size > TAR_SIZE_MAX || (entry->size != 0 && entry->type != TAR_FILE))
		abort();
	check_name(entry->name);
	check_link(entry->link, entry->mode % 4);
	check_again(entry);
}

/* Returns a number that stands for everything that was read. */
static uint64_t parse_all(struct view tar, size_t chunk)
{
	static struct tar_parser parser;
	struct error err = { .msg = "" };
	struct tar_piece piece;
	uint64_t sum = 0, left = 0;
	int r = 0;

	tar_parser_init(&parser);
	while (r == 0 && tar.len != 0) {
		struct view bytes = { tar.ptr, tar.len < chunk ? tar.len : chunk };

		tar.ptr += bytes.len;
		tar.len -= bytes.len;
		while ((r = tar_parse(&parser, &bytes, &piece, &err)) > 0) {
			if (piece.bytes.len == 0)
				abort();
			if (piece.kind == TAR_PIECE_DATA) {
				if (piece.bytes.len > left)
					abort();
				left -= piece.bytes.len;
				sum += piece.bytes.len;
			} else if (left != 0) {
				abort();
			}
			if (piece.kind == TAR_PIECE_ENTRY) {
				check_entry(&parser.entry);
				left = parser.entry.size;
				sum = sum * 31 + left + (uint64_t)parser.entry.type +
				      strlen(parser.entry.name);
			}
		}
	}
	if (r == 0)
		r = tar_parser_check_end(&parser, &err);
	if (r < 0 && err.msg[0] == '\0')
		abort();
	return sum * 31 + (uint64_t)(r < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view tar = { (const char *)data, size };

	if (parse_all(tar, 509) != parse_all(tar, size + 1))
		abort();
	return 0;
}
