/* sandbox_history.c - what is recorded about runs and connections of a sandbox (see internal.h). */
#include <string.h>

#include "base/text/utf8.h"
#include "base/view.h"
#include "sandbox/internal.h"
#include "sandbox/registry/history.h"

void sandbox_add_history(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                         const char *what, const char *outcome)
{
	struct history_row row = { .started_s = started_s, .duration_ms = duration_ms };

	memcpy(row.sandbox, sandbox->row.spec.id, sizeof row.sandbox);
	memcpy(row.owner, sandbox->row.owner, sizeof row.owner);
	(void)utf8_escape(view_of(what), row.what, sizeof row.what);
	(void)utf8_escape(view_of(outcome), row.outcome, sizeof row.outcome);
	if (!sandbox->row.temporary)
		history_add(sandbox->manager->history, &row);
}

void sandbox_record_start(struct sandbox *sandbox, int64_t started_s, const char *what)
{
	sandbox_add_history(sandbox, started_s, 0, what, HISTORY_RUNNING);
}

void sandbox_record_run(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                        const char *what, const char *outcome)
{
	const struct manager_config *config = &sandbox->manager->config;

	sandbox_add_history(sandbox, started_s, duration_ms, what, outcome);
	if (config->process_ended != NULL)
		config->process_ended(config->ctx, &sandbox->row);
}
