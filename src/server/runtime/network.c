#include "server/runtime/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "server/options/options.h"

enum { CONFIG_MAX = 64 * 1024, SECRET_FILE_MAX = 64 * 1024, ROOTS_MAX = 2 * 1024 * 1024 };

/* The hosts of the public indexes, which pip and npm use without any configuration. */
static const char *const public_pip[] = { "pypi.org", "files.pythonhosted.org", NULL };
static const char *const public_npm[] = { "registry.npmjs.org", NULL };

/* The package servers of distributions whose package manager the Docker engine can install Python
 * with (engine/docker/install.c). */
static const char distributions[] =
        "deb.debian.org,security.debian.org,archive.ubuntu.com,security.ubuntu.com,"
        "ports.ubuntu.com,dl-cdn.alpinelinux.org";

/* --- the configuration of pip and npm on this machine --- */

/* A line "KEY = VALUE" or "KEY=VALUE"; sections are not looked at, because pip has the option in
 * several of them with the same meaning. */
static bool read_line(struct view line, const char *key, char out[INDEX_URL_MAX + 1])
{
	struct view name = view_trim(view_cut(&line, '=')), value = view_trim(line);

	if (!view_is(name, key) || value.len == 0 || value.len > INDEX_URL_MAX)
		return false;
	memcpy(out, value.ptr, value.len);
	out[value.len] = '\0';
	return true;
}

static bool read_file(const char *path, const char *key, char out[INDEX_URL_MAX + 1])
{
	AUTO_BUF struct buf text;
	struct error ignored;
	struct view rest, line;

	buf_init(&text, CONFIG_MAX);
	if (fd_read_file(path, &text, &ignored) < 0)
		return false;
	rest = buf_view(&text);
	while (view_next_line(&rest, &line))
		if (read_line(line, key, out))
			return true;
	return false;
}

static bool read_home_file(const char *name, const char *key, char out[INDEX_URL_MAX + 1])
{
	const char *home = getenv("HOME");
	char path[4096];

	return home != NULL && home[0] == '/' &&
	       snprintf(path, sizeof path, "%s/%s", home, name) < (int)sizeof path &&
	       read_file(path, key, out);
}

static bool read_variable(const char *name, char out[INDEX_URL_MAX + 1])
{
	const char *value = getenv(name);

	if (value == NULL || value[0] == '\0' || strlen(value) > INDEX_URL_MAX)
		return false;
	(void)snprintf(out, INDEX_URL_MAX + 1, "%s", value);
	return true;
}

static bool find_pip_index(char out[INDEX_URL_MAX + 1])
{
	return read_variable("PIP_INDEX_URL", out) ||
	       read_home_file(".config/pip/pip.conf", "index-url", out) ||
	       read_home_file(".pip/pip.conf", "index-url", out) ||
	       read_file("/etc/pip.conf", "index-url", out);
}

static bool find_npm_registry(char out[INDEX_URL_MAX + 1])
{
	return read_variable("NPM_CONFIG_REGISTRY", out) ||
	       read_variable("npm_config_registry", out) ||
	       read_home_file(".npmrc", "registry", out) ||
	       read_file("/usr/local/etc/npmrc", "registry", out) ||
	       read_file("/etc/npmrc", "registry", out);
}

/* --- indexes --- */

static int add_url(struct net_ceiling *ceiling, const char *url, struct error *err)
{
	bool is_https = strncasecmp(url, "https://", 8) == 0;
	const char *host = is_https ? url + 8 : url + 7, *at;
	struct host_rule rule = { 0 };
	struct view text;

	if (!is_https && strncasecmp(url, "http://", 7) != 0)
		return error_set(err, ERR_INVALID, "'%s' is not an http:// or https:// URL",
		                 UTF8_ESCAPED(view_of(url), 80));
	text = (struct view){ host, strcspn(host, "/?#") };
	at = memrchr(text.ptr, '@', text.len); /* a name and a password before the host */
	if (at != NULL)
		text = (struct view){ at + 1, text.len - (size_t)(at + 1 - text.ptr) };
	if (net_host_parse_port(text, is_https ? 443 : 80, &rule.host, &rule.port, err) < 0)
		return -1;
	ceiling->indexes.items[ceiling->indexes.count++] = rule;
	ceiling->own_indexes.items[ceiling->own_indexes.count++] = rule;
	return 0;
}

