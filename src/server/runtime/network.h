/* network.h - the operator's settings about networks: the ceiling of all policies, and the package
 * indexes. Read once, before the server gives up its rights. */
#pragma once
#include "base/attr.h"
#include "egress/net_policy.h"
#include "egress/net_secrets.h"

struct error;
struct options;

enum { INDEX_URL_MAX = 512 };

struct network {
	struct net_ceiling ceiling;
	struct net_secrets secrets;
	/* With --intercept-tls: PEM of the CAs that hosts of secrets are verified with, from
	 * malloc. NULL: no connection is intercepted. */
	char *roots;
	char pip_index[INDEX_URL_MAX + 1];    /* "": the installer's own default, the public one */
	char npm_registry[INDEX_URL_MAX + 1]; /* "": the same */
};

/* The index that is used, also the public one. */
const char *network_pip_index(const struct network *network);
const char *network_npm_registry(const struct network *network);

/* The indexes are those of the options, else those that the configuration of pip and npm on this
 * machine names, else the public ones. */
struct network *network_free(struct network *network); /* NULL is accepted */
MUST_CHECK int network_read(const struct options *options, struct network *ret, struct error *err);
