/* The layers that the spawner reports, by what it has found. */
#include "engine/native/spawner/internal.h"
#include "unit/test.h"

enum {
	ALL = CGROUP_HAS_MEMORY | CGROUP_HAS_SWAP | CGROUP_HAS_CPU | CGROUP_HAS_PIDS,
};

static void findings_become_layers(void **state)
{
	static const struct {
		const char *layer;
		struct spawner_report found;
		enum layer_status status;
		const char *detail, *fix;
	} cases[] = {
		{ "ids",
		  { .mode = USERNS_ROOT },
		  LAYER_ON,
		  "root: each sandbox has 65536 ids of its own",
		  "" },
		{ "ids",
		  { .mode = USERNS_ROOT,
		    .taken_blocks = 2,
		    .taken_why = { .msg = "sandbox sb_x has the ids 1-2" } },
		  LAYER_WEAKER,
		  "2 sandboxes do not wake: sandbox sb_x has the ids 1-2",
		  "take the ids back, or delete the sandboxes: belljar rm ID" },
		{ "ids",
		  { .mode = USERNS_ROOT, .unlisted = "sss" },
		  LAYER_WEAKER,
		  "root: each sandbox has 65536 ids of its own, but users of 'sss' "
		  "(/etc/nsswitch.conf) cannot be listed: one of them may have an id from 524288 to "
		  "1879048191 too",
		  "reserve the ids that the service gives to users in /etc/subuid and /etc/subgid: "
		  "one line NAME:FIRST:COUNT each" },
		{ "ids",
		  { .mode = USERNS_MAPPED },
		  LAYER_ON,
		  "mapped: each sandbox has subordinate ids of its own",
		  "" },
		{ "ids",
		  { .mode = USERNS_SINGLE_ID, .mode_why = "--one-id" },
		  LAYER_WEAKER,
		  "alone: agent and code share the user's own id: --one-id",
		  "start belljar without --one-id" },
		{ "groups",
		  { .mode = USERNS_MAPPED },
		  LAYER_ON,
		  "sandboxes have none of the caller's",
		  "" },
		{ "groups",
		  { .mode = USERNS_SINGLE_ID },
		  LAYER_ON,
		  "the caller is in no group with special rights",
		  "" },
		{ "groups",
		  { .mode = USERNS_SINGLE_ID, .groups = "docker, sudo" },
		  LAYER_WEAKER,
		  "code keeps the caller's groups: docker, sudo",
		  "get subordinate ids (see 'ids'), or run belljar as a user who is in none of "
		  "them" },
		{ "cgroups",
		  { .cgroups = CGROUP_V2, .cgroup_limits = ALL },
		  LAYER_ON,
		  "version 2, with: memory, swap, cpu, processes",
		  "" },
		{ "cgroups",
		  { .cgroups = CGROUP_V1,
		    .cgroup_limits = ALL,
		    .cgroups_why = "version 1: boot with x" },
		  LAYER_ON,
		  "version 1, with: memory, swap, cpu, processes",
		  "" },
		{ "cgroups",
		  { .cgroups = CGROUP_V2,
		    .cgroup_limits = CGROUP_HAS_PIDS,
		    .cgroups_why =
		            "no limit on memory: the kernel has no memory controller: boot with "
		            "cgroup_enable=memory" },
		  LAYER_WEAKER,
		  "version 2: no limit on memory: the kernel has no memory controller",
		  "boot with cgroup_enable=memory" },
		/* An error text of the system behind the colon is not a step to take. */
		{ "cgroups",
		  { .mode = USERNS_ROOT,
		    .cgroups_why = "controllers cannot be switched on: Device or resource busy" },
		  LAYER_OFF,
		  "none available: controllers cannot be switched on: Device or resource busy",
		  "systemd-run --scope -p Delegate=yes -- belljar serve" },
		{ "cgroups",
		  { .cgroups_why = "--no-cgroups" },
		  LAYER_OFF,
		  "none available: --no-cgroups",
		  "start belljar without --no-cgroups" },
		{ "memory",
		  { .cgroup_limits = CGROUP_HAS_MEMORY },
		  LAYER_ON,
		  "enforced by the kernel, for all processes together",
		  "" },
		{ "memory",
		  { .cgroup_limits = 0 },
		  LAYER_WEAKER,
		  "each process is limited; the sum is checked four times a second, and a sandbox "
		  "over its limit is killed",
		  "see 'cgroups'" },
		{ "sockets",
		  { .cgroup_limits = CGROUP_HAS_MEMORY | CGROUP_HAS_SOCKETS },
		  LAYER_ON,
		  "enforced by the kernel, for all processes together",
		  "" },
		{ "sockets",
		  { .cgroup_limits = 0 },
		  LAYER_WEAKER,
		  "the buffers are measured four times a second, and a sandbox over its memory "
		  "limit is killed",
		  "see 'cgroups'" },
		{ "sockets",
		  { .cgroups = CGROUP_V2, .cgroup_limits = CGROUP_HAS_MEMORY },
		  LAYER_WEAKER,
		  "the buffers are measured four times a second, and a sandbox over its memory "
		  "limit is killed",
		  "boot without cgroup.memory=nosocket" },
		{ "sockets",
		  { .cgroups = CGROUP_V1, .cgroup_limits = CGROUP_HAS_MEMORY },
		  LAYER_WEAKER,
		  "the buffers are measured four times a second, and a sandbox over its memory "
		  "limit is killed",
		  "boot with systemd.unified_cgroup_hierarchy=1" },
		{ "locks",
		  { .cgroup_limits = CGROUP_HAS_MEMORY },
		  LAYER_ON,
		  "a sandbox with more than 100000 is killed",
		  "" },
		{ "locks",
		  { .cgroup_limits = 0 },
		  LAYER_WEAKER,
		  "a sandbox with more than 100000 is killed; it runs while they are counted, and "
		  "could hide some",
		  "see 'cgroups'" },
		{ "swap",
		  { .cgroup_limits = CGROUP_HAS_MEMORY },
		  LAYER_OFF,
		  "not limited",
		  "see 'cgroups'" },
		{ "cpu",
		  { .cgroup_limits = CGROUP_HAS_CPU },
		  LAYER_ON,
		  "enforced by the kernel, for all processes together",
		  "" },
		{ "processes",
		  { .cgroup_limits = 0 },
		  LAYER_WEAKER,
		  "limited for each user id of a sandbox, not for the whole sandbox",
		  "see 'cgroups'" },
		{ "disk",
		  { .disk = DISK_QUOTA },
		  LAYER_ON,
		  "quota: the file system enforces the limit",
		  "" },
		{ "disk",
		  { .mode = USERNS_SINGLE_ID, .disk = DISK_WATCHED, .disk_why = "only root can" },
		  LAYER_WEAKER,
		  "watched: the limit is met a moment late, then writes fail; no quota: only root "
		  "can",
		  "run belljar as root, which can set quotas" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		static struct engine_report report;
		const struct engine_layer *layer;

		spawner_report_layers(&cases[i].found, &report);
		layer = report_find(&report, cases[i].layer);
		assert_non_null(layer);
		assert_string_equal(layer->detail, cases[i].detail);
		assert_string_equal(layer->fix, cases[i].fix);
		assert_int_equal(layer->status, cases[i].status);
		assert_int_equal(report.limits_memory,
		                 (cases[i].found.cgroup_limits & CGROUP_HAS_MEMORY) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_become_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
