#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/view.h"
#include "server/probe.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static const char *const wanted[] = { "cpu", "memory", "pids" };

static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Our own group's directory, from the "0::/path" line. */
static bool own_group(char *out, size_t size)
{
	char line[PROBE_PATH_SIZE];
	bool found = false;
	FILE *file = fopen("/proc/self/cgroup", "re");

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::/", 4) == 0;
	}
	(void)fclose(file);
	if (found)
		found = (size_t)snprintf(out, size, "%s%s", CGROUP_ROOT, line + 3) < size;
	return found;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; (p = strstr(p, word)) != NULL; p += len)
		if ((p == words || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	return false;
}

static void list_missing(const char *controllers, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (!has_word(controllers, wanted[i]))
			used += (size_t)snprintf(out + used, size - used, "%s%s",
			                         used != 0 ? ", " : "", wanted[i]);
}

static bool is_writable(const char *group)
{
	char procs[PROBE_PATH_SIZE + 16];

	(void)snprintf(procs, sizeof procs, "%s/cgroup.procs", group);
	return access(group, W_OK) == 0 && access(procs, W_OK) == 0;
}

static void probe_version_2(struct check *ret)
{
	char group[PROBE_PATH_SIZE], file[PROBE_PATH_SIZE + 32];
	char controllers[256], missing[64], shown[128];

	if (!own_group(group, sizeof group) || access(group, F_OK) < 0)
		(void)snprintf(group, sizeof group, "%s", CGROUP_ROOT);
	(void)snprintf(file, sizeof file, "%s/cgroup.controllers", group);
	(void)probe_read_line(file, controllers, sizeof controllers);
	list_missing(controllers, missing, sizeof missing);
	(void)utf8_show(view_of(group), shown, sizeof shown);
	if (!is_writable(group)) {
		check_set(ret, CHECK_WEAKER, "version 2, but %s is not ours to write", shown);
		check_fix(ret, "start belljar with: systemd-run --user --scope -p Delegate=yes -- "
		               "belljar serve (in a container: --cgroupns=private and a "
		               "writable " CGROUP_ROOT ")");
	} else if (missing[0] != '\0') {
		check_set(ret, CHECK_WEAKER, "version 2 at %s, without: %s", shown, missing);
		check_fix(ret, "delegate them: [Service] Delegate=cpu cpuset io memory pids in "
		               "/etc/systemd/system/user@.service.d/delegate.conf, then systemctl "
		               "daemon-reload and log in again");
	} else
		check_set(ret, CHECK_ON, "version 2 at %s, with: %s", shown, controllers);
}

void probe_cgroups(UNUSED const struct options *options, struct check *ret)
{
	const char *unify = "boot with systemd.unified_cgroup_hierarchy=1 for version 2";

	if (is_cgroup2(CGROUP_ROOT)) {
		probe_version_2(ret);
	} else if (is_cgroup2(CGROUP_ROOT "/unified")) {
		check_set(ret, CHECK_WEAKER, "hybrid: the controllers are in version 1");
		check_fix(ret, "%s", unify);
	} else if (access(CGROUP_ROOT "/memory", F_OK) == 0 ||
	           access(CGROUP_ROOT "/cpu", F_OK) == 0) {
		check_set(ret, CHECK_WEAKER, "version 1 only");
		check_fix(ret, "%s", unify);
	} else {
		check_set(ret, CHECK_OFF, "nothing is mounted at " CGROUP_ROOT);
		check_fix(ret, "mount -t cgroup2 none " CGROUP_ROOT);
	}
}
