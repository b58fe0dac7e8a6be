/* tar.h - one entry of a tar archive, out of and into blocks of 512 bytes.
 *
 * Plain values, nothing is allocated that outlives a call. Decoding understands v7, ustar
 * and GNU headers and believes none of them; what extended headers add is put together in
 * tar_read.h. Encoding writes ustar, with a pax header in front only where ustar is too
 * narrow, so every tar program reads it. Times are whole seconds from 1970 to the year 9999;
 * user and group names are neither written nor read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum {
	TAR_BLOCK = 512,
	TAR_NAME_MAX = 4095,
	TAR_LONG_MAX = TAR_NAME_MAX + 1,  /* of a GNU long name, terminator included */
	TAR_PAX_MAX = 64 * 1024,          /* of one pax header's records */
	TAR_ENCODED_MAX = 24 * TAR_BLOCK, /* of what tar_encode() appends */
};
#define TAR_TIME_MAX INT64_C(253402300799)
#define TAR_SIZE_MAX (UINT64_MAX >> 2) /* rounding it up cannot overflow */

/* Bytes that follow size bytes of data up to the next block. */
static inline uint64_t tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

enum { TAR_FIELD_NAME = 100, TAR_FIELD_PREFIX = 155 };

struct tar_header { /* one block, as it stands there */
	char type;
	bool sparse_more; /* type S: another block of its map follows */
	unsigned mode;    /* permissions only: 0777 */
	uint64_t size;
	int64_t mtime;
	char name[TAR_FIELD_PREFIX + 1 + TAR_FIELD_NAME + 1];
	char link[TAR_FIELD_NAME + 1];
};

/* Of a block that was decoded, checksum too. */
void tar_set_mode(char block[TAR_BLOCK], unsigned mode);

/* 1: a header; 0: a block of zeros; -1: neither (ERR_SYNTAX). */
MUST_CHECK int tar_decode(const char block[TAR_BLOCK], struct tar_header *ret, struct error *err);

enum tar_type { TAR_FILE, TAR_DIRECTORY, TAR_SYMLINK, TAR_HARDLINK, TAR_OTHER };

struct tar_entry {
	enum tar_type type;
	unsigned mode;
	uint64_t uid, gid; /* written, not read */
	uint64_t size;     /* of the data that follows */
	int64_t mtime;
	const char *name; /* at most TAR_NAME_MAX bytes */
	const char *link; /* where a link leads; "" otherwise */
};

/* Appends the entry's header, at most TAR_ENCODED_MAX bytes; data and padding follow. The
 * name of a directory gets its slash here. */
MUST_CHECK int tar_encode(const struct tar_entry *entry, struct buf *out, struct error *err);
