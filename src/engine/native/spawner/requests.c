/* requests.c - checks the server's requests and carries them out.
 *
 * The server may have been taken over. A request is a struct of any bytes: every field is checked
 * before use, a sandbox is named by a number or an id and never by a path, and a wrong request gets
 * an error or no reply. */
#include <string.h>

#include "base/error.h"
#include "engine/native/spawner/internal.h"

struct spawner_sandbox *spawner_find_sandbox(struct spawner *spawner, uint64_t number)
{
	for (size_t i = 0; number != 0 && i < spawner->sandbox_top; i++)
		if (spawner->sandboxes[i].number == number)
			return &spawner->sandboxes[i];
	return NULL;
}

static struct spawner_sandbox *find_by_id(struct spawner *spawner, const char *id)
{
	for (size_t i = 0; i < spawner->sandbox_top; i++)
		if (spawner->sandboxes[i].number != 0 && strcmp(spawner->sandboxes[i].id, id) == 0)
			return &spawner->sandboxes[i];
	return NULL;
}

struct spawner_sandbox *spawner_free_sandbox_slot(struct spawner *spawner)
{
	for (size_t i = 0; i < SANDBOXES_MAX; i++)
		if (spawner->sandboxes[i].number == 0) {
			if (i >= spawner->sandbox_top)
				spawner->sandbox_top = i + 1;
			return &spawner->sandboxes[i];
		}
	return NULL;
}

/* JANITOR_SOCKETS takes slots of JANITOR_MEMORY: a spawner starts only one of the two kinds. */
struct janitor *spawner_free_janitor_slot(struct spawner *spawner, enum janitor_kind kind)
{
	static const size_t first[JANITOR_KIND_COUNT + 1] = { [JANITOR_REMOVE] = 0,
		                                              [JANITOR_DISK] = 12,
		                                              [JANITOR_LOCKS] = 20,
		                                              [JANITOR_MEMORY] = 24,
		                                              [JANITOR_SOCKETS] = 28,
		                                              [JANITOR_UNMOUNT] = 28,
		                                              [JANITOR_KIND_COUNT] = JANITORS_MAX };

	for (size_t i = first[kind]; i < first[kind + 1]; i++)
		if (spawner->janitors[i].pid == 0)
			return &spawner->janitors[i];
	return NULL;
}

/* --- starting and killing ------------------------------------------------------------ */

/* Without a cgroup over all sandboxes, the sum of their limits protects the machine's memory. A
 * sandbox that was killed does not count: SIGKILL reaches it before the new one starts. */
static int check_memory_sum(const struct spawner *spawner, const struct spec *spec,
                            struct error *err)
{
	uint64_t max = spawner->host.memory_sum, sum = spec->limits.memory;

	if (max == 0 || (spawner->host.cgroups.has & CGROUP_HAS_MEMORY) != 0)
		return 0;
	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		const struct spawner_sandbox *other = &spawner->sandboxes[i];

		if (other->number != 0 && other->number != SPARE_NUMBER && !other->is_killed &&
		    !other->is_dead)
			sum += other->limits.memory;
	}
	if (sum <= max)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "owner-memory: the sandboxes awake and this one may use %llu MiB, at most "
	                 "%llu MiB are allowed together: wait until one is idle, or delete one",
	                 (unsigned long long)(sum >> 20), (unsigned long long)(max >> 20));
}

/* The server has checked all of this, but may have been taken over since. */
static int check_start(struct spawner *spawner, const struct engine_request *request,
                       struct error *err)
{
	const struct spec *spec = &request->spec;
	size_t mount_count = spawner->host.mount_count;

