/* internal.h - what the files of this folder share. */
#pragma once
#include "engine/docker/http/http_client.h"
#include "libcurl/curl_library.h"

struct http_client {
	struct loop *loop;
	const struct http_client_address *address;
	CURLM *multi;
	struct loop_timer *timer;
};

/* Every easy handle has one as its private pointer. */
struct http_job {
	void (*finished)(struct http_job *job, CURLcode result);
};

/* An easy handle with the address and the options that all requests have; the caller owns it. */
CURL *http_client_new_easy(struct http_client *http, const char *path,
                           struct http_job *job) RETURNS_NONNULL;
void http_client_add_easy(struct http_client *http, CURL *easy);
/* Explains a result of libcurl that is not CURLE_OK. `detail` is libcurl's own text, or "". */
void http_client_explain(const struct http_client *http, CURLcode result, const char *detail,
                         struct error *err);
