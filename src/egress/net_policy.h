/* net_policy.h - which hosts a sandbox may reach, and the most that the operator allows.
 *
 * A policy belongs to one sandbox. The ceiling belongs to the server: the gate checks a host
 * against the policy, and the dialer, which has a copy of the ceiling from before the server read
 * its first byte, checks host and address against the ceiling again. Deny rules come first.
 *
 * An address that is not public is refused after the name was resolved, unless the operator has
 * listed the address itself, or has configured a package index whose name leads there (unless that
 * is a link-local address). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "egress/host_rules.h"

struct error;

enum net_mode {
	NET_MODE_NONE,     /* nothing listens in the sandbox */
	NET_MODE_PACKAGES, /* the configured package indexes */
	NET_MODE_ALLOW,    /* the hosts of a list */
	NET_MODE_OPEN,     /* every public host */
	NET_MODE_COUNT
};
extern const char *const net_mode_names[NET_MODE_COUNT + 1]; /* NULL behind the last */

struct net_policy {
	enum net_mode mode;
	struct host_rules allow; /* of NET_MODE_ALLOW */
	bool has_tools;          /* the sandbox's user has the tools that change the policy */
	const char *sandbox;     /* that those tools have to name; NULL: the default one */
};

/* Of one sandbox, while it is awake. 0: no limit of its own. */
struct net_limits {
	uint64_t connections; /* at a time */
	uint64_t bytes;       /* in both directions, in all */
	uint64_t rate;        /* bytes per second, in both directions */
	uint64_t dial_ms;     /* for the name and the connection */
};

struct net_ceiling {
	struct net_limits limits;
	enum net_mode max;
	struct host_rules allow; /* that callers may ask for in NET_MODE_ALLOW */
	struct host_rules ask;   /* that a user may allow, when a caller asks */
	struct host_rules deny;
	struct host_rules indexes;     /* package indexes, and where they keep their files */
	struct host_rules own_indexes; /* those of them that the operator configured */
	/* Package servers of distributions: an image that names them may get Python from there. */
	struct host_rules distributions;
};

/* Fails with ERR_LIMIT and what the operator would have to change if the policy goes beyond the
 * ceiling. */
MUST_CHECK int net_ceiling_check(const struct net_ceiling *ceiling, const struct net_policy *policy,
                                 struct error *err);

/* Decides about one connection. -1: refused, and *why is a sentence for the model, which says how
 * to get the host if there is a way. */
MUST_CHECK int net_policy_decide(const struct net_policy *policy, const struct net_ceiling *ceiling,
                                 const struct net_host *host, uint16_t port, struct error *why);

/* The dialer's checks: of the host by name, and of each address that the name was resolved to. */
MUST_CHECK int net_ceiling_decide(const struct net_ceiling *ceiling, const struct net_host *host,
                                  uint16_t port, struct error *why);
MUST_CHECK int net_ceiling_decide_address(const struct net_ceiling *ceiling,
                                          const struct net_host *host,
                                          const struct net_address *address, uint16_t port,
                                          bool is_own, struct error *why);
