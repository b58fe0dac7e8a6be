#include "egress/mirror/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "egress/dialer/dialer.h"
#include "egress/mirror/internal.h"
#include "egress/proxy_http.h"

enum { READ_S = 10, WRITE_S = 300, REQUEST_S = CACHE_WRITE_MAX_S };

bool mirror_has_host(const struct net_host *host, uint16_t port)
{
	return port == 80 && !host->is_address &&
	       (strcmp(host->name, MIRROR_PIP_HOST) == 0 ||
	        strcmp(host->name, MIRROR_NPM_HOST) == 0);
}

/* --- the route --- */

static int refuse_path(struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
	                 "there is no such page: a request names a project, or "
	                 "a file of one");
}

static void send_page(const struct mirror *mirror, const struct mirror_page *page)
{
	AUTO_BUF struct buf out;
	AUTO_FREE char *text = NULL;
	AUTO_JSON json_t *document = NULL;
	char base[PAGE_NAME_MAX + 64];
	struct view body;
	struct error err;

	buf_init(&out, 2 * (size_t)MIRROR_PAGE_MAX);
	(void)snprintf(base, sizeof base, MIRROR_NPM_REGISTRY "%s/-/", page->name);
	if ((page->is_npm ? npm_page_read(buf_view(&page->text), base, &document, &err)
	                  : pip_page_write(buf_view(&page->text), page->name, &out, &err)) < 0)
		return mirror_reply_error(mirror, &err);
	if (page->is_npm)
		text = json_dumps(document, JSON_COMPACT);
	body = text != NULL ? view_of(text) : buf_view(&out);
	if (mirror_reply_head(mirror,
	                      page->is_npm ? "application/json" : "text/html; charset=utf-8",
	                      body.len) == 0)
		(void)!mirror_reply_bytes(mirror, body);
}

/* "NAME.metadata" stands for the metadata of the file NAME (PEP 658). */
static int find_file(const struct mirror_page *page, const char *name, struct page_file *ret,
                     struct error *err)
{
	static const char suffix[] = ".metadata";
	char file[PAGE_FILE_MAX + 1];
	size_t len = strlen(name);

	if (page->is_npm)
		return npm_page_find(buf_view(&page->text), name, ret, err);
	if (pip_page_find(buf_view(&page->text), name, ret))
		return 0;
	if (!view_ends(view_of(name), suffix))
		return refuse_path(err);
	(void)snprintf(file, sizeof file, "%.*s", (int)(len - strlen(suffix)), name);
	if (!pip_page_find(buf_view(&page->text), file, ret) || ret->metadata.kind == DIGEST_NONE ||
	    strlen(ret->url) + strlen(suffix) > PAGE_URL_MAX || strchr(ret->url, '?') != NULL)
		return refuse_path(err);
	(void)snprintf(ret->url + strlen(ret->url), sizeof suffix, "%s", suffix);
	(void)snprintf(ret->name, sizeof ret->name, "%s", name);
	ret->digest = ret->metadata;
	return 0;
}

/* `file`: empty for the page itself. */
static void answer_request(const struct mirror *mirror, bool is_npm, struct view name,
                           struct view file)
{
	AUTO_FREE char *project = mem_dup_len(name.ptr, name.len);
	AUTO_FREE char *wanted = mem_dup_len(file.ptr, file.len);
	struct mirror_page page = { .is_npm = is_npm, .name = project };
	struct page_file found;
	struct error err;

	if (!(is_npm ? npm_package_is : pip_project_is)(name) ||
	    (file.len != 0 && !page_is_file_name(file))) {
		(void)refuse_path(&err);
		return mirror_reply_error(mirror, &err);
	}
	if (mirror_page_read(mirror, &page, &err) < 0 ||
	    (file.len != 0 && find_file(&page, wanted, &found, &err) < 0))
		mirror_reply_error(mirror, &err);
	else if (file.len == 0)
		send_page(mirror, &page);
	else
		mirror_file_send(mirror, &page, &found);
	buf_done(&page.text);
}

static bool cut_prefix(struct view *path, const char *prefix)
{
	if (!view_starts(*path, prefix))
		return false;
	path->ptr += strlen(prefix);
	path->len -= strlen(prefix);
	return true;
}

/* Cuts the path at `separator`; *ret_rest is what stands behind it. */
static bool cut_at(struct view *path, const char *separator, struct view *ret_rest)
{
	const char *at = path->len != 0 ? memmem(path->ptr, path->len, separator, strlen(separator))
	                                : NULL;

	if (at == NULL)
		return false;
	*ret_rest = (struct view){ at + strlen(separator),
		                   path->len - (size_t)(at - path->ptr) - strlen(separator) };
	path->len = (size_t)(at - path->ptr);
	return true;
}

