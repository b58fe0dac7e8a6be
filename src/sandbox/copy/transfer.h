/* transfer.h - bytes from one agent to another: a whole directory as an archive, or one file.
 *
 * Passes on as much as the taking side has room for and asks for no more meanwhile, so memory is
 * bounded whatever the two do. The giving side may be hostile: what it sends is an archive for
 * the taking agent to judge, below the target only; a file is a file whatever is said.
 *
 *   transfer_start -> progress ... -> ended, once; or transfer_cancel */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct channel;
struct error;
struct tar_filter;
struct transfer;

struct transfer_options {
	struct channel *from, *to;
	const char *from_path, *to_path;
	const char *from_where, *to_where; /* in front of that side's errors; not copied; or NULL */
	bool is_file;       /* READ to WRITE; else PACK to UNPACK: what is in the directory */
	bool must_be_new;   /* of a file: fail if something is there */
	uint16_t perm;      /* of a file */
	uint64_t max_bytes; /* of all files */
	uint32_t max_count; /* entries */
	struct tar_filter *filter; /* NULL: everything; must outlive the transfer */
};

struct transfer_result {
	uint64_t entries, bytes, skipped;
	char first_skipped[256]; /* or "" */
};

struct transfer_events {
	void (*progress)(void *ctx, uint64_t bytes); /* of what went over so far; may be NULL */
	/* Last call, from the loop; `why` NULL: all is there. */
	void (*ended)(void *ctx, const struct transfer_result *result, const struct error *why);
};

/* Both channels may fail at any time: that is told. */
MUST_CHECK int transfer_start(const struct transfer_options *wish,
                              const struct transfer_events *events, void *ctx,
                              struct transfer **ret, struct error *err);
/* Stops both sides; nothing is told any more. What was unpacked so far stays. */
void transfer_cancel(struct transfer *transfer);
