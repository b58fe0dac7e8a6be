/* fetch.c - one request to an index, with libcurl (see internal.h).
 *
 * libcurl resolves and connects nothing: it gets a connected socket of the dialer's code, which has
 * checked the name and the address. The library is loaded by the process that needs it, because a
 * request that the cache answers does not. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/mirror/internal.h"
#include "egress/net_policy.h"
#include "libcurl/curl_library.h"

enum { REDIRECTIONS_MAX = 5 };

static int load_library(struct error *err)
{
	return curl_library_load("the package cache, which --package-cache 0 turns off,", err);
}

/* --- addresses --- */

static int get_part(CURLU *url, CURLUPart part, unsigned flags, char *ret, size_t size,
                    struct error *err)
{
	char *text = NULL;
	bool fits = curl_library.url_get(url, part, &text, flags) == CURLUE_OK &&
	            snprintf(ret, size, "%s", text) < (int)size;

	curl_library.free(text);
	return fits ? 0 : error_set(err, ERR_SYNTAX, "an address of the index is malformed");
}

int fetch_resolve(const char *base, const char *url, char ret[PAGE_URL_MAX + 1], struct error *err)
{
	CURLU *handle;
	int r = -1;

	if (load_library(err) < 0)
		return -1;
	handle = curl_library.url();
	if (curl_library.url_set(handle, CURLUPART_URL, base, 0) != CURLUE_OK ||
	    curl_library.url_set(handle, CURLUPART_URL, url, 0) != CURLUE_OK)
		(void)error_set(err, ERR_SYNTAX, "an address of the index is malformed");
	else
		r = get_part(handle, CURLUPART_URL, 0, ret, PAGE_URL_MAX + 1, err);
	curl_library.url_cleanup(handle);
	return r;
}

struct target {
	bool is_https;
	struct net_host host;
	uint16_t port;
};

static int read_target(const char *url, struct target *ret, struct error *err)
{
	char scheme[16], host[NET_NAME_MAX + 8], port[8];
	CURLU *handle = curl_library.url();
	int r = curl_library.url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK
	                ? 0
	                : error_set(err, ERR_SYNTAX, "an address of the index is malformed");

	if (r == 0)
		r = get_part(handle, CURLUPART_SCHEME, 0, scheme, sizeof scheme, err);
	if (r == 0)
		r = get_part(handle, CURLUPART_HOST, 0, host, sizeof host, err);
	if (r == 0)
		r = get_part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof port, err);
	curl_library.url_cleanup(handle);
	if (r < 0 || net_host_parse(view_of(host), &ret->host, err) < 0)
		return -1;
	ret->is_https = strcmp(scheme, "https") == 0;
	ret->port = (uint16_t)strtoul(port, NULL, 10);
	if (!ret->is_https && strcmp(scheme, "http") != 0)
		return error_set(err, ERR_INVALID,
		                 "an address of the index is no http:// or "
		                 "https:// URL");
	return 0;
}

/* --- the connection --- */

static int connect_target(const struct mirror *mirror, const struct target *target,
                          struct dialer_reply *reply, struct error *err)
{
	static const struct net_policy policy = { .mode = NET_MODE_PACKAGES };
	struct dialer_request request = { .port = target->port, .is_http = !target->is_https };
	int fd;

	if (net_policy_decide(&policy, mirror->config->ceiling, &target->host, target->port, err) <
	    0)
		return error_set(err, ERR_LIMIT,
		                 "the index refers to %s, which is no host of an index: the "
		                 "operator can name it with --pip-index or --npm-registry",
		                 target->host.name);
	(void)snprintf(request.host, sizeof request.host, "%s", target->host.name);
	fd = dialer_connect(mirror->config->ceiling, mirror->upstream, &target->host, &request,
	                    reply);
	if (fd < 0)
		*err = reply->err;
	return fd;
}

static curl_socket_t give_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
	int *fd = ctx;
	int given = *fd;

	(void)purpose;
	(void)address;
	*fd = -1; /* a second connection fails */
	return given >= 0 ? given : CURL_SOCKET_BAD;
}

