#include "server/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "server/probe.h"

static const struct probe {
	const char *name, *purpose;
	probe_fn *run;
} probes[] = {
	{ "kernel", "the features below", probe_kernel },
	{ "user namespaces", "sandboxes without root", probe_user_namespaces },
	{ "namespaces", "a sandbox's own files, processes and network", probe_namespaces },
	{ "cgroups", "limits on memory, processor and processes", probe_cgroups },
	{ "seccomp", "keeping system calls from the code", probe_seccomp },
	{ "landlock", "a second fence around files", probe_landlock },
	{ "overlayfs", "a writable view of read-only files", probe_overlayfs },
	{ "subordinate ids", "separate users for agent and code", probe_subordinate_ids },
	{ "interpreters", "running code without an image", probe_interpreters },
	{ "docker or podman", "the docker engine", probe_containers },
	{ "configuration", "belljar serve", probe_configuration },
};

static const char *const status_words[] = {
	[CHECK_ON] = "on",
	[CHECK_WEAKER] = "weaker",
	[CHECK_OFF] = "off",
};
_Static_assert(ARRAY_LEN(status_words) == CHECK_STATUS_COUNT, "a word for each status");

PRINTF_LIKE(3, 0) static void format(char *out, size_t size, const char *fmt, va_list args)
{
	(void)vsnprintf(out, size, fmt, args);
	out[utf8_prefix(out, strlen(out), size - 1)] = '\0';
}

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
{
	va_list args;

	check->status = status;
	va_start(args, fmt);
	format(check->detail, sizeof check->detail, fmt, args);
	va_end(args);
}

void check_fix(struct check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	format(check->fix, sizeof check->fix, fmt, args);
	va_end(args);
}

const char *probe_read_line(const char *path, char *out, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, out, size - 1) : 0;

	out[len > 0 ? len : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out;
}

int probe_find_program(const char *name, char out[PROBE_PATH_SIZE])
{
	const char *path = getenv("PATH");

	/* A relative entry would find what the current directory happens to hold. */
	for (; path != NULL && *path != '\0'; path += *path == ':') {
		int len = (int)strcspn(path, ":");
		char candidate[PROBE_PATH_SIZE];
		struct stat st;

		if (*path == '/' && len < PROBE_PATH_SIZE &&
		    snprintf(candidate, sizeof candidate, "%.*s/%s", len, path, name) <
		            PROBE_PATH_SIZE &&
		    stat(candidate, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(candidate, X_OK) == 0) {
			memcpy(out, candidate, sizeof candidate);
			return 0;
		}
		path += len;
	}
	return -1;
}

json_t *doctor_report(const struct options *options)
{
	json_t *report = json_obj();
	json_t *checks = json_list();

	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		struct check check = { 0 };
		json_t *entry = json_obj();

		probes[i].run(options, &check);
		json_set_text(entry, "name", probes[i].name);
		json_set_text(entry, "status", status_words[check.status]);
		json_set_text(entry, "detail", check.detail);
		if (check.fix[0] != '\0')
			json_set_text(entry, "fix", check.fix);
		json_push(checks, entry);
	}
	json_set(report, "checks", checks);
	return report;
}

const char *doctor_purpose(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (strcmp(probes[i].name, name) == 0)
			return probes[i].purpose;
	return NULL;
}