	if (spec_check(spec, err) < 0 ||
	    spec_check_ceilings(spec, &spawner->host.ceilings, spawner->host.gpus_max, err) < 0 ||
	    check_memory_sum(spawner, spec, err) < 0)
		return -1;
	if (spec->image[0] != '\0')
		return error_set(err, ERR_UNSUPPORTED,
		                 "image: the native engine has the programs of this machine "
		                 "only: leave the argument out");
	for (unsigned i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].source >= mount_count)
			return error_set(err, ERR_INVALID,
			                 "mounts[%u].source: there is no directory %u, "
			                 "only %zu",
			                 i, spec->mounts[i].source, mount_count);
	if (request->number == 0 || request->number == SPARE_NUMBER ||
	    spawner_find_sandbox(spawner, request->number) != NULL)
		return error_set(err, ERR_INVALID, "number: %llu is in use",
		                 (unsigned long long)request->number);
	if (find_by_id(spawner, spec->id) != NULL)
		return error_set(err, ERR_INVALID, "sandbox %s is awake", spec->id);
	return 0;
}

static void start_new_process(struct spawner *spawner, const struct engine_request *request)
{
	struct spawner_sandbox *sandbox = spawner_free_sandbox_slot(spawner);
	struct error err;

	if (sandbox == NULL) {
		(void)error_set(&err, ERR_LIMIT,
		                "%d sandboxes are awake, which is the maximum: "
		                "wait until one is idle, or delete one",
		                SANDBOXES_MAX);
		replies_add_failure(&spawner->replies, REPLY_ENDED, request->number, &err);
		return;
	}
	/* A failed start may have left a process and a cgroup. spawner_finish_dead() releases them
	 * like those of any other sandbox and sends the reply. */
	if (spawner_sandbox_start(&spawner->host, &spawner->next_image, request, sandbox, &err) < 0)
		spawner_sandbox_fail(sandbox, &err);
}

static void start_sandbox(struct spawner *spawner, const struct engine_request *request)
{
	struct spawner_sandbox *sandbox = NULL;
	struct error err;

	if (check_start(spawner, request, &err) < 0) {
		replies_add_failure(&spawner->replies, REPLY_ENDED, request->number, &err);
		return;
	}
	if (request->spec.fresh) {
		sandbox = spare_take(spawner, request);
		spare_note_request(spawner, request);
	}
	if (sandbox != NULL)
		spawner_reply_started(&spawner->replies, &spawner->host, sandbox);
	else
		start_new_process(spawner, request);
}

/* A request that crosses the REPLY_ENDED of its sandbox needs no reply of its own. */
static void kill_sandbox(struct spawner *spawner, const struct engine_request *request)
{
	struct spawner_sandbox *sandbox = spawner_find_sandbox(spawner, request->number);

	if (sandbox != NULL && !sandbox->is_dead)
		spawner_sandbox_kill(sandbox, ENGINE_END_KILLED);
}

/* --- changing limits ------------------------------------------------------------------ */

/* RLIMIT_NOFILE of the processes was set at the start, to what fits the number of processes then. A
 * larger number of processes could fill the host's file table. */
static int check_open_files(const struct spawner *spawner, const struct spec_limits *limits,
                            struct error *err)
{
	struct spec_limits fitting = *limits;

	if (kernel_shares_fit(&spawner->host.shares, &fitting, err) < 0)
		return -1;
	if (fitting.files < limits->files)
		return error_set(err, ERR_LIMIT,
		                 "pids: each process may have %llu open files, which is too many "
		                 "for %llu processes: create another sandbox with that many",
		                 (unsigned long long)limits->files,
		                 (unsigned long long)limits->pids);
	return 0;
}

/* Takes only the limits that can change in a running sandbox from the request. The cgroup is set
 * back if the disk refuses, so that either all limits change or none. */
static int change_limits(struct spawner *spawner, const struct engine_request *request,
                         struct error *err)
{
	struct spawner_sandbox *sandbox = spawner_find_sandbox(spawner, request->number);
	struct spec spec = spec_default();

