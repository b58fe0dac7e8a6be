#include "sandbox/gate/gate_log.h"

#include <stdio.h>
#include <string.h>

static struct gate_attempt *find_attempt(struct gate_log *log, const char *target, bool is_allowed)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->entries[i].is_allowed == is_allowed &&
		    strcmp(log->entries[i].target, target) == 0)
			return &log->entries[i];
	return NULL;
}

/* Returns a new entry behind the last; of a full log the oldest entry is removed. */
static struct gate_attempt *add_attempt(struct gate_log *log)
{
	if (log->count == GATE_LOG_ENTRIES) {
		memmove(&log->entries[0], &log->entries[1],
		        (GATE_LOG_ENTRIES - 1) * sizeof log->entries[0]);
		log->count--;
	}
	return &log->entries[log->count++];
}

void gate_log_add(struct gate_log *log, const char *target, bool is_allowed, const char *reason)
{
	struct gate_attempt *attempt = find_attempt(log, target, is_allowed);
	bool is_new = attempt == NULL;

	if (is_new) {
		attempt = add_attempt(log);
		*attempt = (struct gate_attempt){ .is_allowed = is_allowed };
		(void)snprintf(attempt->target, sizeof attempt->target, "%s", target);
	}
	attempt->count++;
	(void)snprintf(attempt->reason, sizeof attempt->reason, "%s", reason);
	if (!is_allowed)
		attempt->refusal = ++log->refusals;
	if (is_new && log->added != NULL)
		log->added(log->ctx, attempt);
}

uint64_t gate_log_refusals(const struct gate_log *log)
{
	return log->refusals;
}

const struct gate_attempt *gate_log_refused(const struct gate_log *log, uint64_t since,
                                            size_t *others)
{
	const struct gate_attempt *last = NULL;

	*others = 0;
	for (size_t i = 0; i < log->count; i++) {
		const struct gate_attempt *attempt = &log->entries[i];

		if (attempt->is_allowed || attempt->refusal <= since)
			continue;
		*others += last != NULL;
		if (last == NULL || attempt->refusal > last->refusal)
			last = attempt;
	}
	return last;
}
