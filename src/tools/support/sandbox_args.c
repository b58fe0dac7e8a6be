#include "tools/support/sandbox_args.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "egress/net_policy.h"
#include "engine/spec.h"
#include "tools/catalogue.h"

/* The arguments that are limits of a sandbox, for their checks and the schema. */
enum { ARG_MEMORY, ARG_CPUS, ARG_DISK, ARG_PIDS, ARG_LIMITS };

#define ROW(name_) (offsetof(struct spec_limits, name_) / sizeof(uint64_t)) /* of spec_limits */

static const struct limit_arg {
	const char *name, *option;
	size_t row;
	double unit; /* of the argument, in units of the limit */
} limit_args[ARG_LIMITS] = {
	[ARG_MEMORY] = { "memory_mb", "memory", ROW(memory), SPEC_MIB(1) },
	[ARG_CPUS] = { "cpus", "cpu", ROW(cpu), 1000 },
	[ARG_DISK] = { "disk_mb", "disk", ROW(disk), SPEC_MIB(1) },
	[ARG_PIDS] = { "pids", "pids", ROW(pids), 1 },
};

int sandbox_args_limits(const struct tools_context *context, const struct sandbox_limit_args *args,
                        struct spec_limits *limits, struct error *err)
{
	const double asked[ARG_LIMITS] = { [ARG_MEMORY] = (double)args->memory_mb,
		                           [ARG_CPUS] = args->cpus,
		                           [ARG_DISK] = (double)args->disk_mb,
		                           [ARG_PIDS] = (double)args->pids };

	for (size_t i = 0; i < ARG_LIMITS; i++) {
		const struct limit_arg *arg = &limit_args[i];
		double max = (double)spec_limits_get(&context->limits_max, arg->row) / arg->unit;

		if (asked[i] > max)
			return error_set(
			        err, ERR_LIMIT,
			        "%s: %.10g is more than the %.10g that this server allows: pass at "
			        "most that, or have the operator raise --%s-max, as far as the "
			        "machine has more",
			        arg->name, asked[i], max, arg->option);
		if (asked[i] > 0)
			spec_limits_set(limits, arg->row, (uint64_t)(asked[i] * arg->unit));
	}
	return 0;
}

/* Refuses 0 too if there is a ceiling: 0 means "never". */
static int check_seconds(const char *name, int64_t asked, uint32_t max, struct error *err)
{
	if (asked < 0 || max == 0 || (asked != 0 && asked <= max))
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "%s: this server allows 1 to %u: pass one of these, or leave the "
	                 "argument out",
	                 name, max);
}

int sandbox_args_times(const struct tools_context *context, int64_t idle_s, int64_t lifetime_s,
                       struct error *err)
{
	if (check_seconds("idle_s", idle_s, context->idle_max_s, err) < 0)
		return -1;
	return check_seconds("lifetime_s", lifetime_s, context->lifetime_max_s, err);
}

static void show_seconds(json_t *property, uint32_t max)
{
	if (property == NULL || max == 0)
		return;
	json_set(property, "minimum", json_int(1));
	json_set(property, "maximum", json_int(max));
}

static void set_number(json_t *property, const char *key, const struct limit_arg *arg,
                       const struct spec_limits *limits)
{
	double value = (double)spec_limits_get(limits, arg->row) / arg->unit;

	json_set(property, key, arg->unit == 1000 ? json_num(value) : json_int((json_int_t)value));
}

/* A model need not read about policies that this server does not allow, nor about the package
 * indexes, which install_packages reaches with every policy. */
void sandbox_args_show_network(const struct tools_context *context, json_t *properties)
{
	enum net_mode max = context->ceiling != NULL ? context->ceiling->max : NET_MODE_NONE;
	json_t *values = json_list();

	for (int i = 0; i <= (int)max; i++)
		json_push(values, json_str(net_mode_names[i]));
	if (json_object_get(properties, "network") != NULL)
		json_set(json_object_get(properties, "network"), "enum", json_incref(values));
	json_decref(values);
	if (max < NET_MODE_ALLOW) {
		(void)json_object_del(properties, "network");
		(void)json_object_del(properties, "network_allow");
	}
}

