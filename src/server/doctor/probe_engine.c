#include "server/doctor/probe_engine.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/view.h"

/* The engine's reasons may end in what helps: "what is wrong: what to do". */
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

static void split_why(struct check *ret, enum check_status status, const char *what,
                      const char *why, const char *otherwise)
{
	const char *step = find_step(why);

	check_set(ret, status, "%s%s%.*s", what, why[0] != '\0' ? ": " : "",
	          (int)(step != NULL ? (size_t)(step - why) : strlen(why)), why);
	check_fix(ret, "%s", step != NULL ? step + 2 : otherwise);
}

/* True: there is a report to be read. */
static bool is_started(const struct trial *trial, struct check *ret)
{
	if (trial->is_ready)
		return true;
	check_set(ret, CHECK_OFF, "the engine does not start");
	check_fix(ret, "see 'sandbox'");
	return false;
}

void engine_sandbox(const struct trial *trial, struct check *ret)
{
	if (trial->has_run) {
		check_set(ret, CHECK_ON, "tried: engine ready in %u ms, 'true' ran in %u ms",
		          trial->ready_ms, trial->run_ms);
		return;
	}
	check_set(ret, CHECK_OFF, "tried: %s%s",
	          trial->is_ready ? "" : "the engine does not start: ", trial->why.msg);
	check_fix(ret, "mend what else belljar doctor lists as off, and try again");
}

/* --- who the code is --- */

/* A helper that is there and can do nothing: its rights were lost, by a copy or a container. */
static bool is_powerless(const char *program)
{
	struct stat st;

	return stat(program, &st) == 0 && (st.st_mode & S_ISUID) == 0 &&
	       getxattr(program, "security.capability", NULL, 0) <= 0;
}

void engine_ids(const struct trial *trial, struct check *ret)
{
	static const char fix[] = "sudo apt install uidmap; then "
	                          "sudo usermod --add-subuids 100000-165535 "
	                          "--add-subgids 100000-165535 ";
	const struct passwd *entry = getpwuid(getuid());

	if (!trial->is_ready && geteuid() != 0 &&
	    (is_powerless("/usr/bin/newuidmap") || is_powerless("/usr/bin/newgidmap"))) {
		check_set(ret, CHECK_OFF,
		          "newuidmap or newgidmap is neither setuid nor has "
		          "capabilities: %.200s",
		          trial->why.msg);
		check_fix(ret, "sudo chmod u+s /usr/bin/newuidmap /usr/bin/newgidmap");
		return;
	}
	if (!is_started(trial, ret))
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
	split_why(ret, CHECK_WEAKER, "alone: agent and code share the user's own id",
	          trial->report.mode_why, "");
	if (strcmp(trial->report.mode_why, "--one-id") == 0)
		check_fix(ret, "do without --one-id");
	else
		check_fix(ret, "%s%s", fix, entry != NULL ? entry->pw_name : "USER");
}

/* Members of these are as good as root, or read and write what is root's. */
static const char *const dangerous_groups[] = {
	"root", "disk",  "docker", "kmem", "kvm",   "libvirt",
	"lxd",  "incus", "shadow", "sudo", "wheel",
};

enum { GROUPS_LOOKED_AT = 256 };

static bool is_member(const char *name, const gid_t *gids, int count)
{
	/* cppcheck-suppress getgrnamCalled */
	const struct group *group = getgrnam(name);

	for (int i = 0; group != NULL && i < count; i++)
		if (gids[i] == group->gr_gid)
			return true;
	return false;
}

/* A user namespace with one id cannot drop supplementary groups. */
void engine_groups(const struct trial *trial, struct check *ret)
{
	gid_t gids[GROUPS_LOOKED_AT];
	int count = getgroups(GROUPS_LOOKED_AT, gids);
	char found[160] = "";

	if (!is_started(trial, ret))
		return;
	if (trial->report.mode != USERNS_SINGLE_ID) {
		check_set(ret, CHECK_ON, "sandboxes have none of the caller's");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(dangerous_groups); i++)
		if (is_member(dangerous_groups[i], gids, count))
			probe_list_add(found, sizeof found, dangerous_groups[i]);
	if (count < 0 || found[0] != '\0') {
		check_set(ret, CHECK_WEAKER, "code keeps the caller's groups: %s",
		          count < 0 ? "more than can be read" : found);
		check_fix(ret, "get subordinate ids (see 'ids'), or run belljar as a user "
		               "who is in none of them");
	} else
		check_set(ret, CHECK_ON, "the caller is in none that gives anything away");
}

