/* doctor_kernel.c - sizes of kernel tables that sandboxes share with all processes of the host (see
 * internal.h). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/fd.h"
#include "server/doctor/internal.h"

/* A setting below `least` is too small for many sandboxes. A setting above `most` lets one sandbox
 * take resources of other programs that no limit counts. */
static const struct table {
	const char *path; /* below /proc/sys */
	uint64_t least, most;
	const char *effect; /* what happens with such a setting */
	const char *set;    /* the argument of sysctl -w */
} tables[] = {
	{ "fs/inotify/max_user_instances", 1024, UINT64_MAX,
	  "a few sandboxes take all inotify instances of the user",
	  "fs.inotify.max_user_instances=1024" },
	{ "fs/inotify/max_user_watches", 65536, UINT64_MAX,
	  "programs that watch many files fail in a sandbox",
	  "fs.inotify.max_user_watches=524288" },
	{ "fs/file-max", 16777216, UINT64_MAX, "sandboxes get fewer open files and processes",
	  "fs.file-max=16777216" },
	{ "kernel/pid_max", 65536, UINT64_MAX, "a few sandboxes take all process ids",
	  "kernel.pid_max=4194304" },
	{ "kernel/pty/max", 4096, UINT64_MAX, "a few sandboxes take all terminals",
	  "kernel.pty.max=4096" },
	{ "vm/overcommit_memory", 0, 1,
	  "memory that sandboxes only reserve is refused to other programs",
	  "vm.overcommit_memory=0" },
};

/* A setting that this kernel does not have is no gap. */
static bool has_gap(const struct table *table)
{
	char path[96];
	uint64_t number;

	(void)snprintf(path, sizeof path, "/proc/sys/%s", table->path);
	number = fd_read_number(AT_FDCWD, path);
	return number != UINT64_MAX && (number < table->least || number > table->most);
}

void probe_kernel_tables(UNUSED const struct options *options, struct check *ret)
{
	char found[440] = "", lines[400] = "";

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		size_t used = strlen(lines);

		if (!has_gap(&tables[i]))
			continue;
		probe_list_add(found, sizeof found, tables[i].effect);
		(void)snprintf(lines + used, sizeof lines - used, "\n  sudo sysctl -w %s",
		               tables[i].set);
	}
	if (found[0] == '\0') {
		check_set(ret, CHECK_ON, "large enough for many sandboxes");
		return;
	}
	check_set(ret, CHECK_WEAKER, "%s", found);
	check_fix(ret, "permanently in /etc/sysctl.d/, or until the next boot with:%s", lines);
}
