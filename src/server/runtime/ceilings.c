#include "server/runtime/ceilings.h"

#include "base/log.h"
#include "base/num.h"
#include "server/options/options.h"

/* The limits of an owner's sandboxes may add up to this many times what the machine has: most
 * sandboxes use a small part of their limits, and their parent cgroup limits what all of them use
 * together (memory_together). */
enum { OVERCOMMIT = 4 };

/* The index of a limit's row in spec_limits. */
#define ROW(name) (offsetof(struct spec_limits, name) / sizeof(uint64_t))

/* The part of the machine that one sandbox may have if the operator sets no ceiling; the rest is
 * left to the host. A limit without a row here has no part: a sandbox may have all of it. */
static const struct share {
	unsigned part, of;
} shares[sizeof(struct spec_limits) / sizeof(uint64_t)] = {
	[ROW(memory)] = { 3, 4 },
	[ROW(disk)] = { 3, 4 },
	[ROW(inodes)] = { 3, 4 },
	[ROW(file_size)] = { 3, 4 },
};

/* The share of row `i`. Divides first, because an amount that is not known is UINT64_MAX. */
static uint64_t share_of(size_t i, uint64_t amount)
{
	return shares[i].of == 0 ? amount : amount / shares[i].of * shares[i].part;
}

/* Rounds bytes to whole MiB, the unit in which they are shown, and brings the amount into the range
 * of row `i`: the machine may have less than the least that a sandbox works with. */
static uint64_t round_amount(size_t i, uint64_t amount)
{
	if (spec_limits[i].unit == SPEC_BYTES)
		amount -= amount % SPEC_MIB(1);
	return num_max(num_min(amount, spec_limits[i].max), spec_limits[i].min);
}

static bool is_given(const struct options *options, size_t id)
{
	return options->sources[id] != OPTION_FROM_TABLE;
}

/* Lowers a value that the operator gave and that the machine does not have. */
static uint64_t lower_given(size_t limit, enum option_id id, uint64_t value, uint64_t has)
{
	char shown[SPEC_VALUE_SIZE], amount[SPEC_VALUE_SIZE];

	if (value <= has)
		return value;
	log_warning("%s: %s is more than this machine has, so it is lowered to %s",
	            option_specs[id].name, spec_limit_text(limit, value, shown),
	            spec_limit_text(limit, has, amount));
	return has;
}

static void find_limit(const struct options *options, size_t i, uint64_t amount,
                       struct ceilings *ret)
{
	const enum option_id id = (enum option_id)(OPTION_MEMORY + i);
	const enum option_id max_id = (enum option_id)(OPTION_MEMORY_MAX + i);
	uint64_t has = round_amount(i, amount);
	uint64_t initial = spec_limits_get(&options->limits, i);
	uint64_t max = round_amount(i, share_of(i, amount));

	if (is_given(options, id))
		max = initial = lower_given(i, id, initial, has);
	if (is_given(options, max_id))
		max = lower_given(i, max_id, spec_limits_get(&options->limits_max, i), has);
	if (initial > max) {
		char shown[SPEC_VALUE_SIZE];

		log_info("%s: the default is %s on this machine", option_specs[id].name,
		         spec_limit_text(i, max, shown));
		initial = max;
	}
	if (options->verb != FOR_SERVE)
		max = has;
	spec_limits_set(&ret->initial, i, initial);
	spec_limits_set(&ret->max, i, max);
}

/* Returns 0, which is no quota, if the amount is not known. */
static uint64_t multiply_known(uint64_t amount, uint64_t by)
{
	return amount == UINT64_MAX ? 0 : amount * by;
}

/* The cgroup over all sandboxes leaves the host its share, unless the operator allows a single
 * sandbox more than that. Commands have no quotas: they are the operator's own, and have no option
 * to change a quota. */
static void find_quotas(const struct options *options, const struct spec_limits *machine,
                        struct ceilings *ret)
{
	uint64_t has = machine->memory, given = options->owner.memory;

	ret->memory_together = num_max(share_of(ROW(memory), has), options->verb == FOR_SERVE
	                                                                   ? ret->max.memory
	                                                                   : ret->initial.memory);
	if (is_given(options, OPTION_OWNER_MEMORY) && given != 0)
		ret->memory_together = num_min(ret->memory_together, given);
	ret->owner_memory = ret->owner_memory_without_cgroup = given;
	ret->owner_disk = options->owner.disk;
	if (options->verb != FOR_SERVE)
		return;
	if (!is_given(options, OPTION_OWNER_MEMORY)) {
		ret->owner_memory = multiply_known(has, OVERCOMMIT);
		ret->owner_memory_without_cgroup = multiply_known(has, 1);
	}
	if (!is_given(options, OPTION_OWNER_DISK))
		ret->owner_disk = multiply_known(machine->disk, OVERCOMMIT);
}

void ceilings_find(const struct options *options, const struct spec_limits *machine,
                   struct ceilings *ret)
{
	for (size_t i = 0; i < spec_limit_count; i++)
		find_limit(options, i, spec_limits_get(machine, i), ret);
	find_quotas(options, machine, ret);
}
