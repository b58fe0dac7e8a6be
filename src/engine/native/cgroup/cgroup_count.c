/* cgroup_count.c - reads the kernel's counters of a sandbox: memory, processes, processor time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"
#include "base/view.h"
#include "engine/native/cgroup/internal.h"

/* The file of each counter: in the hierarchy of version 1 if the controller is mounted there, else
 * in the unified one. */
static const struct {
	enum cgroup_v1 controller;
	const char *v1, *v2;
} files[CGROUP_COUNTER_FILES] = {
	[CGROUP_COUNTER_MEMORY_NOW] = { V1_MEMORY, "memory.usage_in_bytes", "memory.current" },
	[CGROUP_COUNTER_MEMORY_PEAK] = { V1_MEMORY, "memory.max_usage_in_bytes", "memory.peak" },
	[CGROUP_COUNTER_MEMORY_EVENTS] = { V1_MEMORY, "memory.oom_control", "memory.events" },
	[CGROUP_COUNTER_PIDS_NOW] = { V1_PIDS, "pids.current", "pids.current" },
	[CGROUP_COUNTER_PIDS_EVENTS] = { V1_PIDS, "pids.events", "pids.events" },
	[CGROUP_COUNTER_CPU] = { V1_CPUACCT, "cpuacct.usage", "cpu.stat" },
};

void cgroup_open_counters(const struct cgroup *group, int fds[CGROUP_COUNTER_FILES])
{
	for (size_t i = 0; i < CGROUP_COUNTER_FILES; i++) {
		int v1 = group->v1[files[i].controller];
		int dir = v1 >= 0 ? v1 : group->unified;

		fds[i] = dir < 0 ? -1
		                 : openat(dir, v1 >= 0 ? files[i].v1 : files[i].v2,
		                          O_RDONLY | O_CLOEXEC);
	}
}

/* --- the cgroups of another program's process --- */

/* Finds the path of the process in one hierarchy: a line "4:memory:/docker/ID", or "0::/..." for
 * version 2, whose controller is "". A path with ".." leads out of our cgroup namespace. */
static bool find_group(const char *text, const char *controller, const char *within, char *out,
                       size_t size)
{
	struct view rest = view_of(text), line;

	while (view_next_line(&rest, &line)) {
		struct view number = view_cut(&line, ':'), list = view_cut(&line, ':');

		if (controller[0] == '\0' ? view_is(number, "0") && list.len == 0
		                          : view_list_has(list, ',', controller)) {
			(void)snprintf(out, size, "%.*s", (int)line.len, line.ptr);
			return strstr(out, within) != NULL && strstr(out, "..") == NULL;
		}
	}
	return false;
}

/* The path comes from the process's own file in /proc, which the kernel writes, and the last part
 * is opened without following links. */
enum cgroup_kind cgroup_open_process_counters(pid_t pid, const char *within,
                                              int fds[CGROUP_COUNTER_FILES])
{
	char path[64], text[8192], group[1024], file[1400];
	AUTO_FD int proc = -1;
	bool is_v1, has_any = false;
	ssize_t n;

	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
	proc = open(path, O_RDONLY | O_CLOEXEC);
	n = proc >= 0 ? read(proc, text, sizeof text - 1) : 0;
	if (n <= 0)
		return CGROUP_NONE;
	text[n] = '\0';
	is_v1 = find_group(text, cgroup_v1_names[V1_MEMORY], within, group, sizeof group);
	for (size_t i = 0; i < CGROUP_COUNTER_FILES; i++) {
		const char *controller = is_v1 ? cgroup_v1_names[files[i].controller] : "";

		fds[i] = -1;
		if (!find_group(text, controller, within, group, sizeof group))
			continue;
		(void)snprintf(file, sizeof file, "/sys/fs/cgroup/%s%s/%s", controller, group,
		               is_v1 ? files[i].v1 : files[i].v2);
		fds[i] = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		has_any = has_any || fds[i] >= 0;
	}
	return !has_any ? CGROUP_NONE : is_v1 ? CGROUP_V1 : CGROUP_V2;
}

/* pread() at 0 makes the kernel write the file anew, so that one descriptor serves many
 * readings. */
static struct view read_counter_file(int fd, char *out, size_t size)
{
	ssize_t n;

	do
		n = fd >= 0 ? pread(fd, out, size, 0) : 0;
	while (n < 0 && errno == EINTR);
	return (struct view){ out, n > 0 ? (size_t)n : 0 };
}

static bool parse_number(struct view text, uint64_t *ret)
{
	char digits[24];
	struct error err;

	if (text.len >= sizeof digits)
		return false;
	memcpy(digits, text.ptr, text.len);
	digits[text.len] = '\0';
	return num_parse_u64(digits, 0, UINT64_MAX, ret, &err) == 0;
}

/* Reads a file that has one number and nothing else. */
static bool read_number(int fd, uint64_t *ret)
{
	char bytes[64];
	struct view text = read_counter_file(fd, bytes, sizeof bytes), line;

	return view_next_line(&text, &line) && text.len == 0 && parse_number(line, ret);
}

/* Reads the number of the line "key number". */
static void read_keyed(int fd, const char *key, uint64_t *ret)
{
	char bytes[2048];
	struct view text = read_counter_file(fd, bytes, sizeof bytes), line;
	size_t len = strlen(key);

	while (view_next_line(&text, &line))
		if (line.len > len && view_starts(line, key) && line.ptr[len] == ' ') {
			(void)parse_number((struct view){ line.ptr + len + 1, line.len - len - 1 },
			                   ret);
			return;
		}
}

void cgroup_read_refusals(const int fds[CGROUP_COUNTER_FILES], enum cgroup_kind kind,
                          struct engine_counters *ret)
{
	if (kind == CGROUP_NONE)
		return;
	read_keyed(fds[CGROUP_COUNTER_MEMORY_EVENTS], "oom_kill", &ret->memory_kills);
	read_keyed(fds[CGROUP_COUNTER_PIDS_EVENTS], "max", &ret->pids_refused);
}

void cgroup_read_counters(const int fds[CGROUP_COUNTER_FILES], enum cgroup_kind kind,
                          struct engine_counters *ret)
{
	struct engine_counters counts = { 0 };
	uint64_t cpu_ns;

	if (kind != CGROUP_NONE) {
		(void)read_number(fds[CGROUP_COUNTER_MEMORY_NOW], &counts.memory_now);
		(void)read_number(fds[CGROUP_COUNTER_MEMORY_PEAK], &counts.memory_peak);
		(void)read_number(fds[CGROUP_COUNTER_PIDS_NOW], &counts.pids_now);
		cgroup_read_refusals(fds, kind, &counts);
		/* cpuacct.usage of version 1 is a single number of nanoseconds, cpu.stat of version
		 * 2 has lines with keys. Which of the two is open can be seen from the text. */
		if (read_number(fds[CGROUP_COUNTER_CPU], &cpu_ns))
			counts.cpu_us = cpu_ns / 1000;
		else
			read_keyed(fds[CGROUP_COUNTER_CPU], "usage_usec", &counts.cpu_us);
	}
	/* memory.peak exists since Linux 5.19. */
	if (counts.memory_peak < counts.memory_now)
		counts.memory_peak = counts.memory_now;
	*ret = counts;
}

struct engine_counters cgroup_counters_now(const struct cgroup *group)
{
	struct engine_counters counters = { 0 };
	int fds[CGROUP_COUNTER_FILES];

	if (group->in == NULL)
		return counters;
	cgroup_open_counters(group, fds);
	cgroup_read_counters(fds, group->in->kind, &counters);
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return counters;
}
