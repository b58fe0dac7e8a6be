#include "tools/support/sandbox_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "sandbox/registry/registry.h"

enum { TIME_SIZE = 32, LABELS_SHOWN = 240 };

static const char *const state_names[SANDBOX_STATE_COUNT] = {
	[SANDBOX_CREATING] = "creating",
	[SANDBOX_AWAKE] = "ready",
	[SANDBOX_ASLEEP] = "asleep",
	[SANDBOX_DELETING] = "deleting",
};

static const char *format_time(int64_t seconds, char out[TIME_SIZE])
{
	time_t when = seconds;
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(out, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
	return out;
}

static json_t *labels_json(const char *list)
{
	json_t *labels = json_obj();

	for (; *list != '\0'; list += strlen(list) + 1) {
		AUTO_FREE char *name = mem_dup(list);
		size_t len = strcspn(list, "=");

		name[len] = '\0';
		json_set(labels, name, json_str(list + len + (list[len] == '=')));
	}
	return labels;
}

json_t *sandbox_json(const struct sandbox_row *row)
{
	json_t *info = json_obj();
	char when[TIME_SIZE];

	json_set(info, "id", json_str(row->spec.id));
	json_set_text(info, "name", row->name[0] != '\0' ? row->name : NULL);
	json_set(info, "state", json_str(state_names[row->state]));
	if (row->labels[0] != '\0')
		json_set(info, "labels", labels_json(row->labels));
	json_set(info, "created", json_str(format_time(row->created_s, when)));
	json_set(info, "used", json_str(format_time(row->used_s, when)));
	json_set(info, "idle_s", json_int(row->idle_s));
	json_set(info, "lifetime_s", json_int(row->lifetime_s));
	if (row->lifetime_s != 0)
		json_set(info, "expires",
		         json_str(format_time(row->created_s + (int64_t)row->lifetime_s, when)));
	return info;
}

const struct param sandbox_limit_fields[] = {
	FIELD("memory_mb", INT, "Memory of all its processes together, in MiB."),
	FIELD("swap_mb", INT, "Swap space in addition, in MiB."),
	FIELD("cpus", NUMBER, "Processors it may keep busy."),
	FIELD("disk_mb", INT, "Disk space of its files, in MiB."),
	FIELD("file_mb", INT, "Size of a single file, in MiB."),
	FIELD("pids", INT, "Processes and threads."),
	FIELD("files", INT, "Number of files."),
	FIELD("open_files", INT, "Files that one process may have open."),
	{ 0 },
};

json_t *sandbox_limits_json(const struct spec_limits *limits)
{
	json_t *all = json_obj();

	json_set(all, "memory_mb", json_int((json_int_t)(limits->memory >> 20)));
	json_set(all, "swap_mb", json_int((json_int_t)(limits->swap >> 20)));
	json_set(all, "cpus", json_num((double)limits->cpu / 1000));
	json_set(all, "disk_mb", json_int((json_int_t)(limits->disk >> 20)));
	json_set(all, "file_mb",
	         json_int((json_int_t)(num_min(limits->file_size, limits->disk) >> 20)));
	json_set(all, "pids", json_int((json_int_t)limits->pids));
	json_set(all, "files", json_int((json_int_t)limits->inodes));
	json_set(all, "open_files", json_int((json_int_t)limits->files));
	return all;
}

/* Writes "  task=42  who=me", or as many labels as fit and how many more there are. */
static void format_labels(const char *labels, char *out, size_t size)
{
	struct buf text = buf_fixed(out, size - sizeof "  (and 999 more)");
	size_t left_out = 0;

	out[0] = '\0';
	for (const char *at = labels; *at != '\0'; at += strlen(at) + 1)
		if (left_out != 0 ||
		    !buf_putf(&text, "  %s", UTF8_ESCAPED(view_of(at), LABELS_SHOWN)))
			left_out++;
	if (left_out != 0)
		(void)snprintf(out + text.len, size - text.len, "  (and %zu more)", left_out);
}

char *sandbox_line(const struct sandbox_row *row)
{
	char when[TIME_SIZE], labels[LABELS_SHOWN];

	format_labels(row->labels, labels, sizeof labels);
	return mem_format("%s%s%s  %s, last used %s%s", row->spec.id,
	                  row->name[0] != '\0' ? "  " : "", row->name, state_names[row->state],
	                  format_time(row->used_s, when), labels);
}
