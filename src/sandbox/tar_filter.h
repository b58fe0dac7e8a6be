/* tar_filter.h - leaves entries out of a tar stream that passes through.
 *
 * The stream is what our agent's PACK makes: ustar, with a pax header where that is too narrow.
 * Anything else is an error. What is kept is passed on byte by byte as it came. Memory: one
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

/* The rules must outlive it. */
struct tar_filter *tar_filter_new(const struct ignore *ignore) RETURNS_NONNULL;
struct tar_filter *tar_filter_free(struct tar_filter *filter);
DEFINE_CLEANUP(tar_filter)

/* Appends to `out` what is kept of `bytes` and of what waited for them: at most TAR_FILTER_MORE
 * bytes more than came. */
enum { TAR_FILTER_MORE = 80 * 1024 };
MUST_CHECK int tar_filter_take(struct tar_filter *filter, struct view bytes, struct buf *out,
                               struct error *err);

bool tar_filter_is_done(const struct tar_filter *filter); /* the archive's end has come */
uint64_t tar_filter_left_out(const struct tar_filter *filter);
