/* ignore_reader.h - finds and reads the .gitignore files below a directory, through its agent.
 *
 * Files are read from the top down; those in a directory that is left out are not read.
 *
 *   ignore_reader_start -> fn, once -> ignore_reader_free
 *
 * The reader owns the rules that fn receives. */
#pragma once
#include "base/attr.h"
#include "base/cleanup.h"

struct copy_endpoint;
struct error;
struct ignore;
struct ignore_reader;

/* Called once, from the loop. The rules live until ignore_reader_free(). */
typedef void ignore_reader_fn(void *ctx, const struct ignore *ignore, const struct error *why);

/* The endpoint must outlive the reader. */
MUST_CHECK int ignore_reader_start(const struct copy_endpoint *endpoint, ignore_reader_fn *fn,
                                   void *ctx, struct ignore_reader **ret, struct error *err);
/* May be called at any time, also from within fn; before fn it prevents the call. */
struct ignore_reader *ignore_reader_free(struct ignore_reader *reader);
DEFINE_CLEANUP(ignore_reader)
