/* report.h - which layers of isolation the sandboxes of an engine have, in terms that are the same
 * for every engine.
 *
 * An engine fills one report when it has started, from what it has found and tried, not from what
 * it hopes for. The server shows the report (doctor, sandbox_info) and refuses to start without the
 * layers that --require names; it does not know which engine made the report. The struct has no
 * pointers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

enum layer_status { LAYER_ON, LAYER_WEAKER, LAYER_OFF };

enum {
	REPORT_LAYERS_MAX = 32,
	LAYER_NAME_SIZE = 24,
	LAYER_DETAIL_SIZE = 480,
	LAYER_FIX_SIZE = 280,
};

struct engine_layer {
	char name[LAYER_NAME_SIZE]; /* as in the doctor's table */
	enum layer_status status;
	char detail[LAYER_DETAIL_SIZE]; /* what was found */
	char fix[LAYER_FIX_SIZE];       /* the command or step that helps; "" if the layer is on */
};

struct engine_report {
	/* The kernel limits the memory of each sandbox as a whole. Otherwise only the sum of the
	 * limits protects the machine. */
	bool limits_memory;
	size_t count;
	struct engine_layer layers[REPORT_LAYERS_MAX];
};

/* Adds a layer with an empty detail; the same name again replaces the earlier layer. The pointer is
 * valid until the report is copied. */
struct engine_layer *report_add(struct engine_report *report, const char *name) RETURNS_NONNULL;
void layer_set(struct engine_layer *layer, enum layer_status status, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
void layer_fix(struct engine_layer *layer, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* NULL: the report has no layer of that name. */
const struct engine_layer *report_find(const struct engine_report *report, const char *name);
