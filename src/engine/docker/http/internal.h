/* internal.h - what the files of this folder share: libcurl, loaded when it is needed.
 *
 * libcurl brings some thirty libraries, which would double the time that belljar takes to start.
 * Only the broker uses it, so only the broker loads it. */
#pragma once
#define CURL_DISABLE_TYPECHECK /* its macros call the functions by their own names */
#include <curl/curl.h>

#include "base/list.h"
#include "engine/docker/http/http.h"

#define CURL_FUNCTIONS(X)                                                                          \
	X(global_init)                                                                             \
	X(easy_init)                                                                               \
	X(easy_cleanup)                                                                            \
	X(easy_setopt)                                                                             \
	X(easy_getinfo)                                                                            \
	X(easy_recv)                                                                               \
	X(easy_send)                                                                               \
	X(easy_strerror)                                                                           \
	X(multi_init)                                                                              \
	X(multi_cleanup)                                                                           \
	X(multi_setopt)                                                                            \
	X(multi_add_handle)                                                                        \
	X(multi_remove_handle)                                                                     \
	X(multi_assign)                                                                            \
	X(multi_info_read)                                                                         \
	X(multi_socket_action)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#define X(name) typeof(curl_##name) *name;
extern struct curl_library {
	CURL_FUNCTIONS(X)
} curl_library;
#undef X
/* Fills curl_library; does nothing if it is filled. */
MUST_CHECK int curl_library_load(struct error *err);

struct http {
	struct loop *loop;
	const struct http_address *address;
	CURLM *multi;
	struct loop_timer *timer;
	struct list calls, streams, sockets;
};

/* Every easy handle has one as its private pointer. */
struct http_job {
	void (*finished)(struct http_job *job, CURLcode result);
};

/* An easy handle with the address and the options that all requests have; the caller owns it. */
CURL *http_new_easy(struct http *http, const char *path, struct http_job *job) RETURNS_NONNULL;
void http_add_easy(struct http *http, CURL *easy);
/* Explains a result of libcurl that is not CURLE_OK. `detail` is libcurl's own text, or "". */
void http_explain(const struct http *http, CURLcode result, const char *detail, struct error *err);
void http_free_streams(struct http *http);
