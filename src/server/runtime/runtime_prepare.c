/* runtime_prepare.c - the first part of a runtime: what is in the state directory, this server's
 * lock file, the shared directories, the spawner.
 *
 *   state/            belongs to root, or to the user who starts belljar
 *     db/             belljar.db; as root it belongs to confine_id(), the server's later user id
 *     cache/          packages of the indexes, written by the mirror; same owner
 *     servers/        a lock file and a socket for each server; same owner
 *     sandboxes/      belongs to the spawner, as do ids/ and skeleton/ */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process/helper.h"
#include "egress/mirror/mirror.h"
#include "engine/native/cdi/cdi.h"
#include "engine/native/root/root.h"
#include "engine/native/spawner/spawner.h"
#include "sandbox/registry/instances.h"
#include "server/confine.h"
#include "server/options/options.h"
#include "server/runtime/delegation.h"
#include "server/runtime/internal.h"
#include "server/runtime/network.h"
#include "server/runtime/runtime.h"

enum { FILES_LEAST = 128 };

/* Creates a directory that belongs to the server's later user id. Returns its descriptor. */
static int make_server_dir(const char *state, const char *name, struct error *err)
{
	char path[PATH_MAX + 16];
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof path, "%s/%s", state, name);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_sys(err, "make '%s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "'%s'", path);
	/* By descriptor: chown(2) would follow a link and give its target away. */
	if (geteuid() == 0 && fchown(fd, confine_id(), confine_id()) < 0)
		return error_sys(err, "chown '%s'", path);
	return TAKE_FD(fd);
}

bool runtime_has_database(const struct runtime_base *base)
{
	struct stat st;

	return stat(base->database, &st) == 0 && st.st_size != 0;
}

/* The sweep removes every sandbox without a row, so a lost database would remove them all: refuse
 * to start instead. The database is looked for after the sandboxes, because another server may be
 * starting right now, and a server creates the database before its first sandbox. */
static int check_database(const struct runtime_base *base, struct error *err)
{
	char sandboxes[PATH_MAX + 16];

	(void)snprintf(sandboxes, sizeof sandboxes, "%s/sandboxes", base->state);
	if (!spec_is_any_in(AT_FDCWD, sandboxes) || runtime_has_database(base))
		return 0;
	return error_set(err, ERR_INVALID,
	                 "there are sandboxes in '%s', but the database that knows them is gone: "
	                 "put '%s' back; or move the sandboxes away, and start without them",
	                 sandboxes, base->database);
}

/* Opens db/ and servers/, and takes a name among the servers that share them. */
static int join_servers(struct runtime_base *base, struct error *err)
{
	AUTO_FD int db = make_server_dir(base->state, "db", err);

	if (db < 0)
		return -1;
	base->servers = make_server_dir(base->state, "servers", err);
	if (base->servers < 0)
		return -1;
	if (snprintf(base->database, sizeof base->database, "%s/db/belljar.db", base->state) >=
	    (int)sizeof base->database)
		return error_set(err, ERR_LIMIT, "the state directory's path is too long");
	if (check_database(base, err) < 0)
		return -1;
	base->lock = instance_add(base->servers, base->instance, err);
	return base->lock < 0 ? -1 : 0;
}

/* The mirror of packages is there if sandboxes may use an index at all. */
static int start_mirror(const struct options *options, struct runtime_base *base, struct error *err)
{
	char dir[PATH_MAX + 16];
	AUTO_FD int fd = -1;
	const struct mirror_config config = {
		.ceiling = &base->network->ceiling,
		.dir = dir,
		.max_bytes = options->package_cache,
		.pip_index = network_pip_index(base->network),
		.npm_registry = network_npm_registry(base->network),
		.id = geteuid() == 0 ? confine_id() : 0,
	};

	if (base->dialer.pid == 0 || options->package_cache == 0)
		return 0;
	fd = make_server_dir(base->state, "cache", err);
	if (fd < 0)
		return -1;
	(void)snprintf(dir, sizeof dir, "%s/cache", base->state);
	return mirror_start(&config, &base->mirror, err);
}

/* --- shared directories --- */

static int add_shared_dir(struct runtime_base *base, char **sources, const char *option,
                          const char *source, const char *target, struct error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (base->target_count == RUNTIME_MOUNTS_MAX)
		return error_set(err, ERR_LIMIT, "%s: at most %d directories can be shared", option,
		                 RUNTIME_MOUNTS_MAX);
	if (realpath(source, path) == NULL || stat(path, &st) < 0)
		return error_sys(err, "%s: '%s'", option, source);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s: '%s' is not a directory", option, source);
	sources[base->target_count] = mem_dup(path);
	base->targets[base->target_count++] = mem_dup(target);
	return 0;
}

