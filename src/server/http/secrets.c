#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/access/access.h"
#include "server/access/token_file.h"
#include "server/access/token_store.h"
#include "server/http/internal.h"
#include "server/options/options.h"
#include "transport/http/http_tls.h"

enum { PEM_MAX = 256 * 1024, READ_CHUNK = 16 * 1024 };

/* buf_done() does not overwrite the memory that it frees. */
static void wipe_buf(struct buf *buf)
{
	if (buf->ptr != NULL)
		explicit_bzero(buf->ptr, buf->cap);
	buf_done(buf);
	buf_init(buf, PEM_MAX);
}

/* Allocates the maximum at once: a buffer that grows would leave copies of a key behind. */
static int read_pem(int fd, struct buf *ret, struct error *err)
{
	AUTO_FREE char *bytes = mem_new(PEM_MAX);
	size_t len = 0;
	ssize_t n;
	int r = 0;

	while (len < PEM_MAX && (n = read(fd, bytes + len, PEM_MAX - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = error_sys(err, "read");
			break;
		}
		len += (size_t)n;
	}
	if (r == 0 && len == PEM_MAX)
		r = error_set(err, ERR_LIMIT, "the file has more than %d bytes", PEM_MAX - 1);
	if (r == 0) {
		wipe_buf(ret);
		r = buf_add(ret, (struct view){ bytes, len }, err);
	}
	explicit_bzero(bytes, PEM_MAX);
	return r;
}

/* --- at start --- */

static int read_tokens(struct secrets *secrets, int fd, struct error *err)
{
	struct token_list tokens;

	if (token_store_read(fd, &tokens, err) < 0)
		return -1;
	if (tokens.count == 0)
		log_warning("the token file has no token; 'belljar token add USER' makes one");
	secrets->access = access_new(&tokens);
	return 0;
}

static int open_file(enum secret_file file, const char *path, int *ret, struct error *err)
{
	*ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*ret < 0 && errno == ENOENT && file == SECRET_TOKENS)
		return error_set(err, ERR_NOT_FOUND,
		                 "the token file '%s' does not exist; 'belljar token add USER' "
		                 "makes it",
		                 path);
	return *ret < 0 ? error_sys(err, "open '%s'", path) : 0;
}

/* A file that does not exist is reported before the reloader fails to watch its directory. */
static int check_files(const struct secrets *secrets, struct error *err)
{
	for (size_t i = 0; i < secrets->count; i++) {
		AUTO_FD int fd = -1;

		if (open_file(secrets->files[i], secrets->paths[i], &fd, err) < 0)
			return -1;
	}
	return 0;
}

static int read_first(struct secrets *secrets, enum secret_file file, const char *path,
                      struct error *err)
{
	AUTO_FD int fd = -1;
	int r;

	if (open_file(file, path, &fd, err) < 0)
		return -1;
	if (file == SECRET_TOKENS)
		r = read_tokens(secrets, fd, err);
	else
		r = read_pem(fd, file == SECRET_KEY ? &secrets->key : &secrets->certificate, err);
	return r < 0 ? error_wrap(err, "'%s'", path) : 0;
}

static void add_file(struct secrets *secrets, enum secret_file file, char *path)
{
	secrets->files[secrets->count] = file;
	secrets->paths[secrets->count++] = path;
}

static int list_files(const struct options *options, struct secrets *secrets, struct error *err)
{
	char *path;

	if (options->auth == AUTH_TOKEN) {
		if (token_store_path(options->token_file, &path, err) < 0)
			return -1;
		add_file(secrets, SECRET_TOKENS, path);
	}
	if (options->tls_cert != NULL) {
		add_file(secrets, SECRET_CERTIFICATE, mem_dup(options->tls_cert));
		add_file(secrets, SECRET_KEY, mem_dup(options->tls_key));
	}
	return 0;
}

static int read_files(struct secrets *secrets, struct error *err)
{
	for (size_t i = 0; i < secrets->count; i++)
		if (read_first(secrets, secrets->files[i], secrets->paths[i], err) < 0)
			return -1;
	if (secrets->certificate.len == 0 && secrets->key.len == 0)
		return 0;
	if (http_tls_new(buf_view(&secrets->certificate), buf_view(&secrets->key), &secrets->tls,
	                 err) < 0)
		return error_wrap(err, "TLS");
	return 0;
}

int secrets_open(const struct options *options, struct secrets *ret, struct error *err)
{
	struct secrets secrets = { .reloader = { .socket = -1 } };

	buf_init(&secrets.certificate, PEM_MAX);
	buf_init(&secrets.key, PEM_MAX);
	if (list_files(options, &secrets, err) < 0 || check_files(&secrets, err) < 0 ||
	    (secrets.count != 0 && reloader_start((const char *const *)secrets.paths, secrets.count,
	                                          &secrets.reloader, err) < 0) ||
	    read_files(&secrets, err) < 0) {
		secrets_close(&secrets);
		return -1;
	}
	*ret = secrets;
	return 0;
}

/* --- later --- */

/* A file that cannot be read, or whose content is wrong, has no token in it: a token that was
 * revoked by hand must not stay valid because of a typing error in another line. */
static void reload_tokens(struct secrets *secrets, int fd, int errnum, const char *path)
{
	struct token_list tokens = { 0 };
	struct error err = { .msg = "" };

	if (fd < 0)
		log_error("token file '%s': %s; all tokens are refused until it can be read", path,
		          strerror(errnum));
	else if (token_store_read(fd, &tokens, &err) < 0)
		log_error("token file '%s': %s; all tokens are refused until it is corrected", path,
		          err.msg);
	else
		log_info("token file '%s' was read again: %zu tokens", path, tokens.count);
	access_replace(secrets->access, &tokens, secrets->lost, secrets->ctx);
}

/* Certificate and key are two files, so between two changes they may not belong together. The old
 * pair is used until they do. */
static void reload_tls(struct secrets *secrets, struct buf *part, int fd, int errnum,
                       const char *path)
{
	struct error err = { .msg = "" };

	if (fd < 0) {
		log_warning("'%s': %s; the old certificate stays in use", path, strerror(errnum));
		return;
	}
	if (read_pem(fd, part, &err) < 0 ||
	    http_tls_replace(secrets->tls, buf_view(&secrets->certificate), buf_view(&secrets->key),
	                     &err) < 0)
		log_warning("'%s' has changed, but the old certificate stays in use: %s", path,
		            err.msg);
	else
		log_info("'%s' was read again", path);
}

static void on_changed(void *ctx, size_t index, int fd, int errnum)
{
	struct secrets *secrets = ctx;
	const char *path = secrets->paths[index];

	if (secrets->files[index] == SECRET_TOKENS)
		reload_tokens(secrets, fd, errnum, path);
	else
		reload_tls(secrets,
		           secrets->files[index] == SECRET_KEY ? &secrets->key
		                                               : &secrets->certificate,
		           fd, errnum, path);
}

void secrets_watch(struct secrets *secrets, struct loop *loop, access_lost_fn *lost, void *ctx)
{
	secrets->lost = lost;
	secrets->ctx = ctx;
	if (secrets->count != 0)
		reloader_watch(&secrets->reloader, loop, on_changed, secrets);
}

void secrets_close(struct secrets *secrets)
{
	reloader_stop(&secrets->reloader);
	(void)access_free(secrets->access);
	(void)http_tls_free(secrets->tls);
	wipe_buf(&secrets->certificate);
	wipe_buf(&secrets->key);
	for (size_t i = 0; i < secrets->count; i++)
		free(secrets->paths[i]);
	*secrets = (struct secrets){ .reloader = { .socket = -1 } };
}
