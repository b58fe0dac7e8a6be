/* idmap.c - the maps of this process's user namespace. */
#include "engine/native/ids/ids.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"

static const char *const maps[] = { "/proc/self/uid_map", "/proc/self/gid_map" };

/* A line is "inside outside count". How many ids from `id` on it maps. */
static uint64_t count_in_line(const char *line, uint64_t id)
{
	char *at;
	uint64_t inside = strtoull(line, &at, 10), count;

	(void)strtoull(at, &at, 10);
	count = strtoull(at, NULL, 10);
	return id >= inside && id - inside < count ? count - (id - inside) : 0;
}

/* How many ids from `id` on are mapped without a gap. A line may continue where another ends, in
 * any order, so the lines are read again until nothing is added. */
static uint64_t count_from(const char *map, uint64_t id)
{
	FILE *in = fopen(map, "re");
	char line[128];
	uint64_t count = 0, before;

	do {
		before = count;
		while (in != NULL && fgets(line, sizeof line, in) != NULL)
			count += count_in_line(line, id + count);
		if (in != NULL)
			rewind(in);
	} while (count != before);
	if (in != NULL)
		(void)fclose(in);
	return count;
}

bool idmap_has(uint64_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		if (count_from(maps[i], id) == 0)
			return false;
	return true;
}

uint64_t idmap_count(void)
{
	uint64_t uids = count_from(maps[0], 0), gids = count_from(maps[1], 0);

	return uids < gids ? uids : gids;
}
