#include "egress/host_rules.h"

#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* --- reading --- */

static bool cut_suffix(struct view *text, const char *suffix)
{
	if (!view_ends(*text, suffix))
		return false;
	text->len -= strlen(suffix);
	return true;
}

/* An IPv6 address without brackets has several colons, and no port. */
static bool has_port(struct view text)
{
	const char *colon = memrchr(text.ptr, ':', text.len);
	const char *bracket = memchr(text.ptr, ']', text.len);

	if (colon == NULL)
		return false;
	return bracket != NULL ? colon > bracket
	                       : memchr(text.ptr, ':', (size_t)(colon - text.ptr)) == NULL;
}

static int read_rule(struct view text, enum host_rules_kind kind, struct host_rule *ret,
                     struct error *err)
{
	uint16_t port = 0;

	if (memmem(text.ptr, text.len, "://", 3) != NULL)
		return error_set(err, ERR_INVALID,
		                 "a URL is not a host: leave out http:// and paths");
	ret->is_any_port = cut_suffix(&text, ":*");
	/* A denied host is denied on every port: with the default of the other lists, 80 and 443,
	 * its ssh would stay open. */
	if (kind == HOST_RULES_DENY && !has_port(text))
		ret->is_any_port = true;
	/* A caller who wants all hosts asks for the policy 'open', which has its own ceiling. */
	if (view_is(text, "*") && kind != HOST_RULES_CALLER) {
		ret->is_any = true;
		return 0;
	}
	if (view_starts(text, "*.")) {
		ret->is_below = true;
		text.ptr += 2;
		text.len -= 2;
	}
	if (has_port(text) ? net_host_parse_port(text, 0, &ret->host, &port, err) < 0
	                   : net_host_parse(text, &ret->host, err) < 0)
		return -1;
	ret->port = port;
	if (ret->is_below && ret->host.is_address)
		return error_set(err, ERR_INVALID, "there are no hosts below an address");
	if (ret->is_below && kind == HOST_RULES_CALLER && strchr(ret->host.name, '.') == NULL)
		return error_set(err, ERR_INVALID,
		                 "'*.%s' is too wide: name the hosts, or *. and a domain",
		                 ret->host.name);
	return 0;
}

int host_rules_add(struct host_rules *rules, struct view text, enum host_rules_kind kind,
                   struct error *err)
{
	struct host_rule rule = { 0 };

	text = view_trim(text);
	if (text.len == 0)
		return 0;
	if (rules->count == HOST_RULES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d hosts", HOST_RULES_MAX);
	if (read_rule(text, kind, &rule, err) < 0)
		return error_wrap(err, "'%s'", UTF8_ESCAPED(text, 80));
	rules->items[rules->count++] = rule;
	return 0;
}

int host_rules_read(struct host_rules *rules, const char *list, char separator,
                    enum host_rules_kind kind, struct error *err)
{
	const char *end;

	for (; list != NULL && *list != '\0'; list = *end == separator ? end + 1 : end) {
		end = separator != '\0' ? strchr(list, separator) : NULL;
		if (end == NULL)
			end = list + strlen(list);
		if (host_rules_add(rules, (struct view){ list, (size_t)(end - list) }, kind, err) <
		    0)
			return -1;
	}
	return 0;
}

/* --- matching --- */

/* The byte before the suffix must be a dot: "notexample.org" is not below "example.org". */
static bool is_below(const char *name, const char *base)
{
	size_t len = strlen(name), base_len = strlen(base);

	return len > base_len + 1 && name[len - base_len - 1] == '.' &&
	       strcmp(name + len - base_len, base) == 0;
}

static bool has_rule_port(const struct host_rule *rule, uint16_t port)
{
	if (rule->is_any_port)
		return true;
	return rule->port != 0 ? rule->port == port : port == PORT_HTTP || port == PORT_HTTPS;
}

static bool has_rule_host(const struct host_rule *rule, const struct net_host *host)
{
	if (rule->is_any)
		return true;
	if (rule->is_below)
		return !host->is_address && is_below(host->name, rule->host.name);
	return net_host_is(&rule->host, host);
}

bool host_rules_match(const struct host_rules *rules, const struct net_host *host, uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (has_rule_host(&rules->items[i], host) && has_rule_port(&rules->items[i], port))
			return true;
	return false;
}

/* Whether every port that `rule` allows is one that `wide` allows. */
static bool covers_ports(const struct host_rule *wide, const struct host_rule *rule)
{
	if (wide->is_any_port)
		return true;
	if (rule->is_any_port)
		return false;
	return rule->port == 0 ? wide->port == 0 : has_rule_port(wide, rule->port);
}

/* Whether every host that `rule` allows is one that `wide` allows. */
static bool covers_hosts(const struct host_rule *wide, const struct host_rule *rule)
{
	if (wide->is_any || !rule->is_below)
		return has_rule_host(wide, &rule->host);
	return wide->is_below && (strcmp(wide->host.name, rule->host.name) == 0 ||
	                          is_below(rule->host.name, wide->host.name));
}

bool host_rules_cover(const struct host_rules *rules, const struct host_rule *rule)
{
	for (size_t i = 0; i < rules->count; i++)
		if (covers_hosts(&rules->items[i], rule) && covers_ports(&rules->items[i], rule))
			return true;
	return false;
}

/* Rules with a name do not count: the owner of a name can point it at any address, also at one of
 * a private network. */
bool host_rules_name_address(const struct host_rules *rules, const struct net_address *address,
                             uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *rule = &rules->items[i];

		if (!rule->is_any && rule->host.is_address &&
		    net_address_is(&rule->host.address, address) && has_rule_port(rule, port))
			return true;
	}
	return false;
}
