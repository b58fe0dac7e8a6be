/* quota.c - what one owner may have at a time. */
#include <string.h>

#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/internal.h"

static bool is_owners(const struct sandbox *sandbox, const char *owner)
{
	return strcmp(sandbox->row.owner, owner) == 0;
}

static bool may_sleep(const struct sandbox *sandbox, const char *owner)
{
	return is_owners(sandbox, owner) && sandbox->phase == PHASE_READY && sandbox->holds == 0 &&
	       !sandbox->row.temporary;
}

static struct sandbox *idlest(struct manager *manager, const char *owner)
{
	struct sandbox *oldest = NULL;

	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (may_sleep(sandbox, owner) &&
		    (oldest == NULL || sandbox->active_ms < oldest->active_ms))
			oldest = sandbox;
	}
	return oldest;
}

/* Those that have been idle longest make room, if that is enough; else none of them. */
static bool make_room(struct manager *manager, const char *owner, uint64_t wanted)
{
	uint64_t could = 0, done = 0;

	LIST_EACH (node, &manager->sandboxes) {
		const struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (may_sleep(sandbox, owner))
			could += sandbox->row.spec.limits.memory;
	}
	while (could >= wanted && done < wanted) {
		struct sandbox *sandbox = idlest(manager, owner);

		done += sandbox->row.spec.limits.memory;
		sandbox_sleep(sandbox, NULL, NULL);
	}
	return could >= wanted;
}

int quota_admit_awake(struct manager *manager, const char *owner, const struct spec *spec,
                      struct error *err)
{
	uint64_t most = manager->config.quota.memory;
	struct registry_sums sums;

	if (most == 0)
		return 0;
	if (registry_sum(manager->store, owner, &sums, err) < 0)
		return -1;
	if (sums.memory + spec->limits.memory <= most ||
	    (spec->limits.memory <= most &&
	     make_room(manager, owner, sums.memory + spec->limits.memory - most)))
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "owner-memory: sandboxes of %llu MiB are awake and this one has %llu MiB, "
	                 "at most %llu MiB may be: wait until one is idle, delete one, or make "
	                 "smaller ones",
	                 (unsigned long long)(sums.memory >> 20),
	                 (unsigned long long)(spec->limits.memory >> 20),
	                 (unsigned long long)(most >> 20));
}

int quota_admit_new(struct manager *manager, const char *owner, const struct spec *spec,
                    struct error *err)
{
	const struct quota *quota = &manager->config.quota;
	struct registry_sums sums;

	if (quota->sandboxes == 0 && quota->disk == 0)
		return quota_admit_awake(manager, owner, spec, err);
	if (registry_sum(manager->store, owner, &sums, err) < 0)
		return -1;
	if (quota->sandboxes != 0 && sums.sandboxes >= quota->sandboxes)
		return error_set(
		        err, ERR_LIMIT,
		        "owner-sandboxes: there are %llu sandboxes, and no more are allowed: "
		        "delete one that is no longer needed",
		        (unsigned long long)sums.sandboxes);
	if (quota->disk != 0 && sums.disk + spec->limits.disk > quota->disk)
		return error_set(
		        err, ERR_LIMIT,
		        "owner-disk: the sandboxes there are may write %llu MiB and this one "
		        "%llu MiB, at most %llu MiB are allowed together: delete one, or ask "
		        "for a smaller disk",
		        (unsigned long long)(sums.disk >> 20),
		        (unsigned long long)(spec->limits.disk >> 20),
		        (unsigned long long)(quota->disk >> 20));
	return quota_admit_awake(manager, owner, spec, err);
}

int sandbox_admit_process(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	uint64_t most = manager->config.quota.processes;
	uint64_t running = 0;

	if (most == 0)
		return 0;
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *other = container_of(node, struct sandbox, node);

		if (is_owners(other, sandbox->row.owner))
			running += process_count_running(other);
	}
	if (running < most)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "owner-processes: %llu are running, and no more are allowed: wait for one "
	                 "to end, or stop one with process_stop",
	                 (unsigned long long)running);
}

int manager_find_process(struct manager *manager, const char *owner, const char *id,
                         struct sandbox **ret_sandbox, struct process **ret, struct error *err)
{
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (is_owners(sandbox, owner) && process_find(sandbox, id, ret, err) == 0) {
			*ret_sandbox = sandbox;
			return 0;
		}
	}
	return error_set(err, ERR_NOT_FOUND,
	                 "process: there is no '%.40s'; sandbox_info lists the processes of a "
	                 "sandbox. Those of a sandbox that slept or was reset are gone",
	                 id);
}
