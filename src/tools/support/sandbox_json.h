/* sandbox_json.h - a sandbox as answers describe it: its row as members, and as one line. */
#pragma once
#include "mcp/param/param.h"
#include "json/json.h"

struct buf;
struct sandbox_row;

/* The rows of an output table that describe it, for the tables of tools: without the end. */
#define SANDBOX_FIELDS                                                                             \
	{ .name = "id",                                                                            \
	  .type = PARAM_STRING,                                                                    \
	  .required = true,                                                                        \
	  .help = "For 'sandbox' in calls." },                                                     \
	        { .name = "name", .type = PARAM_STRING, .help = "Works as well as the id." },      \
	        { .name = "state",                                                                 \
		  .type = PARAM_STRING,                                                            \
		  .required = true,                                                                \
		  .help = "creating, ready, asleep (its files stay; the next call wakes it) or "   \
		          "deleting." },                                                           \
	        { .name = "created",                                                               \
		  .type = PARAM_STRING,                                                            \
		  .required = true,                                                                \
		  .help = "When, in UTC." },                                                       \
	        { .name = "used",                                                                  \
		  .type = PARAM_STRING,                                                            \
		  .required = true,                                                                \
		  .help = "Last, in UTC." },                                                       \
	        { .name = "idle_s",                                                                \
		  .type = PARAM_INT,                                                               \
		  .required = true,                                                                \
		  .help = "It sleeps after so long without work; 0 is never." },                   \
	        { .name = "lifetime_s",                                                            \
		  .type = PARAM_INT,                                                               \
		  .required = true,                                                                \
		  .help = "It is deleted so long after it was made; 0 is never." },                \
	{                                                                                          \
		.name = "expires", .type = PARAM_STRING, .help = "When that is, in UTC."           \
	}

/* The members of "limits". */
extern const struct param sandbox_limit_fields[];

json_t *sandbox_json(const struct sandbox_row *row);
/* "sb_... work ready, used 2026-01-02 03:04:05" without a line end. */
json_t *sandbox_limits_json(const struct sandbox_row *row);
char *sandbox_line(const struct sandbox_row *row); /* the caller frees */
