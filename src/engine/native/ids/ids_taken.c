/* ids_taken.c - the ids of the host's users and groups, and the subordinate ids that /etc/subuid
 * and /etc/subgid give them. A user with subordinate ids can become each of them in a user
 * namespace of its own: if a sandbox had one of these ids, that user could read and change its
 * files. */
#include "engine/native/ids/ids.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"

enum {
	FILE_BYTES_MAX = 16 << 20,
	RANGES_MAX = 1 << 16,
	FIELDS = 4, /* the fields of a line that matter */
};

/* The fields of a line, counted from 0, that hold the first id and the number of ids. */
static const struct source {
	const char *name; /* below /etc */
	unsigned first, count;
} sources[] = {
	{ "subuid", 1, 2 }, { "subgid", 1, 2 }, { "passwd", 2, 0 },
	{ "passwd", 3, 0 }, { "group", 2, 0 },
};

/* The ranges below 65536 that systemd takes without an entry in a file. They matter in a container
 * that has few ids. */
static const struct ids_range systemd_ranges[] = {
	{ 60001, 60705, "passwd", false, "systemd-homed" },
	{ 61184, 65519, "passwd", false, "systemd (DynamicUser=)" },
	{ 65534, 65535, "passwd", false, "nobody" },
};

int ids_taken_add(struct ids_taken *taken, const struct ids_range *range, struct error *err)
{
	if (taken->count == RANGES_MAX)
		return error_set(
		        err, ERR_LIMIT,
		        "/etc/%s: there are more than %d users and ranges of ids: "
		        "belljar cannot tell which ids are free: start it as an ordinary user",
		        range->file, RANGES_MAX);
	/* The array has room for the next power of two. */
	if ((taken->count & (taken->count - 1)) == 0)
		taken->ranges = mem_resize(
		        taken->ranges, (taken->count != 0 ? 2 * taken->count : 1) * sizeof *range);
	taken->ranges[taken->count++] = *range;
	return 0;
}

/* Cuts the line into fields at its colons. Returns how many there are. */
static unsigned split_line(char *line, char *fields[FIELDS])
{
	unsigned count = 0;

	while (line != NULL && count < FIELDS)
		fields[count++] = strsep(&line, ":");
	return count;
}

static bool parse_number(const char *text, int base, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, base);
	return text[0] >= '0' && text[0] <= '9' && end[strspn(end, " \t\r")] == '\0';
}

/* False: the line is malformed. newuidmap(1) accepts octal and hexadecimal numbers too (base 0). */
static bool parse_taken(char *line, const struct source *source, struct ids_range *ret)
{
	int base = source->count != 0 ? 0 : 10;
	char *fields[FIELDS] = { NULL };
	unsigned found = split_line(line, fields);
	uint64_t first, count = 1;

	if (found <= source->first || found <= source->count ||
	    !parse_number(fields[source->first], base, &first) || first > UINT32_MAX ||
	    (source->count != 0 && !parse_number(fields[source->count], base, &count)) ||
	    count == 0)
		return false;
	ret->file = source->name;
	ret->is_subordinate = source->count != 0;
	ret->first = (uint32_t)first;
	ret->last = count - 1 < UINT32_MAX - first ? (uint32_t)(first + count - 1) : UINT32_MAX;
	(void)snprintf(ret->owner, sizeof ret->owner, "%s", fields[0]);
	return true;
}

/* A NUL byte ends only the line that it is in: the ranges of later lines count. */
static int read_source(const struct source *source, const char *etc, uint32_t lowest,
                       struct ids_taken *ret, struct error *err)
{
	AUTO_BUF struct buf buf;
	struct error why;
	char path[256];

	buf_init(&buf, FILE_BYTES_MAX);
	(void)snprintf(path, sizeof path, "%s/%s", etc, source->name);
	if (fd_read_file(path, &buf, &why) < 0) {
		if (why.kind == ERR_NOT_FOUND)
			return 0;
		*err = why;
		return -1;
	}
	for (size_t at = 0, end; at < buf.len; at = end + 1) {
		char *newline = memchr(buf.ptr + at, '\n', buf.len - at);
		struct ids_range range;

		end = newline != NULL ? (size_t)(newline - buf.ptr) : buf.len;
		buf.ptr[end] = '\0';
		if (parse_taken(buf.ptr + at, source, &range) && range.last >= lowest &&
		    ids_taken_add(ret, &range, err) < 0)
			return -1;
	}
	return 0;
}

