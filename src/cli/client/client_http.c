#include "cli/client/client_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/client/sse_reader.h"
#include "libcurl/curl_library.h"
#include "json/json.h"

enum {
	CONNECT_MS = 10000,
	CLOSE_MS = 2000,
	NOTICE_MS = 10000, /* for a notification or a reply, which the user does not see */
	POLL_MS = 100,
	RESUMES_MAX = 30,        /* of one request, without a complete event between them */
	RESUME_MIN_MS = 200,     /* before an attempt, whatever the server asks for */
	REFUSAL_MAX = 64 * 1024, /* bytes of the body of a refusal */
	MESSAGE_MAX = 64 * 1024 * 1024,
	SESSION_MAX = 255,
	TOKEN_MAX = 4096,
};

/* The kind of a response body. */
enum body { BODY_UNKNOWN, BODY_JSON, BODY_EVENTS, BODY_REFUSAL, BODY_OTHER };

/* One HTTP request and its response. */
struct exchange {
	struct client_http *http;
	CURL *easy;
	struct curl_slist *headers;
	char *sent;
	enum body body;
	struct buf refusal;
	struct error why; /* the response cannot be taken: msg is not "" */
	char detail[CURL_ERROR_SIZE];
};

struct client_http {
	const char *url;
	char *authorization; /* a header line; NULL: there is no token */
	char session[SESSION_MAX + 1], version[32];
	struct buf *in;
	CURLM *multi;
	struct exchange *main; /* the request in progress, or NULL */
	struct sse_reader events;
	unsigned resumes;
	uint64_t resume_at_ms; /* the response was cut: when it is resumed; 0: it was not */
};

/* --- responses ------------------------------------------------------------------------ */

/* The server's own text about a refusal: of JSON-RPC, or of OAuth. */
static void find_reason(struct view body, char *out, size_t size)
{
	static const struct json_limits limits = { .depth = 8, .values = 100 };
	AUTO_JSON json_t *value = NULL;
	const char *text = NULL;
	struct error ignored;

	if (json_read(body, &limits, &value, NULL, &ignored) == 0) {
		text = json_text(json_object_get(value, "error"), "message");
		if (text == NULL)
			text = json_text(value, "error_description");
	}
	out[0] = '\0';
	if (text != NULL)
		(void)utf8_escape(view_of(text), out, size);
}

/* The user's next step for the statuses that have a usual cause. */
static const char *suggest_step(const struct client_http *http, long status)
{
	if (status == 401 && http->authorization == NULL)
		return "put a token into an environment variable and name it with --token-env";
	if (status == 401)
		return "the variable of --token-env must have a token of this server";
	if (status == 404 && http->session[0] != '\0')
		return "the server has ended the session; start the client again";
	if (status == 404 || status == 405)
		return "the URL must be the one of an MCP server, which usually ends in /mcp";
	if (status >= 300 && status < 400)
		return "use the URL that the server redirects to";
	return "see the messages of the server";
}

static int explain_status(const struct exchange *exchange, long status, struct error *err)
{
	const char *url = exchange->http->url, *step = suggest_step(exchange->http, status);
	char reason[300];

	find_reason(buf_view(&exchange->refusal), reason, sizeof reason);
	return error_set(err, ERR_INVALID, "%s refuses the request with status %ld%s%s%s: %s", url,
	                 status, reason[0] != '\0' ? " (" : "", reason,
	                 reason[0] != '\0' ? ")" : "", step);
}

