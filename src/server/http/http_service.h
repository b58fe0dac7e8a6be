/* http_service.h - MCP over HTTP as the options ask for it: addresses, tokens, TLS.
 *
 *   http_service_check    wrong options are found before anything is started
 *   http_service_prepare  opens the addresses, reads tokens and TLS files, starts the reloader
 *   (the caller gives up its rights: server/confine.h)
 *   http_service_start    serves
 *   http_service_stop     stops accepting; running calls have a grace period; then closed()
 *   http_service_free */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;
struct http_service;
struct loop;
struct options;
struct tools_context;

/* True if the options or systemd name an address to listen on. */
bool http_service_is_wanted(const struct options *options);
/* Fails if an address is malformed, or if other machines reach one and nothing authenticates
 * them. */
MUST_CHECK int http_service_check(const struct options *options, struct error *err);

MUST_CHECK int http_service_prepare(const struct options *options, struct http_service **ret,
                                    struct error *err);
struct http_service_events {
	/* NULL if the server is ready for calls, else the reason why not (for /readyz). */
	const char *(*why_not_ready)(void *ctx);
	/* http_service_stop() is done. */
	void (*closed)(void *ctx);
	void *ctx;
	const struct tools_context *tools; /* whose sandboxes' ports are served */
};
/* The URL of this server, without a slash at the end: that of the options, else that of its first
 * address. NULL: it listens on unix sockets only. Lives as long as the service. */
const char *http_service_url(struct http_service *service);
/* Without authentication, every call is made for `owner`. The texts, the mounts and their servers
 * must outlive the service. */
struct mcp_http_mount;
void http_service_start(struct http_service *service, struct loop *loop,
                        const struct mcp_http_mount *mounts, size_t mount_count, const char *owner,
                        const struct http_service_events *events);
void http_service_stop(struct http_service *service, uint64_t grace_ms);
struct http_service *http_service_free(struct http_service *service);
DEFINE_CLEANUP(http_service)