/* "SOURCE:TARGET,SOURCE:TARGET" */
static int add_listed_dirs(struct runtime_base *base, char **sources, const char *list,
                           struct error *err)
{
	AUTO_FREE char *copy = mem_dup(list);
	char *save = NULL;

	for (char *pair = strtok_r(copy, ",", &save); pair != NULL;
	     pair = strtok_r(NULL, ",", &save)) {
		char *target = strrchr(pair, ':');

		if (target == NULL || pair[0] != '/' || target[1] != '/')
			return error_set(err, ERR_INVALID,
			                 "--mounts: '%s' is not SOURCE:TARGET with absolute paths",
			                 pair);
		*target++ = '\0';
		if (add_shared_dir(base, sources, "--mounts", pair, target, err) < 0)
			return -1;
	}
	return 0;
}

static int add_shared_dirs(const struct options *options, struct runtime_base *base, char **sources,
                           struct error *err)
{
	if (options->tools_dir != NULL &&
	    add_shared_dir(base, sources, "--tools-dir", options->tools_dir, "/tools", err) < 0)
		return -1;
	if (options->skills_dir != NULL &&
	    add_shared_dir(base, sources, "--skills-dir", options->skills_dir, "/skills", err) < 0)
		return -1;
	return options->mounts != NULL ? add_listed_dirs(base, sources, options->mounts, err) : 0;
}

/* --- the spawner --- */

bool runtime_is_alive(void *ctx, const char *instance)
{
	const struct runtime_base *base = ctx;

	return strcmp(instance, base->instance) == 0 || instance_is_alive(base->servers, instance);
}

int runtime_connect_server(void *ctx, const char *instance, struct error *err)
{
	const struct runtime_base *base = ctx;

	return instance_connect(base->servers, instance, err);
}

/* The spec of the default sandbox and of temporary ones, as runtime_default_spec() and the manager
 * make it. A sandbox with another spec would not get the spare. */
static bool find_first_spec(const struct options *options, const struct runtime_base *base,
                            struct spec *ret)
{
	if ((options->verb & (FOR_SERVE | FOR_RUN | FOR_EXEC)) == 0 ||
	    strcmp(options->gpu, "none") != 0 || base->target_count > SPEC_MOUNTS_MAX)
		return false;
	*ret = spec_default();
	ret->limits = base->ceilings.initial;
	ret->syscalls = options->calls;
	ret->mount_count = (uint8_t)base->target_count;
	for (size_t i = 0; i < base->target_count; i++) {
		ret->mounts[i] = (struct spec_mount){ .source = (uint16_t)i };
		(void)snprintf(ret->mounts[i].target, sizeof ret->mounts[i].target, "%s",
		               base->targets[i]);
	}
	return true;
}

static int start_spawner(const struct options *options, struct runtime_base *base,
                         char *const *sources, struct error *err)
{
	char common[PATH_MAX], claims[PATH_MAX + 8], skeletons[PATH_MAX + 16];
	struct error ignored;
	struct spec first;
	struct spawner_options spawner = {
		.state = base->state,
		.claims = claims,
		.skeletons = skeletons,
		.first = find_first_spec(options, base, &first) ? &first : NULL,
		.instance = base->instance,
		.mounts = (const char *const *)sources,
		.mount_count = base->target_count,
		.ids = { .single_id = options->one_id,
		         .server = geteuid() == 0 ? confine_id() : 0,
		         .taken = &base->taken },
		.no_cgroups = options->no_cgroups,
		.no_quota = options->no_quota,
		.gpus = base->gpus,
		.ceilings = base->ceilings.max,
		.gpus_max = base->gpus_max,
		.memory_together = base->ceilings.memory_together,
		.memory_sum = base->ceilings.owner_memory_without_cgroup,
		.instance_lock = base->lock,
		.instances = base->servers,
		.is_alive = runtime_is_alive,
		.connect = runtime_connect_server,
		.ctx = base,
	};

	/* All servers of a user must claim ids in one directory, whatever their state directories
	 * are: two sandboxes with the same ids could signal each other's processes. They share
	 * skeletons too, because making one takes longer than the start of a sandbox. A user
	 * without a home directory has only this state directory. */
	if (runtime_default_state_dir(common, &ignored) < 0)
		(void)snprintf(common, sizeof common, "%s", base->state);
	/* A failure is ignored: with a single id nothing is claimed, and otherwise the spawner
	 * reports the missing directory. */
	(void)!runtime_make_path(common, geteuid() == 0 ? 0711 : 0700, &ignored);
	(void)snprintf(claims, sizeof claims, "%s/ids", common);
	(void)snprintf(skeletons, sizeof skeletons, "%s/skeleton", common);
	return spawner_start(&spawner, &base->spawner, &base->socket, err);
}

