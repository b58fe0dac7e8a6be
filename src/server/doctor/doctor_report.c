/* doctor_report.c - the layers that the engine reports about itself when it has started (see
 * internal.h). */
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/view.h"
#include "engine/native/ids/ids.h"
#include "server/doctor/internal.h"

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
static void set_from_reason(struct check *ret, enum check_status status, const char *what,
                            const char *why, const char *otherwise)
{
	const char *step = find_step(why);

	check_set(ret, status, "%s%s%.*s", what, why[0] != '\0' ? ": " : "",
	          (int)(step != NULL ? (size_t)(step - why) : strlen(why)), why);
	check_fix(ret, "%s", step != NULL ? step + 2 : otherwise);
}

/* Whether there is a report. If not, the check says so. */
static bool has_report(const struct trial *trial, struct check *ret)
{
	if (trial->is_ready)
		return true;
	check_set(ret, CHECK_OFF, "the engine does not start");
	check_fix(ret, "see 'sandbox'");
	return false;
}

void report_sandbox(const struct trial *trial, struct check *ret)
{
	if (trial->has_run) {
		check_set(ret, CHECK_ON, "tried: engine ready in %u ms, 'true' ran in %u ms",
		          trial->ready_ms, trial->run_ms);
		return;
	}
	check_set(ret, CHECK_OFF, "tried: %s%s",
	          trial->is_ready ? "" : "the engine does not start: ", trial->why.msg);
	check_fix(ret, "fix the other layers that are off, and try again");
}

/* --- users and groups --- */

/* Whether the helper is installed but has neither the setuid bit nor file capabilities: copying
 * files and some container images lose them. */
static bool is_powerless(const char *program)
{
	struct stat st;

	return stat(program, &st) == 0 && (st.st_mode & S_ISUID) == 0 &&
	       getxattr(program, "security.capability", NULL, 0) <= 0;
}

/* True: ids of sandboxes belong to users of the host, or may, and the check says so. */
static bool report_taken_ids(const struct trial *trial, struct check *ret)
{
	const struct spawner_report *report = &trial->report;

	if (report->taken_blocks != 0) {
		check_set(ret, CHECK_WEAKER, "%u sandboxes do not wake: %s", report->taken_blocks,
		          report->taken_why.msg);
		check_fix(ret, "take the ids back, or delete the sandboxes: belljar rm ID");
		return true;
	}
	if (report->unlisted[0] == '\0')
		return false;
	check_set(ret, CHECK_WEAKER,
	          "root: each sandbox has 65536 ids of its own, but users of '%s' "
	          "(/etc/nsswitch.conf) cannot be listed: one of them may have an id from "
	          "%d to %d too",
	          report->unlisted, IDS_HOST_FIRST, IDS_HOST_LAST);
	check_fix(ret, "reserve the ids that the service gives to users in /etc/subuid and "
	               "/etc/subgid: one line NAME:FIRST:COUNT each");
	return true;
}

void report_ids(const struct trial *trial, struct check *ret)
{
	static const char fix[] =
	        "sudo apt install uidmap; then sudo usermod "
	        "--add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\"";

	if (!trial->is_ready && geteuid() != 0 &&
	    (is_powerless("/usr/bin/newuidmap") || is_powerless("/usr/bin/newgidmap"))) {
		check_set(ret, CHECK_OFF,
		          "newuidmap or newgidmap is neither setuid nor has capabilities: %.200s",
		          trial->why.msg);
		check_fix(ret, "sudo chmod u+s /usr/bin/newuidmap /usr/bin/newgidmap");
		return;
	}
	if (!has_report(trial, ret))
		return;
	if (report_taken_ids(trial, ret))
		return;
	switch (trial->report.mode) {
	case USERNS_ROOT:
		check_set(ret, CHECK_ON, "root: each sandbox has 65536 ids of its own");
		return;
	case USERNS_MAPPED:
		check_set(ret, CHECK_ON, "mapped: each sandbox has subordinate ids of its own%s%s",
		          trial->report.mode_why[0] != '\0' ? "; " : "", trial->report.mode_why);
		return;
	case USERNS_SINGLE_ID:
	case USERNS_MODE_COUNT:
		break;
	}
	set_from_reason(ret, CHECK_WEAKER, "alone: agent and code share the user's own id",
	                trial->report.mode_why, "");
	if (strcmp(trial->report.mode_why, "--one-id") == 0)
		check_fix(ret, "do without --one-id");
	else
		check_fix(ret, "%s", fix);
}

/* In a user namespace with a single id setgroups() is denied, so the code keeps the caller's
 * supplementary groups. */
void report_groups(const struct trial *trial, struct check *ret)
{
	if (!has_report(trial, ret))
		return;
	if (trial->report.mode != USERNS_SINGLE_ID) {
		check_set(ret, CHECK_ON, "sandboxes have none of the caller's");
	} else if (trial->report.groups[0] != '\0') {
		check_set(ret, CHECK_WEAKER, "code keeps the caller's groups: %s",
		          trial->report.groups);
		check_fix(ret,
		          "get subordinate ids (see 'ids'), or run belljar as a user who is in "
		          "none of them");
	} else {
		check_set(ret, CHECK_ON, "the caller is in no group with special rights");
	}
}

