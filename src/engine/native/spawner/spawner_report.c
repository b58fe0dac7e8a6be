/* spawner_report.c - the layers that native sandboxes have on this machine, from what the spawner
 * has found (see internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/view.h"
#include "engine/native/spawner/internal.h"

/* The engine's reasons may end in a step that helps: "what is wrong: what to do". Returns where
 * that step begins. */
static const char *find_step(const char *why)
{
	static const char *const steps[] = {
		"start ", "boot ", "give ", "mount -t", "add ", "sudo "
	};

	for (const char *p = why; (p = strstr(p, ": ")) != NULL; p += 2)
		for (size_t i = 0; i < ARRAY_LEN(steps); i++)
			if (strncmp(p + 2, steps[i], strlen(steps[i])) == 0)
				return p;
	return NULL;
}

/* Splits a reason into the detail and the fix. */
static void set_from_reason(struct engine_layer *ret, enum layer_status status, const char *what,
                            const char *why, const char *otherwise)
{
	const char *step = find_step(why);

	layer_set(ret, status, "%s%s%.*s", what, why[0] != '\0' ? ": " : "",
	          (int)(step != NULL ? (size_t)(step - why) : strlen(why)), why);
	layer_fix(ret, "%s", step != NULL ? step + 2 : otherwise);
}

/* --- users and groups --- */

/* True: ids of sandboxes belong to users of the host, or may, and the check says so. */
static bool report_taken_ids(const struct spawner_report *report, struct engine_layer *ret)
{
	if (report->taken_blocks != 0) {
		layer_set(ret, LAYER_WEAKER, "%u sandboxes do not wake: %s", report->taken_blocks,
		          report->taken_why.msg);
		layer_fix(ret, "take the ids back, or delete the sandboxes: belljar rm ID");
		return true;
	}
	if (report->unlisted[0] == '\0')
		return false;
	layer_set(ret, LAYER_WEAKER,
	          "root: each sandbox has 65536 ids of its own, but users of '%s' "
	          "(/etc/nsswitch.conf) cannot be listed: one of them may have an id from "
	          "%d to %d too",
	          report->unlisted, IDS_HOST_FIRST, IDS_HOST_LAST);
	layer_fix(ret, "reserve the ids that the service gives to users in /etc/subuid and "
	               "/etc/subgid: one line NAME:FIRST:COUNT each");
	return true;
}

static void report_ids(const struct spawner_report *report, struct engine_layer *ret)
{
	static const char fix[] =
	        "sudo apt install uidmap; then sudo usermod "
	        "--add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\"";

	if (report_taken_ids(report, ret))
		return;
	switch (report->mode) {
	case USERNS_ROOT:
		layer_set(ret, LAYER_ON, "root: each sandbox has 65536 ids of its own");
		return;
	case USERNS_MAPPED:
		layer_set(ret, LAYER_ON, "mapped: each sandbox has subordinate ids of its own%s%s",
		          report->mode_why[0] != '\0' ? "; " : "", report->mode_why);
		return;
	case USERNS_SINGLE_ID:
	case USERNS_MODE_COUNT:
		break;
	}
	set_from_reason(ret, LAYER_WEAKER, "alone: agent and code share the user's own id",
	                report->mode_why, "");
	if (strcmp(report->mode_why, "--one-id") == 0)
		layer_fix(ret, "start belljar without --one-id");
	else
		layer_fix(ret, "%s", fix);
}

/* In a user namespace with a single id setgroups() is denied, so the code keeps the caller's
 * supplementary groups. */
static void report_groups(const struct spawner_report *report, struct engine_layer *ret)
{
	if (report->mode != USERNS_SINGLE_ID) {
		layer_set(ret, LAYER_ON, "sandboxes have none of the caller's");
	} else if (report->groups[0] != '\0') {
		layer_set(ret, LAYER_WEAKER, "code keeps the caller's groups: %s", report->groups);
		layer_fix(ret,
		          "get subordinate ids (see 'ids'), or run belljar as a user who is in "
		          "none of them");
	} else {
		layer_set(ret, LAYER_ON, "the caller is in no group with special rights");
	}
}

