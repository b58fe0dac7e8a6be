#include "base/cleanup.h"
#include "base/mem.h"
#include "base/trusted/trusted_names.h"
#include "cli/manual/section.h"
#include "cli/support/out.h"

void section_trusted(void)
{
	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; i < trusted_kind_count; i++) {
		const struct trusted_kind *kind = &trusted_kinds[i];
		bool has_except = kind->except != NULL;
		AUTO_FREE char *text = mem_format(
		        "%s%s%s%s: %s.", kind->patterns, has_except ? " (but not " : "",
		        has_except ? kind->except : "", has_except ? ")" : "", kind->reason);

		out(".It Cm %s\n", kind->name);
		section_text(text);
	}
	out(".El\n");
}
