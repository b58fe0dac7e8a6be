/* idmap.h - how many ids a user namespace has: /proc/self/uid_map and gid_map, read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Whether `id` is one of ours, by both maps. */
bool idmap_has(uint64_t id);
/* How many there are from 0 on, without a gap, in both. */
uint64_t idmap_count(void);