static void report_programs(const struct spawner_report *report, struct engine_layer *ret)
{
	if (report->usr_is_single_mount) {
		layer_set(ret, LAYER_ON, "/usr, read-only and through an overlay");
		return;
	}
	layer_set(ret, LAYER_WEAKER,
	          "a file system is mounted below /usr: sandboxes see it without an overlay, with "
	          "its sockets and locks");
	layer_fix(ret, "findmnt --submounts /usr shows it: unmount it, or start belljar as root");
}

/* --- limits --- */

static const struct limit {
	unsigned bit;
	const char *name;
} limits[] = {
	{ CGROUP_HAS_MEMORY, "memory" },
	{ CGROUP_HAS_SWAP, "swap" },
	{ CGROUP_HAS_CPU, "cpu" },
	{ CGROUP_HAS_PIDS, "processes" },
};

/* The server has changed its user id by now, so geteuid() does not say whether root started it; the
 * mode does. */
static const char *fix_for_cgroups(const struct spawner_report *report)
{
	if (strcmp(report->cgroups_why, "--no-cgroups") == 0)
		return "start belljar without --no-cgroups";
	if (report->mode == USERNS_ROOT)
		return "systemd-run --scope -p Delegate=yes -- belljar serve";
	return "systemd-run --user --scope -p Delegate=yes -- belljar serve; and, for groups that "
	       "stay after logging out: loginctl enable-linger";
}

/* Appends to a list with commas, as far as there is room. */
static void add_word(char *list, size_t size, const char *word)
{
	size_t used = strlen(list);

	(void)snprintf(list + used, size - used, "%s%s", used != 0 ? ", " : "", word);
}

static void report_cgroups(const struct spawner_report *report, struct engine_layer *ret)
{
	static const char *const versions[] = {
		[CGROUP_NONE] = "none available",
		[CGROUP_V1] = "version 1",
		[CGROUP_V2] = "version 2",
	};
	char limited[64] = "";
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if ((report->cgroup_limits & limits[i].bit) != 0) {
			add_word(limited, sizeof limited, limits[i].name);
			count++;
		}
	if (count == ARRAY_LEN(limits)) {
		layer_set(ret, LAYER_ON, "%s, with: %s", versions[report->cgroups], limited);
		return;
	}
	set_from_reason(ret, count != 0 ? LAYER_WEAKER : LAYER_OFF, versions[report->cgroups],
	                report->cgroups_why, fix_for_cgroups(report));
}

/* Reports one limit. `instead` says what limits it without a cgroup; NULL: nothing does. */
static void report_limit(const struct spawner_report *report, unsigned bit, const char *instead,
                         struct engine_layer *ret)
{
	if ((report->cgroup_limits & bit) != 0) {
		layer_set(ret, LAYER_ON, "enforced by the kernel, for all processes together");
		return;
	}
	layer_set(ret, instead != NULL ? LAYER_WEAKER : LAYER_OFF, "%s",
	          instead != NULL ? instead : "not limited");
	layer_fix(ret, "see 'cgroups'");
}

static void report_memory(const struct spawner_report *report, struct engine_layer *ret)
{
	report_limit(
	        report, CGROUP_HAS_MEMORY,
	        "each process is limited; the sum is checked four times a second, and a sandbox "
	        "over its limit is killed",
	        ret);
}

static void report_sockets(const struct spawner_report *report, struct engine_layer *ret)
{
	report_limit(report, CGROUP_HAS_SOCKETS,
	             "the buffers are measured four times a second, and a sandbox over its memory "
	             "limit is killed",
	             ret);
	if ((report->cgroup_limits & (CGROUP_HAS_MEMORY | CGROUP_HAS_SOCKETS)) == CGROUP_HAS_MEMORY)
		layer_fix(ret, report->cgroups == CGROUP_V2
		                       ? "boot without cgroup.memory=nosocket"
		                       : "boot with systemd.unified_cgroup_hierarchy=1");
}

