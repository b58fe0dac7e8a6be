#include "engine/docker/daemon.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum { CONFIG_MAX = 1024 * 1024, CONTEXTS_MAX = 1000 };

static const struct json_limits limits = { .depth = 16, .values = 10000 };

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int find_config(const char *name, char out[PATH_MAX], struct error *err)
{
	const char *config = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	int n = -1;

	if (config != NULL && config[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/%s", config, name);
	else if (home != NULL && home[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/.docker/%s", home, name);
	if (n < 0 || n >= PATH_MAX)
		return error_set(err, ERR_NOT_FOUND, "there is no directory of Docker's settings");
	return 0;
}

static int set_bad_url(const char *url, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "the address of Docker, '%s', %s",
	                 UTF8_ESCAPED(view_of(url), 200), why);
}

static void add_certificates(const char *certs, struct daemon_address *ret)
{
	const struct {
		const char *name;
		char *to;
	} files[] = { { "ca.pem", ret->ca }, { "cert.pem", ret->cert }, { "key.pem", ret->key } };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(files[i].to, sizeof ret->ca, "%s/%s", certs, files[i].name);
		if (!is_file(files[i].to))
			files[i].to[0] = '\0';
	}
}

int daemon_parse(const char *url, const char *certs, struct daemon_address *ret, struct error *err)
{
	const char *host = strstr(url, "://");
	bool is_tls = strncmp(url, "https://", 8) == 0;
	size_t len;

	*ret = (struct daemon_address){ 0 };
	if (host == NULL || strlen(url) >= sizeof ret->url)
		return set_bad_url(url, "is not unix:///PATH or tcp://HOST:PORT", err);
	(void)snprintf(ret->url, sizeof ret->url, "%s", url);
	host += 3;
	if (strncmp(url, "unix://", 7) == 0) {
		if (host[0] != '/' || strlen(host) >= sizeof((struct sockaddr_un *)0)->sun_path)
			return set_bad_url(url, "needs an absolute path of at most 107 bytes", err);
		(void)snprintf(ret->socket, sizeof ret->socket, "%s", host);
		(void)snprintf(ret->base, sizeof ret->base, "http://docker");
		ret->is_local = true;
		return 0;
	}
	if (strncmp(url, "ssh://", 6) == 0)
		return set_bad_url(url,
		                   "is reached by ssh, which belljar does not start: forward the "
		                   "socket with 'ssh -L /tmp/docker.sock:/run/docker.sock HOST' "
		                   "and use unix:///tmp/docker.sock",
		                   err);
	len = strcspn(host, "/");
	if ((strncmp(url, "tcp://", 6) != 0 && strncmp(url, "http://", 7) != 0 && !is_tls) ||
	    len == 0 || (host[len] != '\0' && strcmp(host + len, "/") != 0) ||
	    strpbrk(host, "@?# ") != NULL)
		return set_bad_url(url, "is not unix:///PATH or tcp://HOST:PORT", err);
	if (certs != NULL) {
		add_certificates(certs, ret);
		is_tls = true;
	}
	(void)snprintf(ret->base, sizeof ret->base, "%s://%.*s", is_tls ? "https" : "http",
	               (int)len, host);
	return 0;
}

/* --- contexts --- */

json_t *daemon_read_config(const char *name)
{
	AUTO_BUF struct buf text;
	json_t *value = NULL;
	char path[PATH_MAX];
	struct error err;

	buf_init(&text, CONFIG_MAX);
	if (find_config(name, path, &err) < 0 || fd_read_file(path, &text, &err) < 0 ||
	    json_read(buf_view(&text), &limits, &value, NULL, &err) < 0)
		return NULL;
	return value;
}

/* True if the context in contexts/meta/ID has this name: then *ret_r is 0 and *ret filled, or
 * *ret_r is -1 and *err has the reason. */
static bool try_context(const char *id, const char *name, struct daemon_address *ret, int *ret_r,
                        struct error *err)
{
	char certs[PATH_MAX] = "";
	char *relative = mem_format("contexts/meta/%s/meta.json", id);
	AUTO_JSON json_t *meta = daemon_read_config(relative);
	const char *host;
	struct error ignored;

	free(relative);
	if (meta == NULL || json_text(meta, "Name") == NULL ||
	    strcmp(json_text(meta, "Name"), name) != 0)
		return false;
	host = json_text(
	        json_member(json_member(meta, "Endpoints", JSON_OBJECT), "docker", JSON_OBJECT),
	        "Host");
	relative = mem_format("contexts/tls/%s/docker", id);
	if (find_config(relative, certs, &ignored) < 0 || access(certs, F_OK) < 0)
		certs[0] = '\0';
	free(relative);
	*ret_r = host != NULL ? daemon_parse(host, certs[0] != '\0' ? certs : NULL, ret, err)
	                      : error_set(err, ERR_INVALID,
	                                  "Docker's context '%.100s' has no address", name);
	return true;
}

static int find_context(const char *name, struct daemon_address *ret, struct error *err)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	AUTO_DIR DIR *dir = NULL;
	bool found = false;
	int r = -1;

	if (find_config("contexts/meta", path, err) == 0)
		dir = opendir(path);
	for (int i = 0; dir != NULL && !found && i < CONTEXTS_MAX && (entry = readdir(dir)) != NULL;
	     i++)
		if (entry->d_name[0] != '.')
			found = try_context(entry->d_name, name, ret, &r, err);
	if (found)
		return r;
	return error_set(err, ERR_NOT_FOUND,
	                 "Docker's context '%s' does not exist: see 'docker context ls'",
	                 UTF8_ESCAPED(view_of(name), 120));
}

/* The name of the current context; NULL for the default one, which is the usual socket. The caller
 * frees. */
static char *current_context(void)
{
	const char *name = getenv("DOCKER_CONTEXT");
	AUTO_JSON json_t *config = NULL;

	if (name == NULL || name[0] == '\0') {
		config = daemon_read_config("config.json");
		name = json_text(config, "currentContext");
	}
	return name != NULL && name[0] != '\0' && strcmp(name, "default") != 0 ? mem_dup(name)
	                                                                       : NULL;
}

/* --- sockets --- */

static bool try_socket(const char *directory, const char *name, struct daemon_address *ret)
{
	char url[DAEMON_URL_MAX];
	struct stat st;
	struct error err;

	if (directory == NULL || directory[0] == '\0' ||
	    snprintf(url, sizeof url, "unix://%s%s", directory, name) >= (int)sizeof url ||
	    stat(url + 7, &st) < 0 || !S_ISSOCK(st.st_mode) || access(url + 7, W_OK) < 0)
		return false;
	return daemon_parse(url, NULL, ret, &err) == 0;
}

static int find_socket(struct daemon_address *ret, struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
	const struct {
		const char *directory, *name;
	} places[] = {
		{ "/var/run", "/docker.sock" },       { runtime, "/docker.sock" },
		{ runtime, "/podman/podman.sock" },   { "/run/podman", "/podman.sock" },
		{ home, "/.docker/run/docker.sock" },
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (try_socket(places[i].directory, places[i].name, ret))
			return 0;
	return error_set(err, ERR_NOT_FOUND,
	                 "there is no Docker that this user may use: no DOCKER_HOST, no context, "
	                 "and no socket /var/run/docker.sock, $XDG_RUNTIME_DIR/docker.sock, "
	                 "$XDG_RUNTIME_DIR/podman/podman.sock, /run/podman/podman.sock or "
	                 "~/.docker/run/docker.sock: start Docker or Podman, or use --docker-host");
}

int daemon_find(const char *given, struct daemon_address *ret, struct error *err)
{
	const char *host = getenv("DOCKER_HOST"), *verify = getenv("DOCKER_TLS_VERIFY");
	const char *certs = getenv("DOCKER_CERT_PATH");
	char path[PATH_MAX];
	AUTO_FREE char *context = NULL;

	if (given != NULL && given[0] != '\0')
		host = given;
	else if (host == NULL || host[0] == '\0')
		host = getenv("CONTAINER_HOST");
	if (host != NULL && host[0] != '\0') {
		if (verify == NULL || verify[0] == '\0')
			certs = NULL;
		else if (certs == NULL) {
			if (find_config(".", path, err) < 0)
				return -1;
			certs = path;
		}
		return daemon_parse(host, certs, ret, err);
	}
	context = current_context();
	return context != NULL ? find_context(context, ret, err) : find_socket(ret, err);
}
