/* tar_filter.h - leaves entries out of a tar stream that passes through.
 *
 * The stream is one that an agent's PACK writes (wire/tar.h); any other is an error. Entries that
 * are kept pass byte by byte as they came. At most one entry's head is kept in memory.
 *
 *   tar_filter_new -> tar_filter_take ... -> tar_filter_check_end -> tar_filter_free */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct buf;
struct error;
struct ignore;
struct tar_filter;

/* `ignore` must outlive the filter; NULL keeps every entry. */
struct tar_filter *tar_filter_new(const struct ignore *ignore) RETURNS_NONNULL;
struct tar_filter *tar_filter_free(struct tar_filter *filter);
DEFINE_CLEANUP(tar_filter)

/* Appends to `out` what is kept of `bytes`, and the head that waited for them: at most
 * TAR_FILTER_MORE bytes more than `bytes` has. */
enum { TAR_FILTER_MORE = 16 * 1024 };
MUST_CHECK int tar_filter_take(struct tar_filter *filter, struct view bytes, struct buf *out,
                               struct error *err);
/* Fails if the archive is not complete. */
MUST_CHECK int tar_filter_check_end(const struct tar_filter *filter, struct error *err);

bool tar_filter_has_rules(const struct tar_filter *filter);
uint64_t tar_filter_left_out(const struct tar_filter *filter); /* entries */
/* Entries passed on so far, and bytes of their files. */
void tar_filter_passed(const struct tar_filter *filter, uint64_t *ret_entries, uint64_t *ret_bytes);