static int explain_failure(const struct exchange *exchange, CURLcode result, struct error *err)
{
	const char *text = exchange->detail[0] != '\0' ? exchange->detail
	                                               : curl_library.easy_strerror(result);
	char shown[200];

	if (exchange->why.msg[0] != '\0') {
		*err = exchange->why;
		return -1;
	}
	(void)utf8_escape(view_of(text), shown, sizeof shown);
	if (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST ||
	    result == CURLE_OPERATION_TIMEDOUT)
		return error_set(err, ERR_SYSTEM,
		                 "%s cannot be reached (%s): see that the server runs ('belljar "
		                 "serve --http ADDRESS'), and the address",
		                 exchange->http->url, shown);
	if (result == CURLE_PEER_FAILED_VERIFICATION)
		return error_set(err, ERR_SYSTEM,
		                 "%s has a certificate that is not trusted (%s): add its authority "
		                 "to the system's, or name its file in SSL_CERT_FILE",
		                 exchange->http->url, shown);
	if (result == CURLE_SSL_CONNECT_ERROR)
		return error_set(
		        err, ERR_SYSTEM,
		        "%s does not answer with TLS (%s): see whether its URL begins with "
		        "http://",
		        exchange->http->url, shown);
	return error_set(err, ERR_SYSTEM, "%s: %s", exchange->http->url, shown);
}

static enum body classify_body(CURL *easy)
{
	const char *type = NULL;
	long status = 0;

	(void)curl_library.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_library.easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
	if (status != 200)
		return BODY_REFUSAL;
	if (type != NULL && strncasecmp(type, "application/json", 16) == 0)
		return BODY_JSON;
	if (type != NULL && strncasecmp(type, "text/event-stream", 17) == 0)
		return BODY_EVENTS;
	return BODY_OTHER;
}

/* Appends JSON with its line ends, which can only stand between tokens, as spaces. */
static int add_json(struct buf *in, struct view bytes, struct error *err)
{
	size_t from = in->len;

	if (buf_add(in, bytes, err) < 0)
		return -1;
	for (size_t i = from; i < in->len; i++)
		if (in->ptr[i] == '\n' || in->ptr[i] == '\r')
			in->ptr[i] = ' ';
	return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
	struct exchange *exchange = ctx;
	struct client_http *http = exchange->http;
	struct view piece = { bytes, size * count };
	size_t had = http->in->len;
	int r = 0;

	if (exchange->body == BODY_UNKNOWN)
		exchange->body = classify_body(exchange->easy);
	if (exchange != http->main && exchange->body != BODY_REFUSAL)
		return piece.len; /* only the request has a message as its response */
	if (exchange->body == BODY_JSON)
		r = add_json(http->in, piece, &exchange->why);
	else if (exchange->body == BODY_EVENTS)
		r = sse_reader_feed(&http->events, piece, http->in, &exchange->why);
	else if (exchange->body == BODY_REFUSAL)
		buf_put(&exchange->refusal, piece); /* the rest is not needed */
	else
		r = error_set(&exchange->why, ERR_SYNTAX,
		              "%s does not answer in MCP: the URL must be the one of an MCP "
		              "server, which usually ends in /mcp",
		              http->url);
	/* A comment or a part of an event would let a server keep the client in a loop. */
	if (exchange->body == BODY_EVENTS && http->in->len > had)
		http->resumes = 0;
	return r < 0 ? 0 : piece.len; /* 0 ends the transfer */
}

/* Takes the id of the session from the response to `initialize`. */
static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
	static const char name[] = "mcp-session-id:";
	struct exchange *exchange = ctx;
	size_t len = size * count, at = sizeof name - 1;

	if (len > at && strncasecmp(bytes, name, at) == 0) {
		while (at < len && bytes[at] == ' ')
			at++;
		while (len > at && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
			len--;
		if (len - at <= SESSION_MAX) {
			memcpy(exchange->http->session, bytes + at, len - at);
			exchange->http->session[len - at] = '\0';
		}
	}
	return size * count;
}

/* --- requests ------------------------------------------------------------------------- */

static void *must_have(void *handle)
{
	if (handle == NULL)
		abort(); /* libcurl is out of memory */
	return handle;
}

static void add_header(struct exchange *exchange, const char *name, const char *value)
{
	AUTO_FREE char *line = mem_format("%s%s", name, value);

	exchange->headers = must_have(curl_library.slist_append(exchange->headers, line));
}

static void add_headers(struct exchange *exchange)
{
	const struct client_http *http = exchange->http;

	add_header(exchange, "Expect:", ""); /* no pause before a large body */
	if (http->authorization != NULL)
		add_header(exchange, http->authorization, "");
	if (http->session[0] != '\0')
		add_header(exchange, "Mcp-Session-Id: ", http->session);
	if (http->version[0] != '\0')
		add_header(exchange, "MCP-Protocol-Version: ", http->version);
}

