/* fuzz_tar.c - any bytes are refused as a tar archive with a reason, or are entries whose
 * names, sizes and data are within what the reader promises, however the bytes are cut.
 * What may be unpacked is beneath the target; what can be written again reads back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/files/archive/unpack_place.h"
#include "agent/files/tar_read.h"
#include "base/error.h"

struct source {
	struct view left;
	size_t piece;
	bool ended;
};

static int next_piece(void *ctx, struct view *ret, struct error *err)
{
	struct source *source = ctx;
	size_t len = source->left.len < source->piece ? source->left.len : source->piece;

	(void)err;
	if (source->ended)
		abort(); /* whoever asks after the end waits for ever */
	source->ended = len == 0;
	*ret = (struct view){ source->left.ptr, len };
	source->left.ptr += len;
	source->left.len -= len;
	return len != 0;
}

/* By a rule of its own: no part is empty, '.' or '..', and there are as many as it says. */
static void check_name(const char *given)
{
	struct unpack_name name;
	struct error err;
	size_t parts = 0;

	if (unpack_name(given, &name, &err) < 0) {
		if (err.msg[0] == '\0')
			abort();
		return;
	}
	if (strlen(name.text) != name.len || name.len > TAR_NAME_MAX)
		abort();
	for (const char *at = name.text; *at != '\0'; parts++) {
		size_t len = strcspn(at, "/");

		if (len == 0 || len > 255 || (len == 1 && at[0] == '.') ||
		    (len == 2 && memcmp(at, "..", 2) == 0))
			abort();
		at += len;
		if (*at == '/' && *++at == '\0')
			abort();
	}
	if (name.len != 0 && parts != name.depth + 1)
		abort();
}

/* Walked by hand, it never is above where it may be, and never goes up after going down. */
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
	static struct tar_reader reader;
	AUTO_BUF struct buf tar;
	struct source source;
	struct tar_entry out;
	struct error err;

	buf_init(&tar, TAR_ENCODED_MAX);
	if (entry->type == TAR_OTHER || entry->name[0] == '\0')
		return;
	if (tar_encode(entry, &tar, &err) < 0) {
		if (err.kind != ERR_LIMIT || entry->type != TAR_DIRECTORY)
			abort();
		return;
	}
	source = (struct source){ buf_view(&tar), tar.len, false };
	tar_reader_init(&reader, next_piece, &source);
	if (tar_next(&reader, &out, &err) != 1 || out.type != entry->type ||
	    out.mode != entry->mode || out.mtime != entry->mtime || out.size != entry->size ||
	    strncmp(out.name, entry->name, strlen(entry->name)) != 0 ||
	    strcmp(out.link, entry->link) != 0)
		abort();
	tar_reader_done(&reader);
}

static uint64_t check_entry(struct tar_reader *reader, const struct tar_entry *entry)
{
	if (strlen(entry->name) > TAR_NAME_MAX || strlen(entry->link) > TAR_NAME_MAX ||
	    entry->mode > 0777 || entry->mtime < 0 || entry->mtime > TAR_TIME_MAX ||
	    entry->size > TAR_SIZE_MAX || reader->number == 0)
		abort();
	if (entry->size != 0 && entry->type != TAR_FILE && entry->type != TAR_OTHER)
		abort();
	check_name(entry->name);
	check_link(entry->link, entry->size % 4);
	check_again(entry);
	return entry->size;
}

/* A number that stands for all that was read. */
static uint64_t read_all(struct view tar, size_t piece)
{
	static struct tar_reader reader;
	struct source source = { tar, piece, false };
	struct tar_entry entry;
	struct error err = { .msg = "" };
	uint64_t sum = 0, left;
	struct view bytes;
	int r;

	tar_reader_init(&reader, next_piece, &source);
	while ((r = tar_next(&reader, &entry, &err)) > 0) {
		left = check_entry(&reader, &entry);
		sum = sum * 31 + left + (uint64_t)entry.type + strlen(entry.name);
		while ((r = tar_data(&reader, &bytes, &err)) > 0) {
			if (bytes.len == 0 || bytes.len > left)
				abort();
			left -= bytes.len;
		}
		if (r < 0)
			break;
		if (left != 0)
			abort();
	}
	if (r < 0 && err.msg[0] == '\0')
		abort();
	tar_reader_done(&reader);
	return sum * 31 + (uint64_t)(r < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view tar = { (const char *)data, size };
	uint64_t whole = read_all(tar, size + 1);

	if (read_all(tar, 509) != whole)
		abort();
	return 0;
}
