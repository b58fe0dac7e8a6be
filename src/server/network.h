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
	char pip_index[INDEX_URL_MAX + 1];    /* "": the installer's own default, the public one */
	char npm_registry[INDEX_URL_MAX + 1]; /* likewise */
};

/* The indexes are those of the options, else those that the configuration of pip and npm on this
 * machine names, else the public ones. */
MUST_CHECK int network_read(const struct options *options, struct network *ret, struct error *err);