/* Redirects are not followed: they would send the token to another server. */
static void set_options(struct exchange *exchange, const char *method)
{
	const char *authorities = getenv("SSL_CERT_FILE");
	CURL *easy = exchange->easy;

	(void)curl_library.easy_setopt(easy, CURLOPT_URL, exchange->http->url);
	(void)curl_library.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	(void)curl_library.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_library.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_library.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_library.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_library.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	(void)curl_library.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_library.easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	(void)curl_library.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_library.easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
	(void)curl_library.easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->detail);
	(void)curl_library.easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->headers);
	if (authorities != NULL && authorities[0] != '\0')
		(void)curl_library.easy_setopt(easy, CURLOPT_CAINFO, authorities);
}

/* message: NULL for a request without a body. */
static struct exchange *exchange_new(struct client_http *http, const struct view *message)
{
	struct exchange *exchange = mem_new(sizeof *exchange);

	exchange->http = http;
	exchange->easy = must_have(curl_library.easy_init());
	buf_init(&exchange->refusal, REFUSAL_MAX);
	add_headers(exchange);
	if (message != NULL) {
		add_header(exchange, "Content-Type: application/json", "");
		add_header(exchange, "Accept: application/json, text/event-stream", "");
		exchange->sent = mem_dup_len(message->ptr, message->len);
		(void)curl_library.easy_setopt(exchange->easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                               (curl_off_t)message->len);
		(void)curl_library.easy_setopt(exchange->easy, CURLOPT_POSTFIELDS, exchange->sent);
	}
	return exchange;
}

static struct exchange *exchange_free(struct exchange *exchange)
{
	if (exchange == NULL)
		return NULL;
	curl_library.easy_cleanup(exchange->easy);
	curl_library.slist_free_all(exchange->headers);
	buf_done(&exchange->refusal);
	free(exchange->sent);
	free(exchange);
	return NULL;
}

/* Fails if the transfer failed, or if the server refuses the request. */
static int check_exchange(const struct exchange *exchange, CURLcode result, struct error *err)
{
	long status = 0;

	if (result != CURLE_OK)
		return explain_failure(exchange, result, err);
	(void)curl_library.easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
	return status == 200 || status == 202 ? 0 : explain_status(exchange, status, err);
}

static int perform_exchange(struct exchange *exchange, const char *method, struct error *err)
{
	CURLcode result;
	int r;

	set_options(exchange, method);
	result = curl_library.easy_perform(exchange->easy);
	r = check_exchange(exchange, result, err);
	(void)exchange_free(exchange);
	return r;
}

static void start_main(struct client_http *http, struct exchange *exchange, const char *method)
{
	http->main = exchange;
	http->resume_at_ms = 0;
	sse_reader_restart(&http->events);
	set_options(exchange, method);
	if (curl_library.multi_add_handle(http->multi, exchange->easy) != CURLM_OK)
		abort(); /* out of memory */
}

void client_http_stop(struct client_http *http)
{
	if (http->main != NULL)
		(void)curl_library.multi_remove_handle(http->multi, http->main->easy);
	http->main = exchange_free(http->main);
	http->resume_at_ms = 0;
}

int client_http_send(struct client_http *http, struct view message, bool is_request,
                     struct error *err)
{
	if (!is_request) {
		struct exchange *exchange = exchange_new(http, &message);

		(void)curl_library.easy_setopt(exchange->easy, CURLOPT_TIMEOUT_MS, (long)NOTICE_MS);
		return perform_exchange(exchange, "POST", err);
	}
	client_http_stop(http);
	http->events.last_id[0] = '\0';
	http->resumes = 0;
	start_main(http, exchange_new(http, &message), "POST");
	return 0;
}

static void resume_main(struct client_http *http)
{
	struct exchange *exchange = exchange_new(http, NULL);

	add_header(exchange, "Accept: text/event-stream", "");
	add_header(exchange, "Last-Event-ID: ", http->events.last_id);
	start_main(http, exchange, "GET");
}

