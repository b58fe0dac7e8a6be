/* watch.h - limits the kernel does not keep for us: looked after many times a second.
 *
 * Disk, where there is no quota: the free space of the file system is looked at, which costs
 * nothing; only when so much has gone since a sandbox was counted last that it could be over its
 * limit is it counted again, by a janitor. Memory, where there are no cgroups: what its
 * processes use is added up, by a janitor too. Who is over is ended. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct box;
struct janitor_result;
struct spawner;
struct workshop;

void watch_begin(const struct workshop *shop, struct box *box);
/* Milliseconds until the next look; -1: nothing to look after. */
int watch_interval(const struct spawner *spawner);
void watch_look(struct spawner *spawner);
void watch_counted(struct spawner *spawner, uint64_t number, const struct janitor_result *result);
