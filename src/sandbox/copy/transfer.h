/* transfer.h - moves bytes from one agent to another: a directory as an archive, or one file.
 *
 * Bytes are passed on as far as the receiving agent has given credit, and the sending agent gets
 * new credit only when they are gone, so memory is bounded however fast or slow the two are.
 * Either agent may have been taken over by code in its sandbox: the archive passes the filter,
 * which refuses every other format, and the receiving agent creates files below the target only.
 *
 *   transfer_start -> progress ... -> ended, once; or transfer_cancel
 *
 * The transfer is freed after `ended` returned, or by transfer_cancel(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "wire/table.h"

struct channel;
struct error;
struct tar_filter;
struct transfer;

struct transfer_options {
	struct channel *from, *to;
	const char *from_path, *to_path;
	const char *from_where, *to_where; /* prefixes for errors, not copied; or NULL */
	bool is_file;              /* READ to WRITE; otherwise PACK to UNPACK of a directory */
	bool must_be_new;          /* of a file: fail if the target exists */
	bool is_preview;           /* write nothing, report what would change */
	uint16_t perm;             /* of a file */
	uint64_t max_bytes;        /* of all files */
	uint32_t max_count;        /* entries */
	struct tar_filter *filter; /* of a directory; must outlive the transfer */
};

struct transfer_result {
	uint64_t entries, bytes, skipped;
	uint64_t files;          /* entries that are no directories */
	uint64_t trusted, kinds; /* entries left out because programs of the host trust them, and
	                          * the set of their kinds (base/trusted/trusted_names.h) */
	uint64_t not_executable; /* files that lost their executable bits */
	char first_skipped[256]; /* or "" */
	/* The first trusted entries, or what a preview found; printable lines. */
	char report[WIRE_REPORT_MAX + 1];
};

struct transfer_events {
	void (*progress)(void *ctx, uint64_t bytes); /* bytes passed on so far; may be NULL */
	/* The last call, from the loop. `why` is NULL on success, otherwise `result` is. */
	void (*ended)(void *ctx, const struct transfer_result *result, const struct error *why);
};

/* A channel that fails ends the transfer with an error. */
MUST_CHECK int transfer_start(const struct transfer_options *options,
                              const struct transfer_events *events, void *ctx,
                              struct transfer **ret, struct error *err);
/* Stops both agents; no event is called afterwards. Files that were unpacked so far stay. */
void transfer_cancel(struct transfer *transfer);
