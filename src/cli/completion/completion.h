/* completion.h - completion scripts for shells, generated from the tables of verbs and options. */
#pragma once
#include <stdbool.h>

#include "cli/verb.h"
#include "server/options/options.h"

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

static inline bool verb_takes(const struct verb *verb, const struct option_spec *spec)
{
	return (verb->options & spec->verbs) != 0;
}