static int mark_connected(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	(void)ctx;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/* --- one request --- */

struct exchange {
	struct fetch *fetch;
	CURL *curl;
	bool has_begun, is_too_long, is_aborted;
	uint64_t bytes;
};

static void begin_exchange(struct exchange *exchange)
{
	curl_off_t length = -1;

	exchange->has_begun = true;
	(void)curl_library.easy_getinfo(exchange->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
	                                &length);
	if (exchange->fetch->begin != NULL)
		exchange->fetch->begin(exchange->fetch->ctx,
		                       length >= 0 ? (uint64_t)length : UINT64_MAX);
}

static size_t receive_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	struct exchange *exchange = ctx;
	struct fetch *fetch = exchange->fetch;
	size_t len = size * count;

	(void)curl_library.easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &fetch->status);
	if (fetch->status != 200)
		return len; /* the text of an error */
	exchange->is_too_long = len > fetch->max - exchange->bytes;
	if (exchange->is_too_long)
		return 0;
	if (!exchange->has_begun)
		begin_exchange(exchange);
	exchange->bytes += len;
	exchange->is_aborted = fetch->bytes(fetch->ctx, (struct view){ bytes, len }) < 0;
	return exchange->is_aborted ? 0 : len;
}

/* The name and the password of the index are for its host only. */
static void set_login(CURL *curl, const struct mirror *mirror, const struct target *target)
{
	const char *const indexes[] = { mirror->config->pip_index, mirror->config->npm_registry };

	for (size_t i = 0; i < ARRAY_LEN(indexes); i++) {
		CURLU *handle = curl_library.url();
		struct target own;
		struct error ignored;
		char user[256] = "", password[512] = "";

		if (read_target(indexes[i], &own, &ignored) == 0 &&
		    net_host_is(&own.host, &target->host) && own.port == target->port &&
		    own.is_https == target->is_https &&
		    curl_library.url_set(handle, CURLUPART_URL, indexes[i], 0) == CURLUE_OK &&
		    get_part(handle, CURLUPART_USER, CURLU_URLDECODE, user, sizeof user,
		             &ignored) == 0) {
			(void)!get_part(handle, CURLUPART_PASSWORD, CURLU_URLDECODE, password,
			                sizeof password, &ignored);
			(void)curl_library.easy_setopt(curl, CURLOPT_USERNAME, user);
			(void)curl_library.easy_setopt(curl, CURLOPT_PASSWORD, password);
		}
		curl_library.url_cleanup(handle);
	}
}

/* Sets what every request has. */
static void set_options(CURL *curl, struct exchange *exchange, int *fd)
{
	(void)curl_library.easy_setopt(curl, CURLOPT_URL, exchange->fetch->url);
	(void)curl_library.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_library.easy_setopt(curl, CURLOPT_PROXY, "");
	(void)curl_library.easy_setopt(curl, CURLOPT_USERAGENT, "belljar");
	(void)curl_library.easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_library.easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, give_socket);
	(void)curl_library.easy_setopt(curl, CURLOPT_OPENSOCKETDATA, fd);
	(void)curl_library.easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, mark_connected);
	(void)curl_library.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)MIRROR_SILENCE_S);
	(void)curl_library.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_library.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)MIRROR_SILENCE_S);
	(void)curl_library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive_bytes);
	(void)curl_library.easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
	if (exchange->fetch->accept != NULL)
		(void)curl_library.easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
}

static int explain_failure(const struct exchange *exchange, CURLcode code, const char *host,
                           struct error *err)
{
	if (exchange->is_too_long)
		return error_set(err, ERR_LIMIT, "%s: the answer has more than %llu bytes", host,
		                 (unsigned long long)exchange->fetch->max);
	if (exchange->is_aborted)
		return error_set(err, ERR_SYSTEM, "the installer has closed the connection");
	if (code == CURLE_OPERATION_TIMEDOUT)
		return error_set(err, ERR_SYSTEM, "%s sends nothing for %d s", host,
		                 MIRROR_SILENCE_S);
	if (code != CURLE_OK)
		return error_set(err, ERR_SYSTEM, "%s: %s", host, curl_library.easy_strerror(code));
	return error_set(err, ERR_SYSTEM, "%s answers with the status %ld", host,
	                 exchange->fetch->status);
}

