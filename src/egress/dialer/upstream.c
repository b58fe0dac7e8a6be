/* upstream.c - the proxies that the host itself must use (see internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/base64.h"
#include "egress/dialer/internal.h"

static const char *find_variable(const char *lower, const char *upper)
{
	const char *value = getenv(lower);

	if (value == NULL || value[0] == '\0')
		value = getenv(upper);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* USER:PASSWORD before the @ of the URL. */
static int read_login(struct view login, struct upstream_proxy *ret, struct error *err)
{
	AUTO_FREE char *encoded = base64_encode(login);

	if (snprintf(ret->header, sizeof ret->header, "Proxy-Authorization: Basic %s\r\n",
	             encoded) >= (int)sizeof ret->header)
		return error_set(err, ERR_LIMIT, "name and password of the proxy are too long");
	return 0;
}

static int read_proxy(const char *lower, const char *upper, struct upstream_proxy *ret,
                      struct error *err)
{
	const char *url = find_variable(lower, upper), *at;
	struct view rest;

	if (url == NULL)
		return 0;
	if (strncasecmp(url, "http://", 7) == 0)
		url += 7;
	else if (strstr(url, "://") != NULL)
		return error_set(err, ERR_UNSUPPORTED, "%s: only http:// proxies are supported",
		                 upper);
	rest = (struct view){ url, strcspn(url, "/") };
	at = memrchr(rest.ptr, '@', rest.len);
	if (at != NULL) {
		if (read_login((struct view){ rest.ptr, (size_t)(at - rest.ptr) }, ret, err) < 0)
			return error_wrap(err, "%s", upper);
		rest = (struct view){ at + 1, rest.len - (size_t)(at + 1 - rest.ptr) };
	}
	if (net_host_parse_port(rest, 80, &ret->host, &ret->port, err) < 0)
		return error_wrap(err, "%s", upper);
	ret->is_set = true;
	return 0;
}

/* "host,.domain,10.0.0.1": a name stands for itself and for all names below it. Entries that are no
 * hosts (networks such as 10.0.0.0/8) have no effect. */
static void read_direct(const char *list, struct upstream *ret)
{
	struct view rest = view_of(list != NULL ? list : "");

	while (rest.len != 0) {
		struct view text = view_trim(view_cut(&rest, ','));
		struct host_rule rule = { .is_any_port = true, .is_below = true };
		struct error ignored;

		ret->all_direct = ret->all_direct || view_is(text, "*");
		if (view_starts(text, "*"))
			text = (struct view){ text.ptr + 1, text.len - 1 };
		if (view_starts(text, "."))
			text = (struct view){ text.ptr + 1, text.len - 1 };
		if (text.len != 0 && net_host_parse(text, &rule.host, &ignored) == 0 &&
		    ret->direct.count + 2 <= HOST_RULES_MAX) {
			ret->direct.items[ret->direct.count++] = rule;
			rule.is_below = false;
			ret->direct.items[ret->direct.count++] = rule;
		}
	}
}

int upstream_read(struct upstream *ret, struct error *err)
{
	*ret = (struct upstream){ 0 };
	read_direct(find_variable("no_proxy", "NO_PROXY"), ret);
	/* curl ignores HTTP_PROXY in capitals, because a CGI program gets it from the field Proxy
	 * of a request (CVE-2016-5385). belljar is no CGI program. */
	if (read_proxy("http_proxy", "HTTP_PROXY", &ret->http, err) < 0)
		return -1;
	return read_proxy("https_proxy", "HTTPS_PROXY", &ret->https, err);
}

const struct upstream_proxy *upstream_find(const struct upstream *upstream,
                                           const struct net_host *host, bool is_http)
{
	const struct upstream_proxy *proxy = is_http ? &upstream->http : &upstream->https;

	if (!proxy->is_set || upstream->all_direct || host_rules_match(&upstream->direct, host, 0))
		return NULL;
	return proxy;
}
