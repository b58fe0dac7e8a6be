/* mirror_page.c - the pages of projects (see internal.h).
 *
 * An entry of the cache is the address that the page came from, a line feed, and the page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/mirror/internal.h"

/* The address of the page. The index may end with a slash or not. */
static int write_address(const struct mirror *mirror, const struct mirror_page *page,
                         char ret[PAGE_URL_MAX + 1], struct error *err)
{
	const char *base = page->is_npm ? mirror->config->npm_registry : mirror->config->pip_index;
	const char *slash = page->is_npm ? strchr(page->name, '/') : NULL;
	size_t len = strlen(base);
	int written;

	while (len != 0 && base[len - 1] == '/')
		len--;
	if (slash != NULL)
		written = snprintf(ret, PAGE_URL_MAX + 1, "%.*s/%.*s%%2f%s", (int)len, base,
		                   (int)(slash - page->name), page->name, slash + 1);
	else
		written = snprintf(ret, PAGE_URL_MAX + 1, "%.*s/%s%s", (int)len, base, page->name,
		                   page->is_npm ? "" : "/");
	return written <= PAGE_URL_MAX ? 0 : error_set(err, ERR_LIMIT, "the address is too long");
}

/* --- the cache --- */

static bool read_entry(int fd, struct mirror_page *page)
{
	char piece[65536];
	const char *end;
	ssize_t n;

	buf_clear(&page->text);
	while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && !buf_put(&page->text, (struct view){ piece, (size_t)n }))
			return false;
	end = page->text.len != 0 ? memchr(page->text.ptr, '\n', page->text.len) : NULL;
	if (n < 0 || end == NULL || end - page->text.ptr > PAGE_URL_MAX)
		return false;
	(void)snprintf(page->url, sizeof page->url, "%.*s", (int)(end - page->text.ptr),
	               page->text.ptr);
	n = end + 1 - page->text.ptr;
	memmove(page->text.ptr, end + 1, page->text.len - (size_t)n);
	buf_truncate(&page->text, page->text.len - (size_t)n);
	return true;
}

static bool load_page(const struct mirror *mirror, const char *entry, int64_t max_age_s,
                      struct mirror_page *page)
{
	int64_t age_s = 0;
	AUTO_FD int fd = package_cache_open(&mirror->cache, entry, &age_s);

	return fd >= 0 && age_s >= 0 && age_s <= max_age_s && read_entry(fd, page);
}

static void save_page(const struct mirror *mirror, const char *entry,
                      const struct mirror_page *page)
{
	struct package_cache_write write;

	package_cache_write_start(&write, &mirror->cache);
	package_cache_write_bytes(&write, view_of(page->url));
	package_cache_write_bytes(&write, view_of("\n"));
	package_cache_write_bytes(&write, buf_view(&page->text));
	package_cache_write_finish(&write, entry);
}

/* --- the index --- */

static int collect_bytes(void *ctx, struct view bytes)
{
	struct mirror_page *page = ctx;
	struct error ignored; /* fetch_run() has checked the length */

	return buf_add(&page->text, bytes, &ignored);
}

static int fetch_page(const struct mirror *mirror, const char *address, struct mirror_page *page,
                      struct error *err)
{
	struct fetch fetch = {
		.url = address,
		.accept = page->is_npm ? "application/vnd.npm.install-v1+json, application/json"
		                       : "application/vnd.pypi.simple.v1+html, text/html",
		.max = MIRROR_PAGE_MAX - PAGE_URL_MAX - 1,
		.bytes = collect_bytes,
		.ctx = page,
	};

	buf_clear(&page->text);
	if (fetch_run(mirror, &fetch, err) < 0)
		return fetch.status == 404 || fetch.status == 410
		               ? error_set(err, ERR_NOT_FOUND, "the index has no '%s'", page->name)
		               : error_wrap(err, "the package index cannot be used");
	(void)snprintf(page->url, sizeof page->url, "%s", fetch.final_url);
	return 0;
}

int mirror_page_read(const struct mirror *mirror, struct mirror_page *page, struct error *err)
{
	char address[PAGE_URL_MAX + 1], hash[DIGEST_HEX_MAX + 1], entry[DIGEST_HEX_MAX + 8];

	buf_init(&page->text, MIRROR_PAGE_MAX);
	if (write_address(mirror, page, address, err) < 0)
		return -1;
	digest_text(address, hash);
	(void)snprintf(entry, sizeof entry, "p-%s", hash);
	if (load_page(mirror, entry, CACHE_PAGE_FRESH_S, page))
		return 0;
	if (fetch_page(mirror, address, page, err) == 0) {
		save_page(mirror, entry, page);
		return 0;
	}
	/* An old page is better than none while the index cannot be reached. */
	return err->kind != ERR_NOT_FOUND && load_page(mirror, entry, INT64_MAX, page) ? 0 : -1;
}
