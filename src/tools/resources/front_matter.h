/* front_matter.h - what a SKILL.md says of itself between two lines of "---".
 *
 * The few lines of YAML that skills use: `key: value` with plain or quoted text, and blocks of
 * lines behind `>` or `|`. Everything else is passed over. */
#pragma once
#include <stddef.h>

#include "base/view.h"

struct front_matter {
	char name[65];          /* one printable line each; "" if it is not there */
	char description[1025]; /* what is longer ends in "..." */
	size_t body;            /* where the text behind it begins */
};

void front_matter_read(struct view text, struct front_matter *ret);
