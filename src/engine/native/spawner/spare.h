/* spare.h - the next sandbox, made before anybody asks for it.
 *
 * After one has been made another like it is made ahead, with everything but its name. Who asks
 * next gets it at once; it is given away once and never taken back. If nobody asks for a while
 * it goes. Its directory is called sp_... until it has an owner, so nothing takes it for a
 * sandbox; what a killed spawner left of one is removed at the next start. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct box;
struct request;
struct spawner;

#define SPARE_NUMBER UINT64_MAX /* instead of a request's */

/* Somebody asked for a new one: such ones are wanted. */
void spare_want(struct spawner *spawner, const struct request *request);
/* True: there was one that fits, and it is the caller's under its name now. */
bool spare_take(struct spawner *spawner, const struct request *request, struct box **ret);
/* Makes one if one is wanted, lets it go if not. Called when there is nothing else to do; and not
 * while somebody asks for things, who would have to share the processors with it. */
void spare_tend(struct spawner *spawner);
/* Milliseconds until that is worth while; -1: nothing to wait for. */
int spare_interval(const struct spawner *spawner);
/* Removes what others left. */
void spare_sweep(struct spawner *spawner);
