/* view.h - a pointer and a length: bytes that the view does not own. A view must not be used
 * longer than the memory it points into. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct view {
	const char *ptr;
	size_t len;
};

struct view view_of(const char *text); /* without the NUL at the end */
bool view_is(struct view v, const char *text);
bool view_starts(struct view v, const char *prefix);
bool view_ends(struct view v, const char *suffix);
/* For protocols that ignore the case of ASCII letters, such as HTTP. */
bool view_is_nocase(struct view v, const char *text);
bool view_starts_nocase(struct view v, const char *prefix);
/* Whether all bytes are letters, digits or characters of `also`; true if there are none. */
bool view_has_only(struct view v, const char *also);
struct view view_trim(struct view v); /* without spaces, tabs, CR and LF at both ends */

/* Moves the first line of *rest to *ret, without its LF. False: *rest is empty. */
bool view_next_line(struct view *rest, struct view *ret);
/* Cuts the part before the first `separator` off the front of *rest, and the separator with it.
 * Without one, that part is all of *rest. */
struct view view_cut(struct view *rest, char separator);
/* Whether `word` is in a list of words with `separator` between them. Blanks around a word are not
 * part of it. */
bool view_list_has(struct view list, char separator, const char *word);
