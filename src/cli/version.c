#include "cli/support/out.h"
#include "cli/verb.h"
#include "mcp/revision.h"

static enum verb_result run_version(const struct verb_call *call, struct error *err)
{
	(void)call;
	(void)err;
	out("belljar %s (MCP %s to %s)\n", BELLJAR_VERSION, mcp_revision_name(0),
	    mcp_revision_name(MCP_REVISION_COUNT - 1));
	return VERB_DONE;
}

const struct verb verb_version = {
	.name = "version",
	.summary = "Print the version, and the MCP revisions it speaks.",
	.run = run_version,
};
