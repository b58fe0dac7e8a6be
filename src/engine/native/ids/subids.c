/* subids.c - the ids that /etc/subuid and /etc/subgid let a user give away. newuidmap and
 * newgidmap, which are set-user-id programs, write them into the maps of a user namespace. */
#include "engine/native/ids/ids.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/num.h"

/* A line is "name:first:count", with a name or a number for the user. */
static bool parse_line(char *line, const char *name, const char *number, struct subids *ret)
{
	char *first = strchr(line, ':'), *count = first != NULL ? strchr(first + 1, ':') : NULL;
	uint64_t from, many;
	struct error err;

	if (count == NULL)
		return false;
	*first++ = '\0';
	*count++ = '\0';
	count[strcspn(count, "\r\n")] = '\0';
	if ((name == NULL || strcmp(line, name) != 0) && strcmp(line, number) != 0)
		return false;
	if (num_parse_u64(first, 1, UINT32_MAX - 1, &from, &err) < 0 ||
	    num_parse_u64(count, 1, UINT32_MAX - from, &many, &err) < 0)
		return false;
	*ret = (struct subids){ (uint32_t)from, (uint32_t)many };
	return true;
}

bool subids_find(const char *file, uid_t uid, uint32_t min, struct subids *ret, char *why,
                 size_t why_size)
{
	bool is_uid = strstr(file, "subuid") != NULL;
	const char *helper = is_uid ? "/usr/bin/newuidmap" : "/usr/bin/newgidmap";
	const struct passwd *entry = getpwuid(uid);
	const char *name = entry != NULL ? entry->pw_name : NULL;
	char number[16], line[512];
	FILE *in = fopen(file, "re");

	*ret = (struct subids){ 0 };
	(void)snprintf(number, sizeof number, "%u", uid);
	while (in != NULL && fgets(line, sizeof line, in) != NULL) {
		struct subids found;

		if (parse_line(line, name, number, &found) && found.count > ret->count)
			*ret = found;
	}
	if (in != NULL)
		(void)fclose(in);
	if (ret->count < min)
		(void)snprintf(why, why_size,
		               "%s has no range of %u ids for %s: sudo usermod --add-sub%ss "
		               "100000-165535 %s",
		               file, min, name != NULL ? name : number, is_uid ? "uid" : "gid",
		               name != NULL ? name : number);
	else if (access(helper, X_OK) < 0)
		(void)snprintf(why, why_size, "%s is missing: sudo apt install uidmap", helper);
	else
		return true;
	return false;
}
