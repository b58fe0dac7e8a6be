/* sandbox_args.h - the arguments that create_sandbox and update_sandbox share: limits, and lists of
 * names with values. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "mcp/param/param.h"
#include "sandbox/registry/registry.h"
#include "json/json.h"

struct error;
struct spec_limits;
struct tools_context;

enum { IDLE_MAX_S = 31536000, LIFETIME_MAX_S = 315360000 };

struct sandbox_limit_args { /* 0: not given */
	int64_t memory_mb, disk_mb, pids;
	double cpus;
};

/* Rows of a table; `member_` is the struct sandbox_limit_args in `type_`. */
#define SANDBOX_ARG_LIMIT(type_, member_, name_, kind_, help_, min_, max_)                         \
	{                                                                                          \
		.name = #name_, .type = PARAM_##kind_, .offset = offsetof(type_, member_.name_),   \
		.help = "", .more = help_, .min = min_, .max = max_                                \
	}
#define SANDBOX_ARG_LIMITS(type_, member_)                                                         \
	SANDBOX_ARG_LIMIT(type_, member_, memory_mb, INT, "Memory of all processes, in MiB.", 16,  \
	                  1024 * 1024),                                                            \
	        SANDBOX_ARG_LIMIT(type_, member_, cpus, NUMBER, "Processors.", 0, 1024),           \
	        SANDBOX_ARG_LIMIT(type_, member_, pids, INT, "Processes and threads.", 16, 65536)

/* The two arguments of sandbox_args_network(). */
#define SANDBOX_ARG_NETWORK(type_)                                                                 \
	ARG(type_, network, ENUM,                                                                  \
	    "What programs may reach; packages: package indexes, allow: network_allow.",           \
	    .more = "Programs get there through a proxy that the environment names (HTTP_PROXY "   \
	            "and the like).",                                                              \
	    .values = net_mode_names),                                                             \
	        ARG(type_, network_allow, STRINGS,                                                 \
	            "Hosts, such as example.org or *.example.org:8443.", .max = HOST_RULES_MAX,    \
	            .item_max = NET_HOST_SIZE)

/* Sets the limits that are given, unless one is above the server's ceiling. */
MUST_CHECK int sandbox_args_limits(const struct tools_context *context,
                                   const struct sandbox_limit_args *args,
                                   struct spec_limits *limits, struct error *err);
/* Refuses times above the server's ceilings; -1 is "not given". */
MUST_CHECK int sandbox_args_times(const struct tools_context *context, int64_t idle_s,
                                  int64_t lifetime_s, struct error *err);
/* The arguments `network` and `network_allow` (NULL or empty: not given) as a policy within the
 * server's ceiling: *ret is an enum net_mode, or -1 if neither is given, and `hosts`, which is
 * filled with zeros before, gets the rules as struct sandbox_options takes them. */
MUST_CHECK int sandbox_args_network(const struct tools_context *context, const char *network,
                                    const struct param_strings *allow, int *ret,
                                    char hosts[SANDBOX_HOSTS_MAX], struct error *err);
/* Writes the ceilings of this server, and its defaults, into the schema of the limits. */
void sandbox_args_show_network(const struct tools_context *context, json_t *properties);
void sandbox_args_show_limits(const struct tools_context *context, json_t *properties);
/* Writes NAME=value of each pair, with a zero behind each, as struct sandbox_options takes it.
 * `out` is filled with zeros before; `what` is the argument's name. */
MUST_CHECK int sandbox_args_pack(const struct param_map *map, const char *what, char *out,
                                 size_t size, struct error *err);
/* Whether the packed list has every pair of the map. */
bool sandbox_args_match(const struct param_map *map, const char *list);
