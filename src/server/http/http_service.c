#include "server/http/http_service.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/registry/registry.h"
#include "server/access/access.h"
#include "server/access/token_file.h"
#include "server/http/internal.h"
#include "server/options/options.h"
#include "server/ports/ports.h"
#include "tools/catalogue.h"
#include "tools/support/port_links.h"
#include "transport/http/http.h"
#include "transport/mcp_http/mcp_http.h"

enum {
	EXPIRY_MS = 1000,  /* between two checks for expired tokens */
	DRAIN_MS = 1000,   /* for clients to read the last bytes */
	BODY_TIMES = 4,    /* a body may take longer than a head */
	OTHER_FILES = 512, /* descriptors for sandboxes and for the server itself */
	NAMES_MAX = 256,   /* in --allow-host and --allow-origin */
};

struct http_service {
	const struct options *options;
	struct listeners listeners; /* until http_service_start() */
	struct secrets secrets;
	struct loop *loop;
	struct http_service_events events;
	const struct mcp_http_mount *mounts;
	size_t mount_count;
	struct mcp_http *mcp;
	struct http_server *server;
	struct ports *ports;
	struct loop_timer *expiry_timer, *drain_timer;
	const char **hosts, **origins; /* NULL-terminated, or NULL */
	char *texts[2];                /* what `hosts` and `origins` point into */
	char owner[OWNER_MAX + 1];     /* of the last request with a user that a proxy named */
	struct mcp_caller caller;      /* without tokens */
	char *url;                     /* of http_service_url() */
	bool is_closed;
};

/* --- before the server is confined --- */

/* Splits "a,b" into an array that ends with NULL. *ret_text is what the array points into. */
static const char **split_list(const char *list, char **ret_text)
{
	const char **words;
	char *save = NULL;
	size_t count = 0;

	if (list == NULL)
		return NULL;
	*ret_text = mem_dup(list);
	words = mem_array(NAMES_MAX + 1, sizeof *words);
	for (char *word = strtok_r(*ret_text, ",", &save); word != NULL && count < NAMES_MAX;
	     word = strtok_r(NULL, ",", &save))
		words[count++] = word;
	return words;
}

int http_service_prepare(const struct options *options, struct http_service **ret,
                         struct error *err)
{
	AUTO(http_service) struct http_service *service = mem_new(sizeof *service);

	service->options = options;
	service->secrets.reloader.socket = -1;
	if (listeners_open(options, &service->listeners, err) < 0 ||
	    secrets_open(options, &service->secrets, err) < 0)
		return -1;
	service->hosts = split_list(options->allow_host, &service->texts[0]);
	service->origins = split_list(options->allow_origin, &service->texts[1]);
	*ret = TAKE_PTR(service);
	return 0;
}

/* No client reaches a wildcard address by that name. */
const char *http_service_url(struct http_service *service)
{
	const char *given = service->options->public_url;
	size_t len = given != NULL ? strlen(given) : 0;

	if (service->url != NULL)
		return service->url;
	while (len != 0 && given[len - 1] == '/')
		len--;
	if (given != NULL)
		service->url = mem_format("%.*s", (int)len, given);
	for (size_t i = 0; i < service->listeners.count && service->url == NULL; i++) {
		const struct http_listen *listen = &service->listeners.at[i];
		const char *port = strrchr(listen->name, ':');
		bool is_any = strncmp(listen->name, "0.0.0.0:", 8) == 0 ||
		              strncmp(listen->name, "[::]:", 5) == 0;

		if (!listen->is_unix)
			service->url = mem_format("%s://%s%s",
			                          service->secrets.tls != NULL ? "https" : "http",
			                          is_any ? "localhost" : listen->name,
			                          is_any && port != NULL ? port : "");
	}
	return service->url;
}

/* --- serving --- */

/* A connection needs a descriptor, and so does every sandbox that is awake. */
static size_t find_max_connections(const struct options *options)
{
	uint64_t wanted = options->max_connections, files = fd_raise_limit();

	if (files <= 2 * OTHER_FILES)
		files = 2 * OTHER_FILES;
	if (wanted <= files - OTHER_FILES)
		return wanted;
	if (options->sources[OPTION_MAX_CONNECTIONS] != OPTION_FROM_TABLE)
		log_warning("max-connections is lowered to %" PRIu64
		            ": this process may open %" PRIu64 " files (ulimit -n)",
		            files - OTHER_FILES, files);
	return files - OTHER_FILES;
}