void report_programs(const struct trial *trial, struct check *ret)
{
	if (!has_report(trial, ret))
		return;
	if (trial->report.usr_is_single_mount) {
		check_set(ret, CHECK_ON, "/usr, read-only and through an overlay");
		return;
	}
	check_set(ret, CHECK_WEAKER,
	          "a file system is mounted below /usr: sandboxes see it without an overlay, with "
	          "its sockets and locks");
	check_fix(ret, "findmnt --submounts /usr shows it: unmount it, or start belljar as root");
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
		return "do without --no-cgroups";
	if (report->mode == USERNS_ROOT)
		return "systemd-run --scope -p Delegate=yes -- belljar serve";
	return "systemd-run --user --scope -p Delegate=yes -- belljar serve; and, for groups that "
	       "stay after logging out: loginctl enable-linger";
}

void report_cgroups(const struct trial *trial, struct check *ret)
{
	static const char *const versions[] = {
		[CGROUP_NONE] = "none available",
		[CGROUP_V1] = "version 1",
		[CGROUP_V2] = "version 2",
	};
	const struct spawner_report *report = &trial->report;
	char limited[64] = "";
	size_t count = 0;

	if (!has_report(trial, ret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if ((report->cgroup_limits & limits[i].bit) != 0) {
			probe_list_add(limited, sizeof limited, limits[i].name);
			count++;
		}
	if (count == ARRAY_LEN(limits)) {
		check_set(ret, CHECK_ON, "%s, with: %s", versions[report->cgroups], limited);
		return;
	}
	set_from_reason(ret, count != 0 ? CHECK_WEAKER : CHECK_OFF, versions[report->cgroups],
	                report->cgroups_why, fix_for_cgroups(report));
}

/* Reports one limit. `instead` says what limits it without a cgroup; NULL: nothing does. */
static void report_limit(const struct trial *trial, unsigned bit, const char *instead,
                         struct check *ret)
{
	if (!has_report(trial, ret))
		return;
	if ((trial->report.cgroup_limits & bit) != 0) {
		check_set(ret, CHECK_ON, "enforced by the kernel, for all processes together");
		return;
	}
	check_set(ret, instead != NULL ? CHECK_WEAKER : CHECK_OFF, "%s",
	          instead != NULL ? instead : "not limited");
	check_fix(ret, "see 'cgroups'");
}

void report_memory(const struct trial *trial, struct check *ret)
{
	report_limit(
	        trial, CGROUP_HAS_MEMORY,
	        "each process is limited; the sum is checked four times a second, and a sandbox "
	        "over its limit is killed",
	        ret);
}

void report_sockets(const struct trial *trial, struct check *ret)
{
	const struct spawner_report *report = &trial->report;

	report_limit(trial, CGROUP_HAS_SOCKETS,
	             "the buffers are measured four times a second, and a sandbox over its memory "
	             "limit is killed",
	             ret);
	if ((report->cgroup_limits & (CGROUP_HAS_MEMORY | CGROUP_HAS_SOCKETS)) == CGROUP_HAS_MEMORY)
		check_fix(ret, report->cgroups == CGROUP_V2
		                       ? "boot without cgroup.memory=nosocket"
		                       : "boot with systemd.unified_cgroup_hierarchy=1");
}

/* The kernel has no limit on record locks. Only a cgroup can stop a sandbox while its locks are
 * counted. */
void report_locks(const struct trial *trial, struct check *ret)
{
	bool stops = (trial->report.cgroup_limits & CGROUP_HAS_MEMORY) != 0;

	if (!has_report(trial, ret))
		return;
	check_set(ret, stops ? CHECK_ON : CHECK_WEAKER, "a sandbox with more than %d is killed%s",
	          SPEC_LOCKS_MAX,
	          stops ? "" : "; it runs while they are counted, and could hide some");
	if (!stops)
		check_fix(ret, "see 'cgroups'");
}

void report_swap(const struct trial *trial, struct check *ret)
{
	report_limit(trial, CGROUP_HAS_SWAP, NULL, ret);
}

void report_cpu(const struct trial *trial, struct check *ret)
{
	report_limit(trial, CGROUP_HAS_CPU, NULL, ret);
}

void report_processes(const struct trial *trial, struct check *ret)
{
	report_limit(trial, CGROUP_HAS_PIDS,
	             "limited for each user id of a sandbox, not for the whole sandbox", ret);
}

void report_disk(const struct trial *trial, struct check *ret)
{
	char why[240];

	if (!has_report(trial, ret))
		return;
	if (trial->report.disk == DISK_QUOTA) {
		check_set(ret, CHECK_ON, "quota: the file system enforces the limit");
		return;
	}
	(void)utf8_escape(view_of(trial->report.disk_why), why, sizeof why);
	check_set(ret, CHECK_WEAKER,
	          "watched: a sandbox over its limit is killed a moment later%s%s",
	          why[0] != '\0' ? "; no quota: " : "", why);
	check_fix(ret, "%s",
	          trial->report.mode != USERNS_ROOT
	                  ? "run belljar as root, which can set quotas"
	                  : "put the state directory on ext4 or xfs mounted with prjquota; do "
	                    "without --no-quota");
}