/* After a failure: the spawner or the broker exits when its socket is closed. */
static void stop_spawner(struct runtime_base *base)
{
	cleanup_fd(&base->listener);
	helper_stop(&base->spawner, &base->socket);
}

/* Only servers share their sandboxes: a command would end its sandbox, with the programs of other
 * processes in it, when its own program exits. A server without the socket still serves its own
 * client. */
static void listen_for_guests(struct runtime_base *base)
{
	struct error err;

	base->listener = instance_listen(base->servers, base->instance, &err);
	if (base->listener < 0)
		log_warning("commands in a terminal cannot use the sandboxes of this server: %s",
		            err.msg);
}

/* Server and spawner have about seven descriptors open for each sandbox that is awake. */
static int raise_file_limit(struct error *err)
{
	rlim_t limit = fd_raise_limit();

	if (limit >= FILES_LEAST)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "the limit of open files is %llu, and belljar needs at least %d: raise it "
	                 "with ulimit -n or LimitNOFILE=",
	                 (unsigned long long)limit, FILES_LEAST);
}

/* The spawner lowers the limit of every sandbox in the same way. The default is lowered here too,
 * so that tools and commands show the limit that programs will have. */
static void fit_open_files(struct spec_limits *limits)
{
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct kernel_shares shares;
	struct error err;

	kernel_shares_read(proc, &shares);
	if (kernel_shares_fit(&shares, limits, &err) < 0)
		log_debug("%s", err.msg); /* the spawner reports it to the creator of the sandbox */
}

const struct runtime_engine runtime_engines[ENGINE_CHOICES] = {
	[ENGINE_NATIVE] = { .words = { "native", "on this machine" },
	                    .start = start_spawner,
	                    .uses_own_cgroups = true },
	[ENGINE_DOCKER] = { .words = { "docker", "in the image of the sandbox (--image)" },
	                    .start = runtime_start_broker,
	                    .has_images = true },
};

/* The engine's process comes first: it takes the longest to start, and the first call waits for it.
 * The other processes close the descriptors that they inherit. */
static int start_processes(const struct options *options, struct runtime_base *base,
                           char *const *sources, struct error *err)
{
	if (runtime_engines[base->engine].start(options, base, sources, err) < 0 ||
	    runtime_start_dialer(options, base, err) < 0 || start_mirror(options, base, err) < 0)
		return -1;
	if (options->verb == FOR_SERVE)
		listen_for_guests(base);
	if (dialer_wait(&base->dialer, err) < 0 || dialer_wait(&base->mirror, err) < 0)
		return -1;
	return dialer_wait(&base->interceptor, err);
}

static void undo_prepare(struct runtime_base *base)
{
	base->gpus = cdi_free(base->gpus);
	dialer_stop(&base->dialer);
	dialer_stop(&base->mirror);
	dialer_stop(&base->interceptor);
	base->network = network_free(base->network);
	free(base->trusted);
	stop_spawner(base);
	instance_remove(base->servers, base->instance);
	(void)close(base->lock);
	(void)close(base->servers);
}

int runtime_prepare(const struct options *options, struct runtime_base *ret, struct error *err)
{
	char *sources[RUNTIME_MOUNTS_MAX] = { NULL };
	struct spec_limits machine;
	int r = -1;

	*ret = (struct runtime_base){ .servers = -1,
		                      .lock = -1,
		                      .socket = -1,
		                      .listener = -1,
		                      .user = geteuid(),
		                      .dialer.socket = -1,
		                      .mirror.socket = -1,
		                      .interceptor.socket = -1 };
	if (raise_file_limit(err) < 0)
		return -1;
	ret->engine = runtime_choose_engine(options);
	if (!options->no_cgroups && runtime_engines[ret->engine].uses_own_cgroups)
		(void)delegation_request(NULL);
	if (runtime_prepare_state_dir(options, ret, err) < 0 || join_servers(ret, err) < 0) {
		ids_taken_done(&ret->taken);
		if (ret->servers >= 0)
			(void)close(ret->servers);
		return error_wrap(err, "state directory");
	}
	machine_read(ret->state, &machine);
	ceilings_find(options, &machine, &ret->ceilings);
	fit_open_files(&ret->ceilings.initial);
	if (add_shared_dirs(options, ret, sources, err) == 0 &&
	    runtime_read_gpus(options, ret, err) == 0 &&
	    runtime_find_gpus_max(options, ret, err) == 0)
		r = start_processes(options, ret, sources, err);
	for (size_t i = 0; i < ret->target_count; i++)
		free(sources[i]);
	ids_taken_done(&ret->taken); /* the spawner has a copy */
	if (r < 0)
		undo_prepare(ret);
	else if (options->require != NULL)
		ret->require = mem_dup(options->require);
	return r;
}
