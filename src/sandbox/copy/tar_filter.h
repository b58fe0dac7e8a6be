/* tar_filter.h - leaves entries out of a tar stream that passes through, and tames their modes.
 *
 * The stream is what our agent's PACK makes: ustar, with a pax header where that is too narrow.
 * Anything else is an error. What is kept is passed on byte by byte as it came,
 * but for the modes if they are to be masked. Memory: one
 * extended header.
 *
 *   tar_filter_new -> take ... -> tar_filter_is_done -> tar_filter_free */
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

/* The rules must outlive it; NULL: all is kept. */
struct tar_filter *tar_filter_new(const struct ignore *ignore) RETURNS_NONNULL;
struct tar_filter *tar_filter_free(struct tar_filter *filter);
DEFINE_CLEANUP(tar_filter)
/* Others than the owner may not write, whatever was said, and nothing of 07000 is left: code in a
 * sandbox does not decide who may change files of the host. */
void tar_filter_mask_modes(struct tar_filter *filter);

/* Appends to `out` what is kept of `bytes` and of what waited for them: at most TAR_FILTER_MORE
 * bytes more than came. */
enum { TAR_FILTER_MORE = 80 * 1024 };
MUST_CHECK int tar_filter_take(struct tar_filter *filter, struct view bytes, struct buf *out,
                               struct error *err);

bool tar_filter_is_done(const struct tar_filter *filter); /* the archive's end has come */
uint64_t tar_filter_left_out(const struct tar_filter *filter);
bool tar_filter_has_rules(const struct tar_filter *filter);
/* How much was passed on so far; bytes of files, with what fills their blocks up. */
void tar_filter_passed(const struct tar_filter *filter, uint64_t *ret_entries, uint64_t *ret_bytes);