	if (sandbox == NULL || request->number == SPARE_NUMBER || sandbox->failed ||
	    sandbox->is_killed || sandbox->is_dead || sandbox->setup_pipe >= 0)
		return error_set(err, ERR_NOT_FOUND, "the sandbox is not awake");
	memcpy(spec.id, sandbox->id, sizeof spec.id);
	spec.limits = sandbox->limits;
	spec.limits.memory = request->spec.limits.memory;
	spec.limits.cpu = request->spec.limits.cpu;
	spec.limits.pids = request->spec.limits.pids;
	spec.limits.disk = request->spec.limits.disk;
	if (spec_check(&spec, err) < 0 ||
	    spec_check_ceilings(&spec, &spawner->host.ceilings, 0, err) < 0 ||
	    check_open_files(spawner, &spec.limits, err) < 0 ||
	    cgroup_change_limits(&sandbox->cgroup, &sandbox->limits, &spec.limits, err) < 0)
		return -1;
	if (limit_watch_set_disk(&spawner->host, sandbox, spec.limits.disk, err) < 0) {
		struct error ignored;

		(void)!cgroup_change_limits(&sandbox->cgroup, &spec.limits, &sandbox->limits,
		                            &ignored);
		return -1;
	}
	sandbox->limits = spec.limits;
	return 0;
}

static void limit_sandbox(struct spawner *spawner, const struct engine_request *request)
{
	struct engine_reply reply = { .kind = REPLY_LIMITED, .number = request->number };

	reply.failed = change_limits(spawner, request, &reply.err) < 0;
	if (!reply.failed && limit_watch_owes_reply(spawner, request->number))
		return;
	replies_add(&spawner->replies, &reply);
}

/* --- erasing -------------------------------------------------------------------------- */

void spawner_erase(struct spawner *spawner, const char *id, uint64_t number)
{
	struct engine_reply reply = { .kind = REPLY_ERASED, .number = number };

	reply.failed = sandbox_dir_erase(spawner, id, &reply.err) < 0;
	replies_add(&spawner->replies, &reply);
}

/* A sandbox that was killed is erased after its last process has exited. */
static int defer_erase(struct spawner_sandbox *sandbox, uint64_t number, struct error *err)
{
	if ((!sandbox->is_killed && !sandbox->is_dead) || sandbox->erase_number != 0 || number == 0)
		return error_set(err, ERR_INVALID, "sandbox %s is awake", sandbox->id);
	sandbox->erase_number = number;
	return 0;
}

static void erase_sandbox(struct spawner *spawner, const struct engine_request *request)
{
	const char *id = request->spec.id;
	struct spawner_sandbox *sandbox;
	struct error err;

	/* spec_is_id() reads up to the terminating zero, which the server may have left out. */
	if (memchr(id, '\0', sizeof request->spec.id) == NULL || !spec_is_id(id)) {
		(void)error_set(&err, ERR_INVALID, "id: not the id of a sandbox");
		replies_add_failure(&spawner->replies, REPLY_ERASED, request->number, &err);
		return;
	}
	sandbox = find_by_id(spawner, id);
	if (sandbox == NULL)
		spawner_erase(spawner, id, request->number);
	else if (defer_erase(sandbox, request->number, &err) < 0)
		replies_add_failure(&spawner->replies, REPLY_ERASED, request->number, &err);
}

/* --- all requests ---------------------------------------------------------------------- */

void spawner_handle_request(struct spawner *spawner, const struct engine_request *request)
{
	struct error err;

	switch (request->kind) {
	case REQUEST_START:
		start_sandbox(spawner, request);
		break;
	case REQUEST_KILL:
		kill_sandbox(spawner, request);
		break;
	case REQUEST_ERASE:
		erase_sandbox(spawner, request);
		break;
	case REQUEST_LIST:
		sandbox_dirs_list(spawner, request->number);
		break;
	case REQUEST_LIMIT:
		limit_sandbox(spawner, request);
		break;
	case REQUEST_CONNECT:
		replies_connect(&spawner->replies, request, spawner->connect, spawner->ctx);
		break;
	case REQUEST_ADD_PYTHON:
		(void)error_set(&err, ERR_UNSUPPORTED, "the native engine has no images");
		replies_add_failure(&spawner->replies, REPLY_PYTHON, request->number, &err);
		break;
	default:
		break; /* an unknown kind of request has no kind of reply */
	}
}