void sandbox_args_show_limits(const struct tools_context *context, json_t *properties)
{
	for (size_t i = 0; i < ARG_LIMITS; i++) {
		const struct limit_arg *arg = &limit_args[i];
		json_t *property = json_object_get(properties, arg->name);

		set_number(property, "maximum", arg, &context->limits_max);
		set_number(property, "default", arg, &context->spec.limits);
		(void)json_object_del(property, "minimum");
	}
	sandbox_args_show_network(context, properties);
	show_seconds(json_object_get(properties, "idle_s"), context->idle_max_s);
	show_seconds(json_object_get(properties, "lifetime_s"), context->lifetime_max_s);
}

static int pack_hosts(const struct param_strings *allow, struct host_rules *rules,
                      char hosts[SANDBOX_HOSTS_MAX], struct error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < allow->count; i++) {
		struct view text = view_trim(view_of(allow->items[i]));

		if (text.len == 0)
			return error_set(err, ERR_INVALID, "network_allow: a host is empty");
		if (text.len + 2 > SANDBOX_HOSTS_MAX - used)
			return error_set(err, ERR_LIMIT,
			                 "network_allow: the hosts have more than %d bytes "
			                 "together: use *. and a domain",
			                 SANDBOX_HOSTS_MAX - 1);
		if (host_rules_add(rules, text, HOST_RULES_CALLER, err) < 0)
			return error_wrap(err, "network_allow");
		memcpy(hosts + used, text.ptr, text.len);
		used += text.len + 1;
	}
	return 0;
}

static enum net_mode find_mode(const char *name)
{
	for (int i = 0; name != NULL && i < NET_MODE_COUNT; i++)
		if (strcmp(name, net_mode_names[i]) == 0)
			return (enum net_mode)i;
	return NET_MODE_ALLOW; /* hosts are given, and no mode */
}

int sandbox_args_network(const struct tools_context *context, const char *network,
                         const struct param_strings *allow, int *ret, char hosts[SANDBOX_HOSTS_MAX],
                         struct error *err)
{
	AUTO_FREE struct net_policy *policy = mem_new(sizeof *policy);

	*ret = -1;
	if (network == NULL && allow->count == 0)
		return 0;
	policy->mode = find_mode(network);
	if (pack_hosts(allow, &policy->allow, hosts, err) < 0)
		return -1;
	if (context->ceiling == NULL && policy->mode != NET_MODE_NONE)
		return error_set(err, ERR_UNSUPPORTED,
		                 "network: sandboxes of this server have none: leave the argument "
		                 "out, or have the operator start it with --network-max");
	if (context->ceiling != NULL && net_ceiling_check(context->ceiling, policy, err) < 0)
		return -1;
	*ret = (int)policy->mode;
	return 0;
}

int sandbox_args_pack(const struct param_map *map, const char *what, char *out, size_t size,
                      struct error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < map->count; i++) {
		const struct param_pair *pair = &map->items[i];
		size_t len = strlen(pair->name) + 1 + strlen(pair->value) + 1;

		if (pair->name[0] == '\0' || strchr(pair->name, '=') != NULL)
			return error_set(err, ERR_INVALID,
			                 "%s: a name must not be empty and must not contain '='",
			                 what);
		if (used + len + 1 > size)
			return error_set(err, ERR_LIMIT,
			                 "%s: names and values have more than %zu bytes together: "
			                 "pass fewer or shorter ones, or write them to a file",
			                 what, size - 1);
		(void)snprintf(out + used, size - used, "%s=%s", pair->name, pair->value);
		used += len;
	}
	return 0;
}

static bool has_pair(const char *list, const struct param_pair *pair)
{
	const size_t len = strlen(pair->name);

	for (; *list != '\0'; list += strlen(list) + 1)
		if (strncmp(list, pair->name, len) == 0 && list[len] == '=' &&
		    strcmp(list + len + 1, pair->value) == 0)
			return true;
	return false;
}

bool sandbox_args_match(const struct param_map *map, const char *list)
{
	for (size_t i = 0; i < map->count; i++)
		if (!has_pair(list, &map->items[i]))
			return false;
	return true;
}
