/* offer.h - what a server tells its tools: the limits in force, what a sandbox gets unless somebody
 * says otherwise, and what the engine said of itself. */
#pragma once
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "tools/catalogue.h"

struct native_report;
struct stack;

enum { OFFER_LIMITS = 20 };

/* Begins with the context handlers get. */
struct offer {
	struct tools_context context;
	struct tools_limit limits[OFFER_LIMITS];
	char limit_names[OFFER_LIMITS][OPTION_NAME_SIZE];
	struct check checks[DOCTOR_CHECKS_MAX];
	struct tools_layer layers[DOCTOR_CHECKS_MAX];
	size_t layer_count;
	struct stack *stack;
	struct mcp_server *mcp; /* whose clients hear of changes; NULL: nobody's */
	char why_not[480];
};

/* The options must outlive it. */
void offer_init(struct offer *offer, const struct options *options);
/* Sandboxes can be asked for. */
MUST_CHECK int offer_stack(struct offer *offer, struct stack *stack, const struct options *options,
                           struct error *err);
void offer_report(struct offer *offer, const struct native_report *report);
/* Nothing can be run, because of this. */
void offer_nothing(struct offer *offer, const struct error *why);