/* Whether the rest of the response may still come. A server that has not noticed the cut answers an
 * attempt to resume with 409. */
static bool is_cut(const struct exchange *exchange, CURLcode result)
{
	long status = 0;

	(void)curl_library.easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
	return exchange->body == BODY_EVENTS || status == 409 ||
	       (exchange->body == BODY_UNKNOWN && result != CURLE_OK);
}

/* The response has ended. Without its last event the caller waits for more, and it is resumed. */
static int finish_main(struct client_http *http, CURLcode result, struct error *err)
{
	enum body body = http->main->body;
	bool can_resume = http->events.last_id[0] != '\0' && is_cut(http->main, result) &&
	                  http->resumes++ < RESUMES_MAX && http->main->why.msg[0] == '\0';
	int r = can_resume ? 0 : check_exchange(http->main, result, err);

	client_http_stop(http);
	if (can_resume)
		http->resume_at_ms = clock_now_ms() + (http->events.retry_ms > RESUME_MIN_MS
		                                               ? http->events.retry_ms
		                                               : RESUME_MIN_MS);
	if (r == 0 && body == BODY_JSON)
		r = buf_add(http->in, view_of("\n"), err);
	return r;
}

int client_http_more(struct client_http *http, struct error *err)
{
	CURLMsg *message;
	int count;

	if (http->main == NULL && http->resume_at_ms == 0)
		return error_set(err, ERR_SYSTEM, "%s ended the response without a result",
		                 http->url);
	if (http->main == NULL && clock_now_ms() >= http->resume_at_ms)
		resume_main(http);
	(void)curl_library.multi_perform(http->multi, &count);
	while ((message = curl_library.multi_info_read(http->multi, &count)) != NULL)
		if (message->msg == CURLMSG_DONE && http->main != NULL)
			return finish_main(http, message->data.result, err);
	(void)curl_library.multi_poll(http->multi, NULL, 0, POLL_MS, &count);
	return 0;
}

/* --- the life of the object ----------------------------------------------------------- */

static int read_token(const char *name, char **ret, struct error *err)
{
	const char *token = getenv(name);

	if (token == NULL || token[0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "--token-env: the environment variable %s is not set", name);
	for (const char *p = token; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || p - token >= TOKEN_MAX)
			return error_set(err, ERR_INVALID,
			                 "--token-env: the value of %s is not a token: expected up "
			                 "to %d printable characters without spaces",
			                 name, TOKEN_MAX);
	*ret = mem_format("Authorization: Bearer %s", token);
	return 0;
}

int client_http_open(const char *url, const char *token_env, struct buf *in,
                     struct client_http **ret, struct error *err)
{
	char *authorization = NULL;
	struct client_http *http;

	if (curl_library_load("client --http", err) < 0 ||
	    (token_env != NULL && read_token(token_env, &authorization, err) < 0))
		return -1;
	http = mem_new(sizeof *http);
	http->url = url;
	http->authorization = authorization;
	http->in = in;
	http->multi = must_have(curl_library.multi_init());
	sse_reader_init(&http->events, MESSAGE_MAX);
	*ret = http;
	return 0;
}

void client_http_set_version(struct client_http *http, const char *version)
{
	if (strspn(version, "0123456789-") == strlen(version))
		(void)snprintf(http->version, sizeof http->version, "%.31s", version);
}

static void end_session(struct client_http *http)
{
	struct exchange *exchange = exchange_new(http, NULL);
	struct error ignored;

	(void)curl_library.easy_setopt(exchange->easy, CURLOPT_TIMEOUT_MS, (long)CLOSE_MS);
	(void)!perform_exchange(exchange, "DELETE", &ignored);
}

struct client_http *client_http_close(struct client_http *http)
{
	if (http == NULL)
		return NULL;
	client_http_stop(http);
	if (http->session[0] != '\0')
		end_session(http);
	(void)curl_library.multi_cleanup(http->multi);
	sse_reader_done(&http->events);
	if (http->authorization != NULL)
		explicit_bzero(http->authorization, strlen(http->authorization));
	free(http->authorization);
	free(http);
	return NULL;
}
