/* runtime_docker.c - the part of a runtime that starts the broker of the docker engine (see
 * internal.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/docker/docker.h"
#include "engine/shared_dir.h"
#include "sandbox/registry/instances.h"
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "server/runtime/internal.h"
#include "server/runtime/runtime.h"

/* Whether another server of this state directory runs. */
static bool has_other_server(const struct runtime_base *base)
{
	char path[PATH_MAX + 16], name[INSTANCE_LEN + 1];
	const struct dirent *entry;
	bool found = false;
	AUTO_DIR DIR *dir = NULL;

	(void)snprintf(path, sizeof path, "%s/servers", base->state);
	dir = opendir(path);
	while (!found && dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strcspn(entry->d_name, ".") != INSTANCE_LEN)
			continue;
		(void)snprintf(name, sizeof name, "%.*s", (int)INSTANCE_LEN, entry->d_name);
		found = strcmp(name, base->instance) != 0 && instance_is_alive(base->servers, name);
	}
	return found;
}

/* The sweep erases every sandbox without a row, so after the loss of the database it would erase
 * them all. Under a new id the sandboxes in Docker are not found by the sweep. A server that is
 * just starting has an id and no database yet. */
static void retire_state_id(const struct runtime_base *base, const char *path)
{
	char lost[PATH_MAX + 32];

	if (access(path, F_OK) < 0 || runtime_has_database(base) || has_other_server(base))
		return;
	(void)snprintf(lost, sizeof lost, "%s.lost", path);
	if (rename(path, lost) == 0)
		log_warning("'%s' is gone: the sandboxes that it knew stay in Docker, in volumes "
		            "whose label belljar.state is in '%s'; put it back to use them again",
		            base->database, lost);
}

/* A random id of the state directory, made by the first start: labels in Docker say with it whose a
 * container is, also if the directory is moved. */
static int read_state_id(const struct runtime_base *base, char out[SPEC_ID_LEN + 1],
                         struct error *err)
{
	char path[PATH_MAX + 16];
	AUTO_BUF struct buf text = { 0 };
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof path, "%s/docker-id", base->state);
	retire_state_id(base, path);
	spec_new_id(out);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		return fd_write_all(fd, (struct view){ out, SPEC_ID_LEN }, err);
	buf_init(&text, SPEC_ID_LEN);
	if (fd_read_file(path, &text, err) < 0)
		return -1;
	if (!spec_is_id(buf_text(&text)))
		return error_set(err, ERR_INVALID,
		                 "'%s' is damaged: remove it; sandboxes in Docker stay there then",
		                 path);
	(void)snprintf(out, SPEC_ID_LEN + 1, "%s", buf_text(&text));
	return 0;
}

/* The directories become options of an overlay mount, in which ':', ',' and '\\' have a meaning. */
static int check_shared_dirs(const struct runtime_base *base, char *const *sources,
                             const char *empty, struct error *err)
{
	if (base->target_count == 0)
		return 0;
	if (mkdir(empty, 0755) < 0 && errno != EEXIST)
		return error_sys(err, "make '%s'", empty);
	for (size_t i = 0; i < base->target_count; i++) {
		if (shared_dir_check(sources[i], base->state, err) < 0)
			return -1;
		if (strpbrk(sources[i], ":,\\") != NULL || strpbrk(empty, ":,\\") != NULL)
			return error_set(err, ERR_INVALID,
			                 "'%s' cannot be shared by the docker engine: its path, or "
			                 "that of the state directory, contains ':', ',' or '\\'",
			                 sources[i]);
	}
	return 0;
}

int runtime_start_broker(const struct options *options, struct runtime_base *base,
                         char *const *sources, struct error *err)
{
	char state[SPEC_ID_LEN + 1], empty[PATH_MAX + 8];
	struct daemon_address daemon;
	struct broker_options broker = {
		.daemon = &daemon,
		.state = state,
		.instance = base->instance,
		.image = options->image,
		.images = options->images,
		.any_image = options->verb != FOR_SERVE,
		.runtime = options->docker_runtime,
		.writable_root = options->docker_root == DOCKER_ROOT_WRITABLE,
		.mounts = (const char *const *)sources,
		.mount_count = base->target_count,
		.empty = empty,
		.gpus = base->gpus,
		.ceilings = base->ceilings.max,
		.gpus_max = base->gpus_max,
		.instance_lock = base->lock,
		.instances = base->servers,
		.is_alive = runtime_is_alive,
		.connect = runtime_connect_server,
		.ctx = base,
	};

	(void)snprintf(empty, sizeof empty, "%s/empty", base->state);
	if (check_shared_dirs(base, sources, empty, err) < 0 ||
	    daemon_find(options->docker_host, &daemon, err) < 0 ||
	    read_state_id(base, state, err) < 0)
		return -1;
	return broker_start(&broker, &base->spawner, &base->socket, err);
}

enum engine_choice runtime_choose_engine(const struct options *options)
{
	struct daemon_address daemon;
	struct error err;

	if (options->engine != ENGINE_AUTO)
		return options->engine;
	if (doctor_native_works() || daemon_find(options->docker_host, &daemon, &err) < 0)
		return ENGINE_NATIVE;
	return ENGINE_DOCKER;
}
