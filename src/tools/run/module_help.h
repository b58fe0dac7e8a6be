/* module_help.h - which Python modules a directory of a sandbox has, and how their functions are
 * called.
 *
 * A Python program (kernels/python_modules.py) runs in the sandbox, parses the modules with `ast`
 * and prints what it found as one JSON object. The sandbox is hostile: any program in it may have
 * written that output. The output is therefore bounded by the capture of the process, read with
 * limits and decoded by tables.
 *
 *   module_help_start -> fn -> module_help_done
 *
 * The struct belongs to the work; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "mcp/param/param.h"
#include "tools/run/run_step.h"
#include "json/json.h"

struct error;
struct work;

/* Paths are of the sandbox. Without a module all modules are listed; `with_functions`: their
 * functions instead, as "module.function". */
struct module_query {
	const char *directory, *module, *function;
	bool with_functions;
};

struct module_record {
	const char *name, *summary;
};

struct module_item {
	const char *name, *kind, *signature, *decorators, *doc;
};

struct module_reply {
	json_t *json; /* the decoded text, in which the strings below are */
	const char *missing, *nearest, *problem, *doc;
	struct param_records modules, functions; /* struct module_record, struct module_item */
	int64_t total;
};

/* why NULL: success; the reply is valid until module_help_done(). */
typedef void module_help_fn(void *ctx, const struct module_reply *reply, const struct error *why);

struct module_help {
	struct run_step run;
	struct arena arena;
	struct module_reply reply;
	char directory[128];
	const char *programs_place; /* of tools_context */
	module_help_fn *fn;
	void *ctx;
};

MUST_CHECK int module_help_start(struct module_help *help, const struct work *work,
                                 const struct module_query *query, module_help_fn *fn, void *ctx,
                                 struct error *err);
void module_help_done(struct module_help *help);

/* Whether the text is names in ASCII with dots between them, as in an import. */
bool module_is_dotted_name(const char *text);
