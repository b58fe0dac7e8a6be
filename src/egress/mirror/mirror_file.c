/* mirror_file.c - the files of projects (see internal.h).
 *
 * A file that comes from an index is passed on while it comes, so that the installer does not wait
 * in vain, and is kept if it has the hash that the index gives. An installer compares the hash by
 * itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/mirror/internal.h"

static const char type[] = "application/octet-stream";

/* --- from the cache --- */

/* Reads the whole entry, for as long as bytes() returns 0. */
static bool read_entry(int fd, int (*bytes)(void *ctx, struct view bytes), void *ctx)
{
	char piece[65536];
	ssize_t n = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return false;
	while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && bytes(ctx, (struct view){ piece, (size_t)n }) < 0)
			return false;
	return n == 0;
}

static int hash_bytes(void *ctx, struct view bytes)
{
	digest_bytes(ctx, bytes);
	return 0;
}

static int send_bytes(void *ctx, struct view bytes)
{
	return mirror_reply_bytes(ctx, bytes);
}

/* False: there is no entry. One that does not have its hash any more, after a failure of the disk,
 * is removed. */
static bool send_entry(const struct mirror *mirror, const char *entry, const struct digest *digest)
{
	struct mirror to = *mirror;
	struct digest_state state;
	int64_t ignored_s;
	AUTO_FD int fd = package_cache_open(&mirror->cache, entry, &ignored_s);
	struct stat st;
	bool is_read;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	digest_start(&state, digest->kind);
	is_read = read_entry(fd, hash_bytes, &state);
	if (!digest_is(&state, digest) || !is_read) {
		package_cache_remove(&mirror->cache, entry);
		return false;
	}
	if (mirror_reply_head(mirror, type, (uint64_t)st.st_size) == 0)
		(void)read_entry(fd, send_bytes, &to);
	return true;
}

/* --- from the index --- */

struct transfer {
	const struct mirror *mirror;
	struct package_cache_write write;
	struct digest_state state;
	bool has_begun; /* the head of the answer was sent */
};

static void begin_transfer(void *ctx, uint64_t length)
{
	struct transfer *transfer = ctx;

	transfer->has_begun = true;
	(void)!mirror_reply_head(transfer->mirror, type, length);
}

static int pass_bytes(void *ctx, struct view bytes)
{
	struct transfer *transfer = ctx;

	digest_bytes(&transfer->state, bytes);
	package_cache_write_bytes(&transfer->write, bytes);
	return mirror_reply_bytes(transfer->mirror, bytes);
}

static void fetch_file(const struct mirror *mirror, const char *url, const char *entry,
                       const struct digest *digest)
{
	struct transfer transfer = { .mirror = mirror, .write.fd = -1 };
	struct fetch fetch = { .url = url,
		               .max = UINT64_MAX,
		               .begin = begin_transfer,
		               .bytes = pass_bytes,
		               .ctx = &transfer };
	struct error err;

	if (digest->kind != DIGEST_NONE)
		package_cache_write_start(&transfer.write, &mirror->cache);
	digest_start(&transfer.state, digest->kind);
	if (fetch_run(mirror, &fetch, &err) < 0) {
		package_cache_write_cancel(&transfer.write);
		if (!transfer.has_begun)
			mirror_reply_error(mirror, &err);
	} else if (digest_is(&transfer.state, digest)) {
		package_cache_write_finish(&transfer.write, entry);
	} else {
		package_cache_write_cancel(&transfer.write);
	}
}

void mirror_file_send(const struct mirror *mirror, const struct mirror_page *page,
                      const struct page_file *file)
{
	char entry[CACHE_NAME_MAX + 1], url[PAGE_URL_MAX + 1];
	struct error err;

	/* A long name is cut: the hash alone names the file. */
	(void)snprintf(entry, sizeof entry, "f-%s-%s~%.100s", digest_name(file->digest.kind),
	               file->digest.hex, file->name);
	if (file->digest.kind != DIGEST_NONE && send_entry(mirror, entry, &file->digest))
		return;
	if (fetch_resolve(page->url, file->url, url, &err) < 0)
		mirror_reply_error(mirror, &err);
	else
		fetch_file(mirror, url, entry, &file->digest);
}
