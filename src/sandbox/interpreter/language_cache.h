/* language_cache.h - which languages a sandbox has.
 *
 * A shell script made from the table of languages (kernels/languages.h) is run in the sandbox, and
 * its result is kept until the sandbox ends or a request asks again. The quick script only looks
 * for executables; the slow one also starts each of them for its version.
 *
 * A cache belongs to the sandbox's struct processes. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "kernels/languages.h"

struct error;
struct language;
struct language_cache;
struct sandbox;

struct language_request { /* zeroed: not pending */
	struct list node;
	bool with_versions;
	/* With a language, fn is called as soon as that one is found, while the script may still
	 * look for others; `known` is false then. NULL: when the script has ended. */
	const struct language *language;
	bool is_owned; /* by the cache, which frees it after the callback */
	void (*fn)(void *ctx, const struct error *why); /* why NULL: success */
	void *ctx;
};

struct language_cache *language_cache_new(struct sandbox *sandbox);
/* Frees the cache; pending requests get no callback. */
void language_cache_free(struct language_cache *cache);
/* The sandbox has ended: clears the result and fails every pending request with *why. */
void language_cache_stop(struct language_cache *cache, const struct error *why);

/* Runs the script, also if a result is known. fn is called from the loop.
 * list_remove(&request->node) cancels. */
void language_cache_request(struct language_cache *cache, struct language_request *request);
const struct language_found *language_cache_get(const struct language_cache *cache);
bool language_cache_has_versions(const struct language_cache *cache);
