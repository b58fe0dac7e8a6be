#include "cli/out.h"
#include "cli/verb.h"

#define OLDEST_REVISION "2024-11-05"
#define NEWEST_REVISION "2026-07-28"

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	(void)call;
	(void)err;
	out("belljar %s (MCP %s to %s)\n", BELLJAR_VERSION, OLDEST_REVISION, NEWEST_REVISION);
	return VERB_DONE;
}

const struct verb verb_version = {
	.name = "version",
	.summary = "Print the version, and the MCP revisions it speaks.",
	.run = run,
};