static void route_pip(const struct mirror *mirror, struct view path)
{
	struct view rest = { "", 0 };
	struct error err;

	if (cut_prefix(&path, "/simple/")) {
		(void)cut_at(&path, "/", &rest);
		if (rest.len == 0)
			return answer_request(mirror, false, path, rest);
	} else if (cut_prefix(&path, "/files/") && cut_at(&path, "/", &rest) && rest.len != 0)
		return answer_request(mirror, false, path, rest);
	(void)refuse_path(&err);
	mirror_reply_error(mirror, &err);
}

/* npm writes the slash of "@scope/name" as %2f. */
static void route_npm(const struct mirror *mirror, struct view path)
{
	char name[PAGE_NAME_MAX + 8];
	struct view rest = { "", 0 }, scope;

	(void)cut_prefix(&path, "/");
	(void)cut_at(&path, "/-/", &rest);
	scope = path;
	if (path.len < sizeof name && path.len > 3 &&
	    (cut_at(&scope, "%2f", &path) || cut_at(&scope, "%2F", &path))) {
		(void)snprintf(name, sizeof name, "%.*s/%.*s", (int)scope.len, scope.ptr,
		               (int)path.len, path.ptr);
		return answer_request(mirror, true, view_of(name), rest);
	}
	answer_request(mirror, true, scope, rest);
}

/* The gate has checked the head and has written it anew (proxy_http.h): "GET /PATH HTTP/1.1" and
 * the field Host. */
static void route_request(const struct mirror *mirror, struct view head)
{
	struct view line, path;
	struct error err;

	if (!view_next_line(&head, &line) || !cut_prefix(&line, "GET ") ||
	    !cut_at(&line, " ", &path)) {
		(void)error_set(&err, ERR_INVALID, "the mirror of packages answers GET only");
		return mirror_reply_error(mirror, &err);
	}
	path = (struct view){ line.ptr, line.len };
	(void)cut_at(&path, "?", &line);
	if (memmem(head.ptr, head.len, "Host: " MIRROR_NPM_HOST, strlen("Host: " MIRROR_NPM_HOST)))
		route_npm(mirror, path);
	else
		route_pip(mirror, path);
}

/* --- the child process --- */

static bool read_head(int fd, char *head, size_t size, size_t *ret)
{
	size_t len = 0;
	struct error ignored;
	ssize_t n;

	while (len < size &&
	       ((n = read(fd, head + len, size - len)) > 0 || (n < 0 && errno == EINTR))) {
		len += n > 0 ? (size_t)n : 0;
		if (proxy_head_length((struct view){ head, len }, ret, &ignored) < 0)
			return false;
		if (*ret != 0)
			return true;
	}
	return false;
}

static void serve_connection(const struct dialer_service *service, const struct upstream *upstream,
                             int fd)
{
	const struct mirror_config *config = service->ctx;
	const struct timeval read_time = { .tv_sec = READ_S }, write_time = { .tv_sec = WRITE_S };
	struct mirror mirror = { .config = config,
		                 .upstream = upstream,
		                 .cache = { .max_bytes = config->max_bytes },
		                 .fd = fd };
	static char head[PROXY_HEAD_MAX];
	struct error err;
	size_t len;

	(void)alarm(REQUEST_S);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &read_time, sizeof read_time);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &write_time, sizeof write_time);
	mirror.cache.dir = open(config->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!read_head(fd, head, sizeof head, &len))
		return;
	if (mirror.cache.dir < 0) {
		(void)error_sys(&err, "open the cache of packages");
		return mirror_reply_error(&mirror, &err);
	}
	route_request(&mirror, (struct view){ head, len });
}

int mirror_start(const struct mirror_config *config, struct dialer *ret, struct error *err)
{
	struct mirror_config copy = *config;
	struct dialer_service service = { .name = "belljar-mirror",
		                          .dir = config->dir,
		                          .uses = "fetching packages",
		                          .serve = serve_connection,
		                          .ctx = &copy };
	struct dialer_config dialer = { .ceiling = config->ceiling,
		                        .id = config->id,
		                        .service = &service };

	/* The child process has a copy of the stack, so that the structs live as long as it. */
	return dialer_start(&dialer, ret, err) < 0 ? error_wrap(err, "the mirror of packages") : 0;
}