/* Returns 1 and writes *next after a redirection. */
static int run_once(const struct mirror *mirror, struct fetch *fetch, char next[PAGE_URL_MAX + 1],
                    struct error *err)
{
	static struct dialer_reply reply;
	struct exchange exchange = { .fetch = fetch, .curl = curl_library.easy_init() };
	struct curl_slist *fields = NULL, *names = NULL;
	struct target target;
	char text[DIAL_HEADER_MAX + 64];
	char *location = NULL;
	CURLcode code;
	int fd = -1, r = -1;

	reply = (struct dialer_reply){ 0 };
	if (read_target(fetch->url, &target, err) < 0 ||
	    (fd = connect_target(mirror, &target, &reply, err)) < 0)
		goto out;
	set_options(exchange.curl, &exchange, &fd);
	set_login(exchange.curl, mirror, &target);
	if (fetch->accept != NULL) {
		(void)snprintf(text, sizeof text, "Accept: %s", fetch->accept);
		fields = curl_library.slist_append(fields, text);
	}
	if (reply.wants_url)
		(void)curl_library.easy_setopt(exchange.curl, CURLOPT_PROXY, "http://127.0.0.1:1");
	if (reply.wants_url && reply.header[0] != '\0') {
		(void)snprintf(text, sizeof text, "%.*s", (int)strcspn(reply.header, "\r"),
		               reply.header);
		fields = curl_library.slist_append(fields, text);
	}
	(void)snprintf(text, sizeof text, "%s:%u:127.0.0.1", target.host.name, target.port);
	if (!target.host.is_address)
		names = curl_library.slist_append(names, text);
	(void)curl_library.easy_setopt(exchange.curl, CURLOPT_HTTPHEADER, fields);
	(void)curl_library.easy_setopt(exchange.curl, CURLOPT_RESOLVE, names);
	code = curl_library.easy_perform(exchange.curl);
	(void)curl_library.easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &fetch->status);
	(void)curl_library.easy_getinfo(exchange.curl, CURLINFO_REDIRECT_URL, &location);
	if (code == CURLE_OK && fetch->status == 200) {
		if (!exchange.has_begun) /* an empty file */
			begin_exchange(&exchange);
		r = 0;
	} else if (code == CURLE_OK && fetch->status >= 300 && fetch->status < 400 &&
	           location != NULL && strlen(location) <= PAGE_URL_MAX &&
	           (!target.is_https || strncasecmp(location, "https://", 8) == 0)) {
		(void)snprintf(next, PAGE_URL_MAX + 1, "%s", location);
		r = 1;
	} else {
		(void)explain_failure(&exchange, code, target.host.name, err);
	}
out:
	curl_library.easy_cleanup(exchange.curl);
	curl_library.slist_free_all(fields);
	curl_library.slist_free_all(names);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

int fetch_run(const struct mirror *mirror, struct fetch *fetch, struct error *err)
{
	char next[PAGE_URL_MAX + 1];
	int r = 1;

	if (load_library(err) < 0)
		return -1;
	(void)snprintf(fetch->final_url, sizeof fetch->final_url, "%s", fetch->url);
	fetch->url = fetch->final_url;
	for (int i = 0; r == 1; i++) {
		if (i > REDIRECTIONS_MAX)
			return error_set(err, ERR_LIMIT, "more than %d redirections",
			                 REDIRECTIONS_MAX);
		r = run_once(mirror, fetch, next, err);
		if (r == 1)
			(void)snprintf(fetch->final_url, sizeof fetch->final_url, "%s", next);
	}
	/* A host without an address is a failure of the index, not a project that it lacks. */
	if (r < 0)
		err->kind = ERR_SYSTEM;
	return r;
}
