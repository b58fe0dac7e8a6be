/* context.h - the data that the server gives to its tools (struct tools_context): the limits in
 * force, the default spec of a sandbox, the manager, and the engine's report.
 *
 *   server_context_init -> server_context_set_runtime -> (the engine is ready)
 *   server_context_set_layers, or at any time server_context_set_unavailable */
#pragma once
#include "engine/report.h"
#include "server/options/options.h"
#include "tools/catalogue.h"

struct engine_report;
struct runtime;

/* Owns the texts and arrays that `tools` points to. */
struct server_context {
	const struct options *options;
	struct tools_context tools;
	struct tools_limit limits[OPTION_COUNT];
	char limit_names[OPTION_COUNT][OPTION_NAME_SIZE];
	struct tools_layer layers[REPORT_LAYERS_MAX];
	size_t layer_count;
	struct runtime *runtime;
	struct mcp_server *mcp; /* sends notifications about changed resources; may be NULL */
	char unavailable[480];  /* why no sandbox can be created */
};

/* The options must outlive the context. */
void server_context_init(struct server_context *context, const struct options *options);
/* From now on tools can create sandboxes. */
MUST_CHECK int server_context_set_runtime(struct server_context *context, struct runtime *runtime,
                                          const struct options *options, struct error *err);
/* The report must outlive the context. */
void server_context_set_layers(struct server_context *context, const struct engine_report *report);
/* From now on every tool that needs a sandbox fails with *why. */
void server_context_set_unavailable(struct server_context *context, const struct error *why);
