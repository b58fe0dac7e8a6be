/* daemon.h - where the Docker daemon is: found once, before the broker is forked, with the rights
 * and the environment of the user who started belljar.
 *
 * The order is that of Docker's own programs: the address given by the operator, DOCKER_HOST,
 * CONTAINER_HOST (Podman), the context of DOCKER_CONTEXT or of the configuration, and then the
 * sockets that Docker and Podman make, as root and as a user. */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "base/attr.h"
#include "json/json.h"

struct error;

enum { DAEMON_URL_MAX = 1024 };

struct daemon_address {
	char url[DAEMON_URL_MAX];  /* as it was given or found */
	char socket[PATH_MAX];     /* "" if the daemon is reached by TCP */
	char base[DAEMON_URL_MAX]; /* for HTTP: "http://docker", "https://host:2376" */
	char ca[PATH_MAX + 16], cert[PATH_MAX + 16], key[PATH_MAX + 16]; /* for TLS, or "" */
	bool is_local; /* the daemon runs on this machine */
};

/* `given` is the operator's --docker-host, or NULL. ERR_NOT_FOUND: there is no daemon; *err lists
 * the places of the search. */
MUST_CHECK int daemon_find(const char *given, struct daemon_address *ret, struct error *err);
/* Parses unix:///PATH, tcp://HOST:PORT and https://HOST:PORT. `certs` is the directory of ca.pem,
 * cert.pem and key.pem, or NULL for no TLS with tcp://. */
MUST_CHECK int daemon_parse(const char *url, const char *certs, struct daemon_address *ret,
                            struct error *err);
/* Reads a JSON file in the directory of Docker's configuration, which is $DOCKER_CONFIG or
 * ~/.docker. NULL: there is none, or it is no JSON. The caller owns the value. */
json_t *daemon_read_config(const char *name);
