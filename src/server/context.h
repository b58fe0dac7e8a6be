/* offer.h - what a server tells its tools: the limits in force, what a sandbox gets unless somebody
 * says otherwise, and what the engine said of itself. */
#pragma once
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "tools/catalogue.h"

struct spawner_report;
struct runtime;

enum { SERVER_CONTEXT_LIMITS = 20 };

/* Begins with the context handlers get. */
struct server_context {
	struct tools_context tools;
	struct tools_limit limits[SERVER_CONTEXT_LIMITS];
	char limit_names[SERVER_CONTEXT_LIMITS][OPTION_NAME_SIZE];
	struct check checks[DOCTOR_CHECKS_MAX];
	struct tools_layer layers[DOCTOR_CHECKS_MAX];
	size_t layer_count;
	struct runtime *runtime;
	struct mcp_server *mcp; /* whose clients hear of changes; NULL: nobody's */
	char why_not[480];
};

/* The options must outlive it. */
void server_context_init(struct server_context *context, const struct options *options);
/* Sandboxes can be asked for. */
MUST_CHECK int server_context_set_runtime(struct server_context *context, struct runtime *runtime,
                                          const struct options *options, struct error *err);
void server_context_set_layers(struct server_context *context, const struct spawner_report *report);
/* Nothing can be run, because of this. */
void server_context_set_unavailable(struct server_context *context, const struct error *why);
