/* copy_report.c - what a user is told about entries that a copy to the host has left out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "base/trusted/trusted_names.h"
#include "sandbox/copy/copy.h"

enum { NAME_MAX_SHOWN = 160 };

/* The names of the kinds with commas between, as --copy-trusted takes them. */
static const char *list_kinds(uint64_t kinds, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < trusted_kind_count && used < size; i++)
		if ((kinds & UINT64_C(1) << i) != 0)
			used += (size_t)snprintf(out + used, size - used, "%s%s",
			                         used != 0 ? "," : "", trusted_kinds[i].name);
	return out;
}

size_t copy_left_out_names(const struct copy_result *result, struct view names[COPY_NAMES_MAX])
{
	struct view rest = view_of(result->moved.report);
	size_t count = 0;

	if (result->is_preview)
		return 0;
	while (count < COPY_NAMES_MAX && count < result->moved.trusted &&
	       view_next_line(&rest, &names[count]))
		count++;
	return count;
}

/* COPY_NOTES_MAX is more than all notes together. */
static void add_left_out(const struct copy_result *result, struct buf *text)
{
	const struct transfer_result *moved = &result->moved;
	struct view names[COPY_NAMES_MAX];
	size_t count = copy_left_out_names(result, names);
	char kinds[600];

	buf_putf(text,
	         "\n%" PRIu64 " %s left out, because programs of the host execute or "
	         "trust such files by themselves%s\n",
	         moved->trusted, moved->trusted == 1 ? "entry was" : "entries were",
	         count != 0 ? ":" : "");
	for (size_t i = 0; i < count; i++)
		buf_putf(text, "  %.*s\n",
		         (int)utf8_prefix(names[i].ptr, names[i].len, NAME_MAX_SHOWN),
		         names[i].ptr);
	if (count != 0 && count < moved->trusted)
		buf_putf(text, "  ...\n");
	for (size_t i = 0; i < trusted_kind_count; i++)
		if ((moved->kinds & UINT64_C(1) << i) != 0)
			buf_putf(text, "%s: %s\n", trusted_kinds[i].name, trusted_kinds[i].reason);
	buf_putf(text,
	         "No tool can change that. A person who has read these files can start "
	         "belljar with --copy-trusted %s",
	         list_kinds(moved->kinds, kinds, sizeof kinds));
}

void copy_add_notes(const struct copy_result *result, struct buf *text)
{
	const struct transfer_result *moved = &result->moved;

	if (moved->not_executable != 0)
		buf_putf(text,
		         "\n%" PRIu64 " %s not executable on the host, because %s not "
		         "before: a person can use chmod, or start belljar with "
		         "--copy-executables",
		         moved->not_executable,
		         moved->not_executable == 1
		                 ? "file that is executable in the sandbox is"
		                 : "files that are executable in the sandbox are",
		         moved->not_executable == 1 ? "it was" : "they were");
	if (moved->trusted != 0)
		add_left_out(result, text);
}

int copy_check_some(const struct copy_result *result, struct error *err)
{
	const struct transfer_result *moved = &result->moved;
	struct view names[COPY_NAMES_MAX] = { 0 };
	int len;
	size_t kind = 0;
	char kinds[120];

	if (result->is_preview || moved->trusted == 0 ||
	    (result->is_directory && moved->files != 0))
		return 0;
	(void)copy_left_out_names(result, names);
	len = (int)utf8_prefix(names[0].ptr != NULL ? names[0].ptr : "", names[0].len, 80);
	while (kind + 1 < trusted_kind_count && (moved->kinds & UINT64_C(1) << kind) == 0)
		kind++;
	return error_set(err, ERR_INVALID,
	                 "no file was copied: %.*s%s left out, because %s. No tool can change "
	                 "that: a person can start belljar with --copy-trusted %s",
	                 len, names[0].ptr != NULL ? names[0].ptr : "",
	                 moved->trusted == 1 ? " was" : " and others were",
	                 trusted_kinds[kind].reason, list_kinds(moved->kinds, kinds, sizeof kinds));
}