int ids_taken_read(const char *etc, uint32_t lowest, struct ids_taken *ret, struct error *err)
{
	*ret = (struct ids_taken){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(systemd_ranges); i++)
		if (systemd_ranges[i].last >= lowest &&
		    ids_taken_add(ret, &systemd_ranges[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (read_source(&sources[i], etc, lowest, ret, err) < 0) {
			ids_taken_done(ret);
			return -1;
		}
	return 0;
}

/* Sources of users in the line "passwd:" of nsswitch.conf whose users are in a file, or have ids
 * outside the ranges of sandboxes. */
static bool is_listed(const char *source)
{
	return view_list_has(view_of("files compat db systemd mymachines"), ' ', source) ||
	       source[0] == '[' || source[0] == '!' || strchr(source, '=') != NULL;
}

void ids_unlisted_source(const char *etc, char out[IDS_SOURCE_SIZE])
{
	char path[256], line[256], *save = NULL;
	FILE *in;

	out[0] = '\0';
	(void)snprintf(path, sizeof path, "%s/nsswitch.conf", etc);
	in = fopen(path, "re");
	while (in != NULL && out[0] == '\0' && fgets(line, sizeof line, in) != NULL) {
		if (strncmp(line, "passwd:", 7) != 0)
			continue;
		line[strcspn(line, "#\r\n")] = '\0';
		for (char *word = strtok_r(line + 7, " \t", &save); word != NULL;
		     word = strtok_r(NULL, " \t", &save))
			if (out[0] == '\0' && !is_listed(word))
				(void)snprintf(out, IDS_SOURCE_SIZE, "%s", word);
	}
	if (in != NULL)
		(void)fclose(in);
}

void ids_taken_done(struct ids_taken *taken)
{
	free(taken->ranges);
	*taken = (struct ids_taken){ 0 };
}

const struct ids_range *ids_taken_find(const struct ids_taken *taken, uint64_t first, uint64_t last)
{
	for (size_t i = 0; taken != NULL && i < taken->count; i++)
		if (taken->ranges[i].first <= last && taken->ranges[i].last >= first)
			return &taken->ranges[i];
	return NULL;
}

static bool is_pair_free(const struct ids_taken *taken, uint32_t server)
{
	return ids_taken_find(taken, server - 1, server) == NULL;
}

/* Users of a directory service (LDAP, Active Directory) are in no file and may be too many to list,
 * so the service is asked for the ids one by one. It is asked only when a pair is chosen, not at
 * every start: an answer may take long. */
static bool is_pair_unknown(uint32_t server)
{
	return getpwuid(server - 1) == NULL && getpwuid(server) == NULL &&
	       getgrgid(server - 1) == NULL && getgrgid(server) == NULL;
}

int ids_choose_server(const struct ids_taken *taken, uint32_t present, uint32_t *ret,
                      struct error *err)
{
	static const uint32_t candidates[] = { IDS_HOST_FIRST + 1, IDS_HOST_LAST_BLOCK + 1 };
	bool is_possible = false;

	for (size_t i = 0; i < ARRAY_LEN(candidates); i++)
		if (candidates[i] == present && is_pair_free(taken, present)) {
			*ret = present;
			return 0;
		}
	*ret = 0;
	for (size_t i = 0; i < ARRAY_LEN(candidates) && *ret == 0; i++) {
		if (!idmap_has(candidates[i]))
			continue;
		is_possible = true;
		if (is_pair_free(taken, candidates[i]) && is_pair_unknown(candidates[i]))
			*ret = candidates[i];
	}
	if (*ret != 0 || !is_possible)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "no user ids are left for belljar: it needs %u and %u, or %u and %u, and "
	                 "users of this host have ids of both pairs (see /etc/subuid, /etc/subgid, "
	                 "getent passwd, getent group): free one pair (usermod --del-subuids, "
	                 "--del-subgids), or start belljar as an ordinary user",
	                 candidates[0] - 1, candidates[0], candidates[1] - 1, candidates[1]);
}
