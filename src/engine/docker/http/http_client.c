#include "engine/docker/http/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/docker/http/internal.h"
#include "loop/loop.h"
#include "loop/watch.h"

enum {
	CONNECT_MS = 10000,
	SILENCE_S = 300, /* a call without a timeout fails after this time without a byte */
};

struct http_call {
	struct http_job job;
	struct http_client *http;
	CURL *easy;
	struct curl_slist *headers;
	char *path, *body;
	struct http_client_request request;
	struct buf answer;
	bool is_too_long;
	char detail[CURL_ERROR_SIZE];
};

/* A descriptor that libcurl wants to be watched. */
struct http_socket {
	struct http_client *http;
	curl_socket_t fd;
	struct loop_watch *watch;
};

/* --- libcurl on the loop -------------------------------------------------------------- */

static void check_finished(struct http_client *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_library.multi_info_read(http->multi, &left)) != NULL) {
		CURLcode result = message->data.result;
		struct http_job *job = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_library.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
		                                (char **)&job);
		job->finished(job, result);
	}
}

static void on_timer(void *ctx)
{
	struct http_client *http = ctx;
	int running;

	(void)curl_library.multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	check_finished(http);
}

/* With an event mask of 0, libcurl finds out itself whether the socket is readable or writable. */
static void on_socket(void *ctx)
{
	struct http_socket *socket = ctx;
	struct http_client *http = socket->http;
	int running;

	(void)curl_library.multi_socket_action(http->multi, socket->fd, 0, &running);
	check_finished(http);
}

static void free_socket(void *ctx)
{
	struct http_socket *socket = ctx;

	(void)loop_watch_free(socket->watch);
	free(socket);
}

static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct http_client *http = ctx;
	struct http_socket *socket = known;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (socket != NULL) {
			/* libcurl may be calling from within on_socket() of this socket. */
			socket->watch = loop_watch_free(socket->watch);
			loop_defer(http->loop, free_socket, socket);
		}
		return 0;
	}
	if (socket == NULL) {
		socket = mem_new(sizeof *socket);
		socket->http = http;
		socket->fd = fd;
		socket->watch = loop_watch_new(http->loop, fd, on_socket, socket);
		(void)curl_library.multi_assign(http->multi, fd, socket);
	}
	loop_watch_read(socket->watch, (what & CURL_POLL_IN) != 0);
	loop_watch_write(socket->watch, (what & CURL_POLL_OUT) != 0);
	return 0;
}

static int on_timer_wanted(CURLM *multi, long ms, void *ctx)
{
	struct http_client *http = ctx;

	(void)multi;
	if (ms < 0)
		loop_timer_stop(http->timer);
	else
		loop_timer_start(http->timer, (uint64_t)ms);
	return 0;
}

int http_client_new(struct loop *loop, const struct http_client_address *address,
                    struct http_client **ret, struct error *err)
{
	struct http_client *http;
	CURLM *multi;

	if (curl_library_load("the docker engine", err) < 0)
		return -1;
	multi = curl_library.multi_init();
	if (multi == NULL)
		return error_set(err, ERR_SYSTEM, "libcurl cannot be initialized");
	http = mem_new(sizeof *http);
	http->loop = loop;
	http->address = address;
	http->multi = multi;
	http->timer = loop_timer_new(loop, on_timer, http);
	(void)curl_library.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	(void)curl_library.multi_setopt(multi, CURLMOPT_SOCKETDATA, http);
	(void)curl_library.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	(void)curl_library.multi_setopt(multi, CURLMOPT_TIMERDATA, http);
	*ret = http;
	return 0;
}

static void *must_have(void *handle)
{
	if (handle == NULL)
		abort(); /* libcurl is out of memory */
	return handle;
}

CURL *http_client_new_easy(struct http_client *http, const char *path, struct http_job *job)
{
	const struct http_client_address *address = http->address;
	CURL *easy = must_have(curl_library.easy_init());
	char *url = mem_format("%s%s", address->base, path);

	(void)curl_library.easy_setopt(easy, CURLOPT_URL, url);
	free(url);
	(void)curl_library.easy_setopt(easy, CURLOPT_PRIVATE, job);
	(void)curl_library.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_library.easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_library.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_library.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_library.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_library.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	if (address->socket != NULL)
		(void)curl_library.easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, address->socket);
	if (address->ca != NULL)
		(void)curl_library.easy_setopt(easy, CURLOPT_CAINFO, address->ca);
	if (address->cert != NULL)
		(void)curl_library.easy_setopt(easy, CURLOPT_SSLCERT, address->cert);
	if (address->key != NULL)
		(void)curl_library.easy_setopt(easy, CURLOPT_SSLKEY, address->key);
	return easy;
}