void engine_programs(const struct trial *trial, struct check *ret)
{
	if (!is_started(trial, ret))
		return;
	if (trial->report.usr_is_single_mount) {
		check_set(ret, CHECK_ON, "/usr, read-only and through an overlay");
		return;
	}
	check_set(ret, CHECK_WEAKER,
	          "something is mounted below /usr: sandboxes see it as it is, its sockets and "
	          "locks too");
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

/* By then the server may be somebody else: the mode tells who started it. */
static const char *group_fix(const struct spawner_report *report)
{
	if (strcmp(report->groups_why, "--no-cgroups") == 0)
		return "do without --no-cgroups";
	if (report->mode == USERNS_ROOT)
		return "systemd-run --scope -p Delegate=yes -- belljar serve";
	return "systemd-run --user --scope -p Delegate=yes -- belljar serve; and, for groups that "
	       "stay after logging out: loginctl enable-linger";
}

void engine_cgroups(const struct trial *trial, struct check *ret)
{
	static const char *const versions[] = {
		[CGROUP_NONE] = "none to be had",
		[CGROUP_V1] = "version 1",
		[CGROUP_V2] = "version 2",
	};
	const struct spawner_report *report = &trial->report;
	char held[64] = "";
	size_t holding = 0;

	if (!is_started(trial, ret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if ((report->has & limits[i].bit) != 0) {
			probe_list_add(held, sizeof held, limits[i].name);
			holding++;
		}
	if (holding == ARRAY_LEN(limits)) {
		check_set(ret, CHECK_ON, "%s, with: %s", versions[report->groups], held);
		return;
	}
	split_why(ret, holding != 0 ? CHECK_WEAKER : CHECK_OFF, versions[report->groups],
	          report->groups_why, group_fix(report));
}

/* One limit: `instead` is what there is without the kernel's groups; NULL: nothing. */
static void read_limit(const struct trial *trial, unsigned bit, const char *instead,
                       struct check *ret)
{
	if (!is_started(trial, ret))
		return;
	if ((trial->report.has & bit) != 0) {
		check_set(ret, CHECK_ON, "kept by the kernel, for all processes together");
		return;
	}
	check_set(ret, instead != NULL ? CHECK_WEAKER : CHECK_OFF, "%s",
	          instead != NULL ? instead : "not limited");
	check_fix(ret, "see 'cgroups'");
}

void engine_memory(const struct trial *trial, struct check *ret)
{
	read_limit(trial, CGROUP_HAS_MEMORY,
	           "each process is limited; what all use is added up four times a second, and "
	           "who is over is ended",
	           ret);
}

void engine_swap(const struct trial *trial, struct check *ret)
{
	read_limit(trial, CGROUP_HAS_SWAP, NULL, ret);
}

void engine_cpu(const struct trial *trial, struct check *ret)
{
	read_limit(trial, CGROUP_HAS_CPU, NULL, ret);
}

void engine_processes(const struct trial *trial, struct check *ret)
{
	read_limit(trial, CGROUP_HAS_PIDS, "limited for each id of a sandbox, not for all of it",
	           ret);
}

void engine_disk(const struct trial *trial, struct check *ret)
{
	char why[240];

	if (!is_started(trial, ret))
		return;
	if (trial->report.disk == DISK_QUOTA) {
		check_set(ret, CHECK_ON, "quota: the file system refuses what is too much");
		return;
	}
	(void)utf8_escape(view_of(trial->report.disk_why), why, sizeof why);
	check_set(ret, CHECK_WEAKER, "watched: who writes too much is ended, a moment later%s%s",
	          why[0] != '\0' ? "; no quota: " : "", why);
	check_fix(ret, "%s",
	          trial->report.mode != USERNS_ROOT
	                  ? "run belljar as root, which can set quotas"
	                  : "put the state directory on ext4 or xfs mounted with prjquota; do "
	                    "without --no-quota");
}