static int add_public(struct net_ceiling *ceiling, const char *const *hosts, struct error *err)
{
	for (size_t i = 0; hosts[i] != NULL; i++) {
		struct host_rule rule = { .port = 443 };

		if (net_host_parse(view_of(hosts[i]), &rule.host, err) < 0)
			return -1;
		ceiling->indexes.items[ceiling->indexes.count++] = rule;
	}
	return 0;
}

/* An index in a file of pip or npm that belljar cannot use is only logged: the user may not know
 * the file. One in an option is an error. */
static int add_index(struct net_ceiling *ceiling, const char *option, const char *name,
                     bool (*find)(char out[INDEX_URL_MAX + 1]), const char *const *public,
                     char out[INDEX_URL_MAX + 1], struct error *err)
{
	if (option != NULL) {
		if (strlen(option) > INDEX_URL_MAX)
			return error_set(err, ERR_LIMIT, "%s: longer than %d bytes", name,
			                 INDEX_URL_MAX);
		(void)snprintf(out, INDEX_URL_MAX + 1, "%s", option);
		return add_url(ceiling, out, err) < 0 ? error_wrap(err, "%s", name) : 0;
	}
	if (find(out)) {
		if (add_url(ceiling, out, err) == 0)
			return 0;
		log_warning("the package index of this machine is not used: %s", err->msg);
		out[0] = '\0';
	}
	return add_public(ceiling, public, err);
}

const char *network_pip_index(const struct network *network)
{
	return network->pip_index[0] != '\0' ? network->pip_index : "https://pypi.org/simple";
}

const char *network_npm_registry(const struct network *network)
{
	return network->npm_registry[0] != '\0' ? network->npm_registry
	                                        : "https://registry.npmjs.org";
}

/* --- secrets --- */

static int read_secrets(const struct options *options, struct net_secrets *secrets,
                        struct error *err)
{
	AUTO_BUF struct buf file;
	int r;

	buf_init(&file, SECRET_FILE_MAX);
	if (net_secrets_read(secrets, options->secret, ',', err) < 0)
		return error_wrap(err, "secret");
	if (options->secret_file == NULL)
		return 0;
	if (fd_read_file(options->secret_file, &file, err) < 0)
		return error_wrap(err, "secret-file");
	r = net_secrets_read(secrets, buf_text(&file), '\n', err);
	if (file.len != 0)
		explicit_bzero(file.ptr, file.len);
	return r < 0 ? error_wrap(err, "secret-file") : 0;
}

/* A host without a port is reached on port 80, too. Loopback and private addresses that the
 * operator names by address are in networks of their own. */
static void warn_unencrypted(const struct net_secrets *secrets, bool intercepts)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct host_rule *rule = &secrets->items[i].rule;
		enum net_class class = rule->host.is_address
		                               ? net_address_class(&rule->host.address)
		                               : NET_PUBLIC;

		if ((rule->port == 0 || rule->is_any_port) && class != NET_LOOPBACK &&
		    class != NET_PRIVATE)
			log_warning("the secret %s is sent to %s%s without encryption, by plain "
			            "HTTP: use it in networks that you trust only, or with "
			            "--intercept-tls and port 443 behind the host",
			            secrets->items[i].name, rule->is_below ? "*." : "",
			            rule->host.name);
		if (rule->port == 443 && !intercepts)
			log_warning("the secret %s is for port 443, which speaks TLS: without "
			            "--intercept-tls its placeholder is sent as it is",
			            secrets->items[i].name);
	}
}

/* --- TLS --- */

