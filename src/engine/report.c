#include "engine/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t find_layer(const struct engine_report *report, const char *name)
{
	size_t i = 0;

	while (i < report->count && strcmp(report->layers[i].name, name) != 0)
		i++;
	return i;
}

struct engine_layer *report_add(struct engine_report *report, const char *name)
{
	size_t i = find_layer(report, name);

	assert(i < REPORT_LAYERS_MAX);
	if (i == report->count)
		report->count++;
	report->layers[i] = (struct engine_layer){ .status = LAYER_OFF };
	(void)snprintf(report->layers[i].name, LAYER_NAME_SIZE, "%s", name);
	return &report->layers[i];
}

void layer_set(struct engine_layer *layer, enum layer_status status, const char *fmt, ...)
{
	va_list args;

	layer->status = status;
	va_start(args, fmt);
	(void)vsnprintf(layer->detail, sizeof layer->detail, fmt, args);
	va_end(args);
}

void layer_fix(struct engine_layer *layer, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(layer->fix, sizeof layer->fix, fmt, args);
	va_end(args);
}

const struct engine_layer *report_find(const struct engine_report *report, const char *name)
{
	size_t i = find_layer(report, name);

	return i < report->count ? &report->layers[i] : NULL;
}