static struct http_limits make_limits(const struct options *options)
{
	struct http_limits limits = http_default_limits;

	limits.max_body = options->max_line;
	limits.max_connections = find_max_connections(options);
	limits.max_queue = options->max_queue;
	limits.head_ms = limits.write_ms = options->http_timeout_s * 1000;
	limits.body_ms = BODY_TIMES * limits.head_ms;
	limits.idle_ms = options->http_idle_s * 1000;
	return limits;
}

static void on_finished(void *ctx, const struct http_log *log)
{
	/* A link to a port is a secret: what stands behind the port is left out. */
	const char *link = strncmp(log->path, "/ports/", 7) == 0 ? strstr(log->path, "/~") : NULL;

	(void)ctx;
	/* The path is decoded and may contain spaces, so it comes last. */
	log_access("%s %s %d %" PRIu64 " bytes %" PRIu64 " ms%s %.*s", log->peer,
	           log->method[0] != '\0' ? log->method : "-", log->status, log->sent_bytes,
	           log->duration_ms, log->is_complete ? "" : " incomplete",
	           link != NULL ? (int)(link - log->path) : INT_MAX,
	           log->path[0] != '\0' ? log->path : "-");
}

static void on_lost(void *ctx, uint64_t credential, const char *owner)
{
	struct http_service *service = ctx;

	mcp_http_close_credential(service->mcp, credential);
	/* A link does not say with which token it was made, so the owner loses all of them. */
	if (service->events.tools->port_links != NULL)
		port_links_remove_owner(service->events.tools->port_links, owner);
	ports_end_owner(service->ports, owner);
}

/* Each request is checked against the time by itself; this ends streams that are open. */
static void on_expiry(void *ctx)
{
	struct http_service *service = ctx;

	access_expire(service->secrets.access, time(NULL), on_lost, service);
	loop_timer_start(service->expiry_timer, EXPIRY_MS);
}

/* The user of the caller that a proxy names. Each token has users of its own, so a client that sets
 * the header by itself gets no one else's sandboxes. */
static void take_proxy_user(struct http_service *service, struct http_request *request,
                            struct mcp_http_identity *identity)
{
	const char *user = http_get(request, "x-user-id");

	if (user == NULL)
		return;
	if (!token_is_user(view_of(user))) {
		identity->refusal = 403;
		identity->challenge = "Bearer";
		identity->description = "x-user-id: expected 1 to 64 letters, digits or ._@+-";
		return;
	}
	(void)snprintf(service->owner, sizeof service->owner, "%s>%s", identity->caller.owner,
	               user);
	identity->caller.owner = service->owner;
}

static void authenticate_caller(void *ctx, struct http_request *request,
                                struct mcp_http_identity *ret)
{
	struct http_service *service = ctx;

	if (service->secrets.access != NULL)
		access_authenticate(service->secrets.access, request, ret);
	if (ret->refusal == 0 && service->options->trust_user_header)
		take_proxy_user(service, request, ret);
}

/* Without tokens every program of this machine is the owner, but a web page is not: a browser names
 * the page's site. */
static bool is_browser(struct http_request *request)
{
	return http_get(request, "origin") != NULL || http_get(request, "sec-fetch-site") != NULL ||
	       http_get(request, "referer") != NULL;
}

static void serve_port(void *ctx, struct http_request *request, const char *why)
{
	static const char need_link[] =
	        "A browser needs a link to the port: ask for one (expose_port).";
	struct http_service *service = ctx;
	struct mcp_http_identity identity = { .caller = service->caller };
	struct ports_request ports = { .ports = service->ports,
		                       .tools = service->events.tools,
		                       .why = why };

	if (!ports_has_link(request) && why == NULL) {
		authenticate_caller(service, request, &identity);
		if (identity.refusal != 0)
			ports.why = identity.description;
		else if (service->secrets.access == NULL && is_browser(request))
			ports.why = need_link;
		else
			ports.caller = &identity.caller;
	}
	ports_serve(&ports, request);
}

static const char *why_not_ready(void *ctx)
{
	const struct http_service *service = ctx;

	return service->events.why_not_ready(service->events.ctx);
}

