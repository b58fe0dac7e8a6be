/* package_cache.h - the directory in which packages of the indexes are kept, for all sandboxes of
 * all owners. Only the mirror, and `belljar cache` of the operator, write it.
 *
 *   f-ALGORITHM-HASH~NAME   a file of an index, named by its verified hash
 *   p-HASH                  a page of an index, named by the hash of its address
 *   t-...                   being written
 *
 * An entry is written under another name and then renamed, so that every reader sees all of it, and
 * several servers may share the directory. When the entries have more bytes than the limit, those
 * that were not used for the longest time are removed. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum {
	CACHE_NAME_MAX = 240,
	CACHE_PAGE_FRESH_S = 600,
	CACHE_WRITE_MAX_S = 3600 /* for a request, and so for a write */
};

struct package_cache {
	int dir;
	uint64_t max_bytes;
};

/* An entry while it is written. */
struct package_cache_write {
	const struct package_cache *cache;
	int fd; /* -1: there is none */
	char temporary[40];
	uint64_t bytes;
};

struct package_cache_entry {
	const char *name; /* of the file in the directory; valid during the callback */
	uint64_t bytes;
	int64_t used_s; /* when it was used last, or a page was fetched; wall clock */
};

/* Opens an entry for reading, and marks it as used if it is a file of an index. -1: there is
 * none. */
int package_cache_open(const struct package_cache *cache, const char *name, int64_t *ret_age_s);
void package_cache_remove(const struct package_cache *cache, const char *name);

/* A write that fails (a full disk, more bytes than the limit), or while the files that are being
 * written have more bytes than half of the limit, becomes inactive, and the caller goes
 * on without it. */
void package_cache_write_start(struct package_cache_write *write,
                               const struct package_cache *cache);
void package_cache_write_bytes(struct package_cache_write *write, struct view bytes);
/* Gives the entry its name, and removes others if there are too many bytes now. */
void package_cache_write_finish(struct package_cache_write *write, const char *name);
void package_cache_write_cancel(struct package_cache_write *write);

/* Calls each() for every entry but those that are being written. */
MUST_CHECK int package_cache_each(const struct package_cache *cache,
                                  void (*each)(void *ctx, const struct package_cache_entry *entry),
                                  void *ctx, struct error *err);
