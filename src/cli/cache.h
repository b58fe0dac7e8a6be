/* cache.h - what the files of `belljar cache` share. */
#pragma once
#include "cli/verb.h"

struct error;

/* Installs what the file lists in a sandbox that is deleted afterwards, so that the cache has
 * it. */
enum verb_result cache_warm(const struct verb_call *call, const char *path, struct error *err);
