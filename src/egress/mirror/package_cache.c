#include "egress/mirror/package_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/random.h"

enum {
	ENTRIES_MAX = 50000,
	LEFT_S = CACHE_WRITE_MAX_S + 60, /* an older temporary file is of a killed process */
	COUNTED_BYTES = 16 << 20, /* that one write adds between two calls of count_temporary() */
};

int package_cache_open(const struct package_cache *cache, const char *name, int64_t *ret_age_s)
{
	int fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return -1;
	}
	*ret_age_s = (int64_t)time(NULL) - (int64_t)st.st_mtime;
	/* The time of a file is that of its last use, by which enforce_limit() chooses. The time of
	 * a page is that of its fetch, because pages become stale. */
	if (name[0] == 'f')
		(void)futimens(fd, NULL); /* a failure makes the entry look older than it is */
	return fd;
}

void package_cache_remove(const struct package_cache *cache, const char *name)
{
	(void)unlinkat(cache->dir, name, 0);
}

/* --- writing --- */

static bool is_temporary(const char *name)
{
	return strncmp(name, "t-", 2) == 0;
}

/* The bytes of the files that are being written, which the limit of the entries does not count.
 * Those that a killed process has left are removed. */
static uint64_t count_temporary(const struct package_cache *cache)
{
	AUTO_DIR DIR *dir = fd_open_dir(cache->dir, ".");
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	if (dir == NULL)
		return UINT64_MAX;
	while ((entry = readdir(dir)) != NULL) {
		if (!is_temporary(entry->d_name) ||
		    fstatat(cache->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((int64_t)time(NULL) - (int64_t)st.st_mtime > LEFT_S)
			package_cache_remove(cache, entry->d_name);
		else
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

void package_cache_write_start(struct package_cache_write *write, const struct package_cache *cache)
{
	*write = (struct package_cache_write){ .cache = cache, .fd = -1 };
	/* Many downloads at once, all of which are cut off before they end, must not fill the
	 * disk: files that are being written share a limit of their own. */
	if (count_temporary(cache) > cache->max_bytes / 2)
		return;
	(void)snprintf(write->temporary, sizeof write->temporary, "t-%016llx",
	               (unsigned long long)random_number());
	write->fd = openat(cache->dir, write->temporary,
	                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void package_cache_write_cancel(struct package_cache_write *write)
{
	if (write->fd < 0)
		return;
	(void)close(write->fd);
	write->fd = -1;
	package_cache_remove(write->cache, write->temporary);
}

void package_cache_write_bytes(struct package_cache_write *write, struct view bytes)
{
	const uint64_t before = write->bytes;
	struct error ignored;
	uint64_t max;

	if (write->fd < 0) /* not started, or cancelled */
		return;
	max = write->cache->max_bytes / 2;
	write->bytes += bytes.len;
	if (write->bytes > max ||
	    (write->bytes / COUNTED_BYTES != before / COUNTED_BYTES &&
	     count_temporary(write->cache) > max) ||
	    fd_write_all(write->fd, bytes, &ignored) < 0)
		package_cache_write_cancel(write);
}

/* --- the limit --- */

struct known_entry {
	char name[CACHE_NAME_MAX + 1];
	uint64_t bytes;
	int64_t used_s;
};

struct known_entries {
	struct known_entry *items;
	size_t count, room;
	uint64_t bytes;
};

static void add_known(void *ctx, const struct package_cache_entry *entry)
{
	struct known_entries *all = ctx;

	if (all->count == all->room) {
		all->room = all->room != 0 ? 2 * all->room : 256;
		all->items = mem_resize(all->items, all->room * sizeof *all->items);
	}
	(void)snprintf(all->items[all->count].name, sizeof all->items[0].name, "%s", entry->name);
	all->items[all->count].bytes = entry->bytes;
	all->items[all->count++].used_s = entry->used_s;
	all->bytes += entry->bytes;
}

static int compare_used(const void *a, const void *b)
{
	const struct known_entry *one = a, *other = b;

	return (one->used_s > other->used_s) - (one->used_s < other->used_s);
}

/* Two processes may do this at the same time: then a few more entries are removed than needed. */
static void enforce_limit(const struct package_cache *cache)
{
	struct known_entries all = { 0 };
	struct error ignored;

	if (package_cache_each(cache, add_known, &all, &ignored) == 0 &&
	    (all.bytes > cache->max_bytes || all.count > ENTRIES_MAX)) {
		size_t left = all.count;

		qsort(all.items, all.count, sizeof *all.items, compare_used);
		for (size_t i = 0;
		     i < all.count && (all.bytes > cache->max_bytes || left > ENTRIES_MAX); i++) {
			package_cache_remove(cache, all.items[i].name);
			all.bytes -= all.items[i].bytes;
			left--;
		}
	}
	free(all.items);
}

void package_cache_write_finish(struct package_cache_write *write, const char *name)
{
	if (write->fd < 0)
		return;
	if (renameat(write->cache->dir, write->temporary, write->cache->dir, name) < 0)
		return package_cache_write_cancel(write);
	(void)close(write->fd);
	write->fd = -1;
	enforce_limit(write->cache);
}

/* --- the entries --- */

static void visit_entry(const struct package_cache *cache, const char *name,
                        void (*each)(void *ctx, const struct package_cache_entry *entry), void *ctx)
{
	struct package_cache_entry entry = { .name = name };
	struct stat st;

	if (fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    strlen(name) > CACHE_NAME_MAX || is_temporary(name))
		return;
	entry.bytes = (uint64_t)st.st_size;
	entry.used_s = st.st_mtime;
	each(ctx, &entry);
}

int package_cache_each(const struct package_cache *cache,
                       void (*each)(void *ctx, const struct package_cache_entry *entry), void *ctx,
                       struct error *err)
{
	AUTO_DIR DIR *dir = fd_open_dir(cache->dir, ".");
	const struct dirent *entry;

	if (dir == NULL)
		return error_sys(err, "read the cache of packages");
	while ((entry = readdir(dir)) != NULL)
		visit_entry(cache, entry->d_name, each, ctx);
	return 0;
}
