#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "server/http/http_service.h"
#include "server/http/internal.h"
#include "server/options/options.h"

static bool wants_host_and_port(const struct options *options)
{
	return options->sse || options->sources[OPTION_HOST] != OPTION_FROM_TABLE ||
	       options->sources[OPTION_PORT] != OPTION_FROM_TABLE;
}

/* True if systemd passes sockets to this process. */
static bool has_inherited(void)
{
	const char *pid = getenv("LISTEN_PID");
	char own[24];

	(void)snprintf(own, sizeof own, "%d", getpid());
	return pid != NULL && strcmp(pid, own) == 0;
}

bool http_service_is_wanted(const struct options *options)
{
	return options->http != NULL || wants_host_and_port(options) || has_inherited();
}

/* The addresses as one list: those of --http, then that of --host and --port. The caller frees. */
static char *list_addresses(const struct options *options)
{
	const char *http = options->http != NULL ? options->http : "";
	bool is_ipv6 = strchr(options->host, ':') != NULL && options->host[0] != '[';

	if (!wants_host_and_port(options))
		return mem_dup(http);
	return mem_format("%s%s%s%s%s:%" PRIu64, http, http[0] != '\0' ? "," : "",
	                  is_ipv6 ? "[" : "", options->host, is_ipv6 ? "]" : "", options->port);
}

static int check_access(const struct options *options, const char *name, bool is_local,
                        struct error *err)
{
	if (is_local || options->auth != AUTH_NONE || options->allow_unauthenticated)
		return 0;
	return error_set(
	        err, ERR_INVALID,
	        "other machines reach %s, and without authentication everybody there "
	        "could run code here: use --auth token ('belljar token add' makes tokens), "
	        "listen on 127.0.0.1, or give --allow-unauthenticated-network",
	        name);
}

typedef int address_fn(const struct options *options, struct listeners *listeners,
                       const char *address, struct error *err);

static int check_address(const struct options *options, struct listeners *listeners,
                         const char *address, struct error *err)
{
	bool is_local = false;

	(void)listeners;
	if (http_listen_check(address, &is_local, err) < 0)
		return -1;
	return check_access(options, address, is_local, err);
}

static int open_address(const struct options *options, struct listeners *listeners,
                        const char *address, struct error *err)
{
	size_t count = 0;

	if (check_address(options, listeners, address, err) < 0)
		return -1;
	if (listeners->count + HTTP_LISTEN_OPEN_MAX > LISTENERS_MAX)
		return error_set(err, ERR_LIMIT, "more than %d addresses", LISTENERS_MAX);
	if (http_listen_open(address, listeners->at + listeners->count, &count, err) < 0)
		return -1;
	listeners->count += count;
	return 0;
}

static int each_address(const struct options *options, struct listeners *listeners, address_fn *fn,
                        struct error *err)
{
	AUTO_FREE char *list = list_addresses(options);
	char *save = NULL;

	for (char *address = strtok_r(list, ",", &save); address != NULL;
	     address = strtok_r(NULL, ",", &save))
		if (fn(options, listeners, address, err) < 0)
			return error_wrap(err, "http");
	return 0;
}

int http_service_check(const struct options *options, struct error *err)
{
	return each_address(options, NULL, check_address, err);
}

int listeners_open(const struct options *options, struct listeners *ret, struct error *err)
{
	struct listeners listeners = { .count = 0 };

	if (http_listen_inherited(listeners.at, LISTENERS_MAX, &listeners.count, err) < 0)
		return -1;
	for (size_t i = 0; i < listeners.count; i++)
		if (check_access(options, listeners.at[i].name, listeners.at[i].is_local, err) < 0)
			goto failed;
	if (each_address(options, &listeners, open_address, err) < 0)
		goto failed;
	*ret = listeners;
	return 0;
failed:
	listeners_close(&listeners);
	return -1;
}

void listeners_close(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		cleanup_fd(&listeners->at[i].fd);
		listeners->at[i].fd = -1;
	}
	listeners->count = 0;
}
