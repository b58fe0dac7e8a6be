/* sandbox_json.h - a sandbox in answers: its row of the registry as JSON, and as a line. */
#pragma once
#include "tools/support/params.h"
#include "json/json.h"

struct sandbox_row;
struct spec_limits;

/* The rows of an output table that describe sandbox_json(); the table adds its own and the end. */
#define SANDBOX_FIELDS                                                                             \
	FIELD("id", STRING, "The id, for 'sandbox' in calls."),                                    \
	        FIELD_OPTIONAL("name", STRING, "The name, which can be used instead of the id."),  \
	        FIELD("state", STRING,                                                             \
	              "creating, ready, asleep (its files stay; the next call "                    \
	              "wakes it) or deleting."),                                                   \
	        FIELD_OPTIONAL("labels", MAP, "Its labels."),                                      \
	        FIELD("created", STRING, "When it was created (UTC)."),                            \
	        FIELD("used", STRING, "When it was used last (UTC)."),                             \
	        FIELD("idle_s", INT,                                                               \
	              "Seconds without work after which it sleeps; 0: it never does."),            \
	        FIELD("lifetime_s", INT,                                                           \
	              "Seconds after its creation when it is deleted; 0: it never is."),           \
	        FIELD_OPTIONAL("expires", STRING, "When it is deleted (UTC).")

/* The fields of sandbox_limits_json(). */
extern const struct param sandbox_limit_fields[];

json_t *sandbox_json(const struct sandbox_row *row);
json_t *sandbox_limits_json(const struct spec_limits *limits);
/* "sb_1a2b  work  ready, last used 2026-01-02T03:04:05Z  task=42", at most 460 bytes; the caller
 * frees. */
char *sandbox_line(const struct sandbox_row *row);
