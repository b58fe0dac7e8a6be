/* tar_read.h - a tar stream, entry by entry, from wherever its bytes come.
 *
 *   init -> (next, data until 0) ... until next says 0 -> done     (the struct is the caller's)
 *
 * Puts extended headers together with the entry they are for: pax 'x' and 'g' (path,
 * linkpath, size, mtime) and GNU 'L' and 'K'. Everything in it is a stranger's; what is
 * handed out has been checked for form, not for meaning: a name may still be "../../etc".
 * Touches no files. Memory: a pax header (64 KiB) and four names. */
#pragma once
#include "base/buf.h"
#include "wire/tar.h"
#include "wire/tar_pax.h"

/* The next bytes, valid until the next call: 1, or 0 at their end, or -1. */
typedef int tar_source_fn(void *ctx, struct view *ret, struct error *err);

struct tar_reader {
	tar_source_fn *source;
	void *ctx;
	struct view ahead;  /* received, not read yet */
	bool dry;           /* the source has said its end */
	bool any;           /* a byte has come */
	uint64_t left;      /* data of this entry that has not been read */
	uint64_t padding;   /* and the bytes behind it */
	uint64_t number;    /* of this entry, from 1 */
	bool ended;         /* a block of zeros was read */
	char where[128];    /* "entry 3 ('a/b')", for errors */
	struct buf records; /* of an extended header */
	struct tar_header header;
	struct tar_extra own, global;
	char block[TAR_BLOCK];
};

void tar_reader_init(struct tar_reader *reader, tar_source_fn *source, void *ctx);
void tar_reader_done(struct tar_reader *reader);

/* The next entry: 1; 0 at the archive's end, where all further bytes have been read too.
 * Passes over what is left of the entry before. The texts are valid until the next call. */
MUST_CHECK int tar_next(struct tar_reader *reader, struct tar_entry *ret, struct error *err);

/* The next bytes of the entry's data, valid until the next call: 1, or 0 at their end. */
MUST_CHECK int tar_data(struct tar_reader *reader, struct view *ret, struct error *err);
