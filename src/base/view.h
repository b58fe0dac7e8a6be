/* view.h - bytes somebody else owns. A view never outlives what it points into. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct view {
	const char *ptr;
	size_t len;
};

struct view view_of(const char *text); /* without the terminator */
bool view_is(struct view v, const char *text);
bool view_starts(struct view v, const char *prefix);
struct view view_trim(struct view v); /* spaces, tabs, CR and LF off both ends */

/* Cuts the first line off *rest, without its LF. False when nothing is left. */
bool view_next_line(struct view *rest, struct view *ret);
