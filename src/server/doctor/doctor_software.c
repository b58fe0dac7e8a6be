/* doctor_software.c - interpreters, Docker and the configuration file (see internal.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"

/* --- interpreters --- */

static const struct interpreter {
	const char *program, *package;
} interpreters[] = {
	{ "python3", "python3" },
	{ "node", "nodejs" },
	{ "bash", "bash" },
};

/* Relative directories are skipped: they would depend on the current directory. */
static int find_program(const char *directories, const char *name, char out[PATH_MAX])
{
	for (const char *at = directories; *at != '\0'; at += *at == ':') {
		int len = (int)strcspn(at, ":");
		struct stat st;

		if (*at == '/' && snprintf(out, PATH_MAX, "%.*s/%s", len, at, name) < PATH_MAX &&
		    stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
			return 0;
		at += len;
	}
	return -1;
}

void probe_interpreters_in(const char *directories, struct check *ret)
{
	char found[300] = "", missing[64] = "";
	size_t found_len = 0, missing_len = 0;

	for (size_t i = 0; i < ARRAY_LEN(interpreters); i++) {
		char path[PATH_MAX];

		if (find_program(directories, interpreters[i].program, path) < 0) {
			missing_len += (size_t)snprintf(missing + missing_len,
			                                sizeof missing - missing_len, " %s",
			                                interpreters[i].package);
			continue;
		}
		found_len += (size_t)snprintf(found + found_len, sizeof found - found_len, "%s%s",
		                              found_len != 0 ? ", " : "",
		                              UTF8_ESCAPED(view_of(path), 80));
	}
	if (missing_len == 0) {
		check_set(ret, CHECK_ON, "%s", found);
		return;
	}
	check_set(ret, found_len != 0 ? CHECK_WEAKER : CHECK_OFF, "missing:%s%s%s", missing,
	          found_len != 0 ? "; found: " : "", found);
	check_fix(ret, "apt install%s", missing);
}

/* Looks in the directories that sandboxes have; programs in a home directory are not visible
 * there. */
void probe_interpreters(UNUSED const struct options *options, struct check *ret)
{
	probe_interpreters_in("/usr/local/bin:/usr/bin:/bin", ret);
}

/* --- Docker and Podman --- */

enum { SOCKET_CANDIDATES = 5 };

struct socket_paths {
	char paths[SOCKET_CANDIDATES][PATH_MAX];
	size_t count;
};

static void add_socket(struct socket_paths *sockets, const char *dir, const char *name)
{
	if (dir != NULL && sockets->count < SOCKET_CANDIDATES)
		(void)snprintf(sockets->paths[sockets->count++], PATH_MAX, "%s%s", dir, name);
}

/* Returns 0 if a process accepts connections, else an errno. The socket is non-blocking, so a full
 * backlog does not block. */
static int try_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	if (strlen(path) >= sizeof address.sun_path)
		return ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return errno;
	return 0;
}

static void report_socket(struct check *ret, const char *path, int failure)
{
	char shown[160];

	(void)utf8_escape(view_of(path), shown, sizeof shown);
	if (failure == 0) {
		check_set(ret, CHECK_ON, "%s accepts connections", shown);
		return;
	}
	check_set(ret, CHECK_OFF, "%s: %s", shown, strerror(failure));
	if (failure == EACCES || failure == EPERM)
		check_fix(ret,
		          "usermod --append --groups docker USER, then log in again (members of "
		          "that group can become root)");
	else
		check_fix(ret, "start the daemon: systemctl start docker, or podman.socket");
}

void probe_containers(UNUSED const struct options *options, struct check *ret)
{
	const char *host = getenv("DOCKER_HOST"), *runtime = getenv("XDG_RUNTIME_DIR");
	struct socket_paths sockets = { .count = 0 };
	size_t refused = SOCKET_CANDIDATES;
	int failure = 0;

	if (host != NULL && host[0] != '\0' && strncmp(host, "unix://", 7) != 0) {
		check_set(ret, CHECK_WEAKER, "DOCKER_HOST is '%s'; only unix:// is checked",
		          UTF8_ESCAPED(view_of(host), 120));
		check_fix(ret, "set DOCKER_HOST to unix:///PATH, or unset it");
		return;
	}
	if (host != NULL && host[0] != '\0')
		add_socket(&sockets, host + 7, "");
	else {
		add_socket(&sockets, "/var/run/docker.sock", "");
		add_socket(&sockets, runtime, "/docker.sock");
		add_socket(&sockets, runtime, "/podman/podman.sock");
		add_socket(&sockets, "/run/podman/podman.sock", "");
	}
	for (size_t i = 0; i < sockets.count; i++) {
		int r = try_socket(sockets.paths[i]);

		if (r == 0) {
			report_socket(ret, sockets.paths[i], 0);
			return;
		}
		if (r != ENOENT && r != ENOTDIR && refused == SOCKET_CANDIDATES) {
			refused = i;
			failure = r;
		}
	}
	if (refused != SOCKET_CANDIDATES) {
		report_socket(ret, sockets.paths[refused], failure);
		return;
	}
	check_set(ret, CHECK_OFF, "no socket of Docker or Podman");
	check_fix(ret, "apt install docker.io, or podman (only needed for the docker engine)");
}

/* --- the configuration file --- */

/* The check is called "configuration" already, so the message need not begin with it. */
static const char *skip_topic(const char *message)
{
	static const char topic[] = "configuration";

	if (strncmp(message, topic, strlen(topic)) != 0)
		return message;
	message += strlen(topic);
	return message + strspn(message, ": ");
}

static const char *fix_for_configuration(const struct error *err)
{
	if (err->errnum == EACCES || err->errnum == EPERM)
		return "make it readable, or name another with --config";
	if (err->kind == ERR_NOT_FOUND)
		return "create it, or name another with --config";
	return "correct it: 'belljar help serve' lists the options";
}

void probe_configuration(const struct options *options, struct check *ret)
{
	const char *flags[OPTION_COUNT] = { [OPTION_CONFIG] = options->config };
	struct options served;
	struct error err;

	if (options_load(&served, FOR_SERVE, flags, environ, &err) < 0) {
		check_set(ret, CHECK_OFF, "%s", skip_topic(err.msg));
		check_fix(ret, "%s", fix_for_configuration(&err));
		return;
	}
	if (doctor_check_names(served.require, &err) < 0) {
		check_set(ret, CHECK_OFF, "%s", err.msg);
		check_fix(ret, "%s", fix_for_configuration(&err));
		options_done(&served);
		return;
	}
	if (served.config != NULL)
		check_set(ret, CHECK_ON, "%s is valid", UTF8_ESCAPED(view_of(served.config), 200));
	else
		check_set(ret, CHECK_ON, "no file; the defaults apply");
	options_done(&served);
}
