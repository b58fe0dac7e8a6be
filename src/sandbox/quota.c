/* quota.c - limits on what one owner may have at a time (struct quota).
 *
 * Sandboxes, disk and memory are summed over the registry's rows, so they hold over all servers
 * that share the database. Processes are counted in this server only. */
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "sandbox/internal.h"

void manager_set_memory_quota(struct manager *manager, uint64_t bytes)
{
	manager->config.quota.memory = bytes;
}

static bool belongs_to(const struct sandbox *sandbox, const char *owner)
{
	return strcmp(sandbox->row.owner, owner) == 0;
}

static bool may_sleep(const struct sandbox *sandbox, const char *owner)
{
	return belongs_to(sandbox, owner) && sandbox->phase == PHASE_READY && sandbox->holds == 0 &&
	       !sandbox->row.temporary && !sandbox->is_guest;
}

static struct sandbox *find_idlest(struct manager *manager, const char *owner)
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

/* Puts the sandboxes that have been idle longest to sleep until `wanted` bytes are free. If all of
 * them together would not be enough, none is put to sleep. */
static bool free_memory(struct manager *manager, const char *owner, uint64_t wanted)
{
	uint64_t available = 0, freed = 0;

	LIST_EACH (node, &manager->sandboxes) {
		const struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (may_sleep(sandbox, owner))
			available += sandbox->row.spec.limits.memory;
	}
	while (available >= wanted && freed < wanted) {
		struct sandbox *sandbox = find_idlest(manager, owner);

		freed += sandbox->row.spec.limits.memory;
		sandbox_sleep(sandbox, NULL, NULL);
	}
	return available >= wanted;
}

int quota_admit_awake(struct manager *manager, const char *owner, const struct spec *spec,
                      struct error *err)
{
	uint64_t max = manager->config.quota.memory;
	struct registry_sums sums;

	if (max == 0)
		return 0;
	if (registry_sum(manager->store, owner, &sums, err) < 0)
		return -1;
	if (sums.memory + spec->limits.memory <= max ||
	    (spec->limits.memory <= max &&
	     free_memory(manager, owner, sums.memory + spec->limits.memory - max)))
		return 0;
	return error_set(
	        err, ERR_LIMIT,
	        "owner-memory: the sandboxes awake may use %llu MiB and this one %llu MiB, "
	        "at most %llu MiB are allowed together: wait until one is idle, delete one, "
	        "create smaller ones, or have the operator raise --owner-memory",
	        (unsigned long long)(sums.memory >> 20),
	        (unsigned long long)(spec->limits.memory >> 20), (unsigned long long)(max >> 20));
}

static int check_disk(const struct quota *quota, uint64_t used, uint64_t more, struct error *err)
{
	if (quota->disk == 0 || used + more <= quota->disk)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "owner-disk: the existing sandboxes may write %llu MiB and this one %llu "
	                 "MiB, at most %llu MiB are allowed together: delete one, ask for a "
	                 "smaller disk, or have the operator raise --owner-disk",
	                 (unsigned long long)(used >> 20), (unsigned long long)(more >> 20),
	                 (unsigned long long)(quota->disk >> 20));
}

int quota_admit_disk(struct manager *manager, const char *owner, uint64_t before, uint64_t bytes,
                     struct error *err)
{
	struct registry_sums sums;

	if (bytes <= before || manager->config.quota.disk == 0)
		return 0;
	if (registry_sum(manager->store, owner, &sums, err) < 0)
		return -1;
	return check_disk(&manager->config.quota, sums.disk - num_min(sums.disk, before), bytes,
	                  err);
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
	if (check_disk(quota, sums.disk, spec->limits.disk, err) < 0)
		return -1;
	return quota_admit_awake(manager, owner, spec, err);
}

int sandbox_admit_process(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	uint64_t max = manager->config.quota.processes;
	uint64_t running = 0;

	if (max == 0)
		return 0;
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *other = container_of(node, struct sandbox, node);

		if (belongs_to(other, sandbox->row.owner))
			running += process_count_running(other);
	}
	if (running < max)
		return 0;
	return error_set(
	        err, ERR_LIMIT,
	        "owner-processes: %llu processes are running, and no more are allowed: wait "
	        "for one to end%s",
	        (unsigned long long)running,
	        sandbox_reader(sandbox) == SANDBOX_FOR_TOOLS ? ", or stop one with process_stop"
	                                                     : "");
}

int manager_find_process(struct manager *manager, const char *owner, const char *id,
                         struct sandbox **ret_sandbox, struct process **ret, struct error *err)
{
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (belongs_to(sandbox, owner) && process_find(sandbox, id, ret, err) == 0) {
			*ret_sandbox = sandbox;
			return 0;
		}
	}
	return error_set(err, ERR_NOT_FOUND,
	                 "process: there is no '%.40s'; sandbox_info lists the processes of a "
	                 "sandbox. Processes end when their sandbox sleeps or is reset",
	                 id);
}