void http_client_add_easy(struct http_client *http, CURL *easy)
{
	if (curl_library.multi_add_handle(http->multi, easy) != CURLM_OK)
		abort(); /* out of memory */
}

void http_client_explain(const struct http_client *http, CURLcode result, const char *detail,
                         struct error *err)
{
	char shown[200];

	if (result == CURLE_OPERATION_TIMEDOUT)
		(void)error_set(err, ERR_SYSTEM,
		                "Docker at %s does not answer in time: see whether the daemon is "
		                "busy or hangs, and try again",
		                http->address->shown);
	else if (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST)
		(void)error_set(err, ERR_SYSTEM,
		                "Docker at %s cannot be reached: start the daemon, and see that "
		                "this user may use it",
		                http->address->shown);
	else
		(void)error_set(
		        err, ERR_SYSTEM, "Docker at %s: %s%s", http->address->shown,
		        utf8_escape(view_of(detail[0] != '\0' ? detail
		                                              : curl_library.easy_strerror(result)),
		                    shown, sizeof shown),
		        http->address->ca != NULL
		                ? ": see that ca.pem, cert.pem and key.pem in the directory of "
		                  "certificates (DOCKER_CERT_PATH) are valid for this daemon"
		                : "");
}

/* --- one request ---------------------------------------------------------------------- */

static void free_call(struct http_call *call)
{
	(void)curl_library.multi_remove_handle(call->http->multi, call->easy);
	curl_library.easy_cleanup(call->easy);
	curl_library.slist_free_all(call->headers);
	buf_done(&call->answer);
	free(call->path);
	free(call->body);
	free(call);
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	struct http_call *call = ctx;
	struct view piece = { bytes, size * count };
	long status = 0;

	(void)curl_library.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (call->request.bytes != NULL && status == 200)
		call->request.bytes(call->request.ctx, piece);
	else if (!buf_put(&call->answer, piece)) {
		call->is_too_long = true;
		return 0; /* ends the transfer */
	}
	return piece.len;
}

static void on_call_finished(struct http_job *job, CURLcode result)
{
	struct http_call *call = container_of(job, struct http_call, job);
	const struct http_client_request request = call->request;
	struct error err;
	long status = 0;

	(void)curl_library.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (call->is_too_long)
		(void)error_set(&err, ERR_LIMIT,
		                "Docker at %s sent an answer of more than %zu bytes",
		                call->http->address->shown, request.max);
	else if (result != CURLE_OK || status == 0)
		http_client_explain(call->http,
		                    result == CURLE_OK ? CURLE_WEIRD_SERVER_REPLY : result,
		                    call->detail, &err);
	if (result != CURLE_OK || status == 0)
		request.done(request.ctx, 0, (struct view){ "", 0 }, &err);
	else
		request.done(request.ctx, (int)status, buf_view(&call->answer), NULL);
	free_call(call);
}

static void add_header(struct http_call *call, const char *line)
{
	call->headers = must_have(curl_library.slist_append(call->headers, line));
}

void http_client_send(struct http_client *http, const struct http_client_request *request)
{
	struct http_call *call = mem_new(sizeof *call);
	char type[80];

	call->job.finished = on_call_finished;
	call->http = http;
	call->request = *request;
	buf_init(&call->answer, request->max);
	call->easy = http_client_new_easy(http, request->path, &call->job);
	(void)curl_library.easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
	(void)curl_library.easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_bytes);
	(void)curl_library.easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
	(void)curl_library.easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->detail);
	if (request->timeout_ms != 0) {
		(void)curl_library.easy_setopt(call->easy, CURLOPT_TIMEOUT_MS,
		                               (long)request->timeout_ms);
	} else {
		(void)curl_library.easy_setopt(call->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		(void)curl_library.easy_setopt(call->easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
	}
	if (request->type != NULL) {
		call->body = mem_dup_len(request->body.ptr, request->body.len);
		(void)snprintf(type, sizeof type, "Content-Type: %s", request->type);
		add_header(call, type);
	}
	if (request->type != NULL || strcmp(request->method, "POST") == 0) {
		(void)curl_library.easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                               (curl_off_t)request->body.len);
		(void)curl_library.easy_setopt(call->easy, CURLOPT_POSTFIELDS,
		                               call->body != NULL ? call->body : "");
	}
	/* An empty value removes libcurl's "Expect: 100-continue", which delays large bodies. */
	add_header(call, "Expect:");
	if (request->header != NULL)
		add_header(call, request->header);
	(void)curl_library.easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	http_client_add_easy(http, call->easy);
}
