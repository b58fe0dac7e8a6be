#include "agent/files/left_out.h"

#include <string.h>

#include "base/text/utf8.h"

enum { FIRST_MAX = 255 }; /* what DONE carries */

void left_out(struct wire_done *done, struct view name)
{
	static char first[FIRST_MAX + 1];
	size_t len = utf8_prefix(name.ptr, name.len, FIRST_MAX);

	if (done->skipped++ != 0)
		return;
	memcpy(first, name.ptr, len);
	first[len] = '\0';
	done->cursor = (struct view){ first, len };
}
