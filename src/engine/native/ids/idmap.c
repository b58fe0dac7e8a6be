#include "engine/native/ids/ids.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"

static const char *const maps[] = { "/proc/self/uid_map", "/proc/self/gid_map" };

/* "inside outside count", as the kernel writes it. How many from `id` on the line has. */
static uint64_t rest_in(const char *line, uint64_t id)
{
	char *at;
	uint64_t inside = strtoull(line, &at, 10), count;

	(void)strtoull(at, &at, 10);
	count = strtoull(at, NULL, 10);
	return id >= inside && id - inside < count ? count - (id - inside) : 0;
}

/* Lines may go on where others end, in any order. */
static uint64_t rest_from(const char *map, uint64_t id)
{
	FILE *in = fopen(map, "re");
	char line[128];
	uint64_t rest = 0, before;

	do {
		before = rest;
		while (in != NULL && fgets(line, sizeof line, in) != NULL)
			rest += rest_in(line, id + rest);
		if (in != NULL)
			rewind(in);
	} while (rest != before);
	if (in != NULL)
		(void)fclose(in);
	return rest;
}

bool idmap_has(uint64_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		if (rest_from(maps[i], id) == 0)
			return false;
	return true;
}

uint64_t idmap_count(void)
{
	uint64_t uids = rest_from(maps[0], 0), gids = rest_from(maps[1], 0);

	return uids < gids ? uids : gids;
}
