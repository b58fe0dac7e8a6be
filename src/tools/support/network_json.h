/* network_json.h - the network of a sandbox in answers: its hosts, and what its programs tried to
 * reach. */
#pragma once
#include "tools/support/params.h"
#include "json/json.h"

struct sandbox;
struct sandbox_row;

/* The fields of an entry of network_attempts_json(). */
extern const struct param network_attempt_fields[];

json_t *network_hosts_json(const struct sandbox_row *row);
json_t *network_attempts_json(struct sandbox *sandbox); /* the newest last */