/* Where distributions keep the certificates of all CAs in one file. */
static const char *const root_bundles[] = { "/etc/ssl/certs/ca-certificates.crt",
	                                    "/etc/pki/tls/certs/ca-bundle.crt",
	                                    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem" };

static int read_root_bundle(struct buf *out, struct error *err)
{
	const char *own = getenv("SSL_CERT_FILE");
	struct error ignored;

	if (own != NULL && own[0] != '\0')
		return fd_read_file(own, out, err) < 0 ? error_wrap(err, "SSL_CERT_FILE") : 0;
	for (size_t i = 0; i < ARRAY_LEN(root_bundles) && out->len == 0; i++)
		(void)!fd_read_file(root_bundles[i], out, &ignored);
	return 0;
}

/* The CAs of this machine, and those of --intercept-ca. */
static int read_roots(const struct options *options, char **ret, struct error *err)
{
	AUTO_BUF struct buf roots;

	buf_init(&roots, ROOTS_MAX);
	if (!options->intercept_tls)
		return options->intercept_ca == NULL
		               ? 0
		               : error_set(err, ERR_INVALID,
		                           "intercept-ca is for intercept-tls: give both");
	if (read_root_bundle(&roots, err) < 0)
		return -1;
	if (options->intercept_ca != NULL && (buf_add(&roots, view_of("\n"), err) < 0 ||
	                                      fd_read_file(options->intercept_ca, &roots, err) < 0))
		return error_wrap(err, "intercept-ca");
	if (roots.len == 0)
		return error_set(err, ERR_NOT_FOUND,
		                 "intercept-tls: this machine has no certificates of CAs: install "
		                 "the package ca-certificates, or name a file with intercept-ca");
	*ret = mem_dup_len(roots.ptr, roots.len);
	return 0;
}

struct network *network_free(struct network *network)
{
	if (network != NULL)
		free(network->roots);
	free(network);
	return NULL;
}

int network_read(const struct options *options, struct network *ret, struct error *err)
{
	struct net_ceiling *ceiling = &ret->ceiling;

	*ret = (struct network){ .ceiling.max = options->network_max };
	/* A default above the ceiling raises it, unless the operator has set both. */
	if (options->network > ceiling->max &&
	    options->sources[OPTION_NETWORK_MAX] != OPTION_FROM_TABLE)
		return error_set(err, ERR_INVALID,
		                 "network-max is '%s', which is less than network, which is '%s': "
		                 "raise network-max or lower network",
		                 net_mode_names[ceiling->max], net_mode_names[options->network]);
	if (options->network > ceiling->max)
		ceiling->max = options->network;
	/* A list of hosts is for 'allow': giving it is enough to have it. */
	if ((options->allow_hosts != NULL || options->ask_hosts != NULL) &&
	    ceiling->max < NET_MODE_ALLOW &&
	    options->sources[OPTION_NETWORK_MAX] == OPTION_FROM_TABLE)
		ceiling->max = NET_MODE_ALLOW;
	if (host_rules_read(&ceiling->allow, options->allow_hosts, ',', HOST_RULES_OPERATOR, err) <
	    0)
		return error_wrap(err, "allow-hosts");
	if (host_rules_read(&ceiling->ask, options->ask_hosts, ',', HOST_RULES_OPERATOR, err) < 0)
		return error_wrap(err, "ask-hosts");
	if (options->engine != ENGINE_NATIVE &&
	    host_rules_read(&ceiling->distributions, distributions, ',', HOST_RULES_OPERATOR, err) <
	            0)
		return -1;
	if (host_rules_read(&ceiling->deny, options->deny_hosts, ',', HOST_RULES_DENY, err) < 0)
		return error_wrap(err, "deny-hosts");
	ceiling->limits = (struct net_limits){ .connections = options->gate.connections,
		                               .bytes = options->gate.bytes,
		                               .rate = options->gate.rate,
		                               .dial_ms = options->gate.dial_s * 1000 };
	if (read_secrets(options, &ret->secrets, err) < 0)
		return -1;
	if (read_roots(options, &ret->roots, err) < 0)
		return -1;
	warn_unencrypted(&ret->secrets, options->intercept_tls);
	if (add_index(ceiling, options->pip_index, "pip-index", find_pip_index, public_pip,
	              ret->pip_index, err) < 0)
		return -1;
	return add_index(ceiling, options->npm_registry, "npm-registry", find_npm_registry,
	                 public_npm, ret->npm_registry, err);
}
