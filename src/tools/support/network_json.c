#include "tools/support/network_json.h"

#include <string.h>

#include "sandbox/gate/gate_log.h"
#include "sandbox/sandbox.h"

const struct param network_attempt_fields[] = {
	FIELD("host", STRING, "Host and port; empty if the request was malformed."),
	FIELD("allowed", BOOL, "Whether the policy allowed it."),
	FIELD("count", INT, "How often."),
	FIELD_OPTIONAL("reason", STRING, "Why it was refused, or why the connection failed."),
	{ 0 },
};

json_t *network_hosts_json(const struct sandbox_row *row)
{
	json_t *all = json_list();

	for (const char *at = row->network_allow; *at != '\0'; at += strlen(at) + 1)
		json_push(all, json_str(at));
	return all;
}

json_t *network_attempts_json(struct sandbox *sandbox)
{
	const struct gate_log *log = sandbox_gate_log(sandbox);
	json_t *all = json_list();

	for (size_t i = 0; i < log->count; i++) {
		const struct gate_attempt *attempt = &log->entries[i];
		json_t *entry = json_obj();

		json_set(entry, "host", json_str(attempt->target));
		json_set(entry, "allowed", json_boolean(attempt->is_allowed));
		json_set(entry, "count", json_int((json_int_t)attempt->count));
		json_set_text(entry, "reason", attempt->reason[0] != '\0' ? attempt->reason : NULL);
		json_push(all, entry);
	}
	return all;
}