static void make_mcp_http(struct http_service *service)
{
	const struct options *options = service->options;
	struct mcp_http_config config = {
		.mounts = service->mounts,
		.mount_count = service->mount_count,
		.hosts = service->hosts,
		.origins = service->origins,
		.authenticate = authenticate_caller,
		.caller = service->caller,
		.why_not_ready = why_not_ready,
		.serve_port = service->events.tools->port_links != NULL ? serve_port : NULL,
		.ctx = service,
		.limits = mcp_http_default_limits,
	};

	config.limits.max_sessions = options->max_sessions;
	/* With tokens, one user cannot take all sessions from the others. */
	config.limits.max_owner_sessions = service->secrets.access != NULL
	                                           ? (options->max_sessions + 3) / 4
	                                           : options->max_sessions;
	config.limits.session_idle_ms = options->session_idle_s * 1000;
	service->mcp = mcp_http_new(service->loop, &config);
}

/* Prints the address on standard output, where a script finds the port that was chosen, unless
 * standard output carries MCP. */
static void print_address(const struct http_service *service, const struct http_listen *listen)
{
	bool is_tls = service->secrets.tls != NULL;
	AUTO_FREE char *line = mem_format("%s%s%s\n",
	                                  listen->is_unix ? ""
	                                  : is_tls        ? "https://"
	                                                  : "http://",
	                                  listen->name, listen->is_unix ? "" : "/mcp");
	struct error ignored;

	if (!service->options->stdio)
		(void)!fd_write_all(STDOUT_FILENO, view_of(line), &ignored);
}

static void start_listener(struct http_service *service, struct http_listen *listen)
{
	const struct http_listener_options options = { .tls = listen->is_unix
		                                                      ? NULL
		                                                      : service->secrets.tls };

	log_info("serves %s on %s", options.tls != NULL ? "HTTPS" : "HTTP", listen->name);
	if (!listen->is_local && options.tls == NULL && service->secrets.access != NULL)
		log_warning("tokens are sent without encryption to %s; use --tls-cert, or a proxy "
		            "with TLS in front",
		            listen->name);
	print_address(service, listen);
	http_server_listen(service->server, TAKE_FD(listen->fd), &options);
}

void http_service_start(struct http_service *service, struct loop *loop,
                        const struct mcp_http_mount *mounts, size_t mount_count, const char *owner,
                        const struct http_service_events *events)
{
	const struct options *options = service->options;
	struct http_config config = {
		.limits = make_limits(options),
		.single_fields = mcp_http_single_fields,
		.request = mcp_http_request,
		.finished = options->access_log ? on_finished : NULL,
	};

	service->loop = loop;
	service->events = *events;
	service->mounts = mounts;
	service->mount_count = mount_count;
	service->caller = (struct mcp_caller){ .owner = owner, .scopes = MCP_SCOPE_ALL };
	service->ports = ports_new(loop);
	make_mcp_http(service);
	config.ctx = service->mcp;
	service->server = http_server_new(loop, &config);
	for (size_t i = 0; i < service->listeners.count; i++)
		start_listener(service, &service->listeners.at[i]);
	secrets_watch(&service->secrets, loop, on_lost, service);
	if (service->secrets.access != NULL) {
		service->expiry_timer = loop_timer_new(loop, on_expiry, service);
		loop_timer_start(service->expiry_timer, EXPIRY_MS);
	}
}

/* --- the end --- */

static void on_drained(void *ctx)
{
	struct http_service *service = ctx;

	loop_timer_stop(service->drain_timer);
	if (service->is_closed)
		return;
	service->is_closed = true;
	service->events.closed(service->events.ctx);
}

/* Every call is answered or cancelled. What clients have not read yet has a little more time. */
static void on_mcp_stopped(void *ctx)
{
	struct http_service *service = ctx;

	loop_timer_start(service->drain_timer, DRAIN_MS);
	http_server_on_idle(service->server, on_drained, service);
}

void http_service_stop(struct http_service *service, uint64_t grace_ms)
{
	if (service->drain_timer != NULL)
		return;
	service->drain_timer = loop_timer_new(service->loop, on_drained, service);
	http_server_stop(service->server);
	mcp_http_stop(service->mcp, grace_ms, on_mcp_stopped, service);
}

struct http_service *http_service_free(struct http_service *service)
{
	if (service == NULL)
		return NULL;
	service->is_closed = true;
	if (service->loop != NULL) {
		(void)loop_timer_free(service->expiry_timer);
		(void)loop_timer_free(service->drain_timer);
		(void)http_server_free(service->server);
		(void)ports_free(service->ports);
		(void)mcp_http_free(service->mcp);
	}
	listeners_close(&service->listeners);
	secrets_close(&service->secrets);
	free(service->url);
	free(service->hosts);
	free(service->origins);
	free(service->texts[0]);
	free(service->texts[1]);
	free(service);
	return NULL;
}