/* The kernel has no limit on record locks. Only a cgroup can stop a sandbox while its locks are
 * counted. */
static void report_locks(const struct spawner_report *report, struct engine_layer *ret)
{
	bool stops = (report->cgroup_limits & CGROUP_HAS_MEMORY) != 0;

	layer_set(ret, stops ? LAYER_ON : LAYER_WEAKER, "a sandbox with more than %d is killed%s",
	          SPEC_LOCKS_MAX,
	          stops ? "" : "; it runs while they are counted, and could hide some");
	if (!stops)
		layer_fix(ret, "see 'cgroups'");
}

static void report_swap(const struct spawner_report *report, struct engine_layer *ret)
{
	report_limit(report, CGROUP_HAS_SWAP, NULL, ret);
}

static void report_cpu(const struct spawner_report *report, struct engine_layer *ret)
{
	report_limit(report, CGROUP_HAS_CPU, NULL, ret);
}

static void report_processes(const struct spawner_report *report, struct engine_layer *ret)
{
	report_limit(report, CGROUP_HAS_PIDS,
	             "limited for each user id of a sandbox, not for the whole sandbox", ret);
}

static void report_disk(const struct spawner_report *report, struct engine_layer *ret)
{
	char why[240];

	if (report->disk == DISK_QUOTA) {
		layer_set(ret, LAYER_ON, "quota: the file system enforces the limit");
		return;
	}
	if (report->disk == DISK_IMAGE) {
		layer_set(ret, LAYER_ON, "image: each sandbox has a file system of its own");
		return;
	}
	(void)utf8_escape(view_of(report->disk_why), why, sizeof why);
	layer_set(ret, LAYER_WEAKER,
	          "watched: the limit is met a moment late, then writes fail%s%s",
	          why[0] != '\0' ? "; no quota: " : "", why);
	layer_fix(ret, "%s",
	          report->mode != USERNS_ROOT
	                  ? "run belljar as root, which can set quotas"
	                  : "install e2fsprogs and allow loop devices, or put the state directory "
	                    "on ext4 or xfs mounted with prjquota; start belljar without "
	                    "--no-quota");
}

/* --- all layers --- */

/* The layers that the spawner checks for every sandbox: it creates no sandbox without them. */
static const struct {
	const char *name, *detail;
} always[] = {
	{ "namespaces",
	  "its own users, processes, files, network, host name, semaphores and groups" },
	{ "network", "its own, shared with no other sandbox" },
	{ "seccomp", "system calls are filtered" },
	{ "capabilities", "none" },
	{ "no-new-privileges", "setuid programs give no rights" },
};

static const struct {
	const char *name;
	void (*fill)(const struct spawner_report *found, struct engine_layer *ret);
} reported[] = {
	{ "ids", report_ids },           { "groups", report_groups },
	{ "programs", report_programs }, { "cgroups", report_cgroups },
	{ "memory", report_memory },     { "sockets", report_sockets },
	{ "locks", report_locks },       { "swap", report_swap },
	{ "cpu", report_cpu },           { "processes", report_processes },
	{ "disk", report_disk },
};

void spawner_report_layers(const struct spawner_report *found, struct engine_report *ret)
{
	*ret = (struct engine_report){ .limits_memory = (found->cgroup_limits &
		                                         CGROUP_HAS_MEMORY) != 0 };
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		layer_set(report_add(ret, always[i].name), LAYER_ON, "%s", always[i].detail);
	for (size_t i = 0; i < ARRAY_LEN(reported); i++)
		reported[i].fill(found, report_add(ret, reported[i].name));
}
