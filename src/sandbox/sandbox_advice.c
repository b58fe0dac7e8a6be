/* sandbox_advice.c - who reads the messages about a sandbox, and what that reader can do (see
 * sandbox.h). */
#include <stdio.h>
#include <string.h>

#include "sandbox/internal.h"

const char *sandbox_label(const struct sandbox_row *row, const char *name)
{
	size_t len = strlen(name);

	for (const char *label = row->labels; *label != '\0'; label += strlen(label) + 1)
		if (strncmp(label, name, len) == 0 && label[len] == '=')
			return label + len + 1;
	return NULL;
}

enum sandbox_reader sandbox_reader(const struct sandbox *sandbox)
{
	if (sandbox->manager->config.for_person)
		return SANDBOX_FOR_PERSON;
	return sandbox_label(&sandbox->row, SANDBOX_PROFILE_LABEL) != NULL ? SANDBOX_FOR_PROFILE
	                                                                   : SANDBOX_FOR_TOOLS;
}

const char *sandbox_argument(const struct sandbox *sandbox)
{
	return strcmp(sandbox->row.name, "default") == 0 ? NULL : sandbox->row.spec.id;
}

const char *sandbox_more_of(const struct sandbox *sandbox, const char *argument, uint64_t now,
                            uint64_t max, uint64_t unit, char out[SANDBOX_MORE_SIZE])
{
	const enum sandbox_reader reader = sandbox_reader(sandbox);
	uint64_t more = max / 2 < now ? max : now * 2;
	size_t flag_len = strcspn(argument, "_"); /* "memory_mb" is --memory with an M */
	const char *id = sandbox_argument(sandbox);

	if (max == 0 || now >= max)
		(void)snprintf(out, SANDBOX_MORE_SIZE, "%s allows no more",
		               reader == SANDBOX_FOR_PERSON ? "this machine" : "this server");
	else if (reader == SANDBOX_FOR_TOOLS)
		(void)snprintf(out, SANDBOX_MORE_SIZE, "or update_sandbox {\"%s\":%llu%s%s%s}",
		               argument, (unsigned long long)(more / unit),
		               id != NULL ? ",\"sandbox\":\"" : "", id != NULL ? id : "",
		               id != NULL ? "\"" : "");
	else
		(void)snprintf(out, SANDBOX_MORE_SIZE, "or %s --%.*s %llu%s",
		               reader == SANDBOX_FOR_PERSON ? "give a new sandbox"
		                                            : "have the operator set",
		               (int)flag_len, argument, (unsigned long long)(more / unit),
		               argument[flag_len] != '\0' ? "M" : "");
	return out;
}

const char *sandbox_more_while_awake(struct sandbox *sandbox, const char *argument, uint64_t now,
                                     uint64_t max, uint64_t unit, char out[SANDBOX_MORE_SIZE])
{
	struct engine_counters counters;

	if (sandbox_reader(sandbox) != SANDBOX_FOR_TOOLS || now >= max ||
	    sandbox_counts(sandbox, &counters))
		return sandbox_more_of(sandbox, argument, now, max, unit, out);
	(void)snprintf(out, SANDBOX_MORE_SIZE, "or create_sandbox {\"%s\":%llu}", argument,
	               (unsigned long long)((max / 2 < now ? max : now * 2) / unit));
	return out;
}

const char *sandbox_file_max(const struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE])
{
	const struct spec_limits *limits = &sandbox->row.spec.limits;
	uint64_t max = spec_file_max(limits);
	char more[SANDBOX_MORE_SIZE];

	if (limits->file_size < limits->disk)
		(void)snprintf(out, SANDBOX_FILE_MAX_SIZE,
		               "file-size: " SANDBOX_ONE_FILE
		               "%llu MiB, and all files together %llu MiB: write several files, or "
		               "delete some",
		               (unsigned long long)(max >> 20),
		               (unsigned long long)(limits->disk >> 20));
	else
		(void)snprintf(out, SANDBOX_FILE_MAX_SIZE,
		               "disk: " SANDBOX_ONE_FILE
		               "%.1f MiB, and all files together %llu MiB: delete files "
		               "(noticed within a second) and write less, %s; what was "
		               "written is kept",
		               (double)max / (double)SPEC_MIB(1),
		               (unsigned long long)(limits->disk >> 20),
		               sandbox_more_of(sandbox, "disk_mb", limits->disk,
		                               sandbox_ceilings(sandbox)->disk, SPEC_MIB(1), more));
	return out;
}

const char *sandbox_no_room(const struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE])
{
	uint64_t disk = sandbox->row.spec.limits.disk;
	char more[SANDBOX_MORE_SIZE];

	(void)snprintf(out, SANDBOX_FILE_MAX_SIZE,
	               SANDBOX_NO_ROOM ", the limit is %llu MiB: delete files (noticed within a "
	                               "second), %s; what was written is kept",
	               (unsigned long long)(disk >> 20),
	               sandbox_more_of(sandbox, "disk_mb", disk, sandbox_ceilings(sandbox)->disk,
	                               SPEC_MIB(1), more));
	return out;
}

const char *sandbox_no_process(struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE])
{
	uint64_t pids = sandbox->row.spec.limits.pids;
	char more[SANDBOX_MORE_SIZE];

	(void)snprintf(
	        out, SANDBOX_FILE_MAX_SIZE,
	        "pids: the limit is %llu processes and threads: end some%s, %s",
	        (unsigned long long)pids,
	        sandbox_reader(sandbox) == SANDBOX_FOR_TOOLS
	                ? " (process_stop ends a process or a session, sandbox_info lists both)"
	                : "",
	        sandbox_more_while_awake(sandbox, "pids", pids, sandbox_ceilings(sandbox)->pids, 1,
	                                 more));
	return out;
}
