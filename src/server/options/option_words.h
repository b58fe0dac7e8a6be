/* option_words.h - the words that options with a choice accept, each list in the order of its
 * enum. For the table of options only. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "server/options/options.h"

static const char *const log_levels[] = {
#define X(name, word) word,
	LOG_LEVELS(X)
#undef X
	        NULL,
};
_Static_assert(ARRAY_LEN(log_levels) == LOG_LEVEL_COUNT + 1, "a word for each level");

static const char *const engines[] = { "auto", "native", "docker", NULL };
_Static_assert(ARRAY_LEN(engines) == ENGINE_CHOICES + 1, "a word for each engine");

static const char *const docker_roots[] = { "read-only", "writable", NULL };
_Static_assert(ARRAY_LEN(docker_roots) == DOCKER_ROOTS + 1, "a word for each kind of root");

static const char *const root_choices[] = { "auto", "yes", "no", NULL };
_Static_assert(ARRAY_LEN(root_choices) == ROOTS_CHOICES + 1, "a word for each choice");

static const char *const auth_choices[] = { "none", "token", NULL };
_Static_assert(ARRAY_LEN(auth_choices) == AUTH_CHOICES + 1, "a word for each choice");

static const char *const call_profiles[] = { "standard", "strict", "debug", NULL };
_Static_assert(ARRAY_LEN(call_profiles) == SPEC_SYSCALLS_COUNT + 1, "a word for each profile");
