#include "tools/run/module_help.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum {
	TEXT_MAX = 64 * 1024, /* one string of the reply */
	RECORDS_MAX = 1000,
	DEADLINE_MS = 30000,
};

#define TEXT(struct_, member_, ...) ARG(struct_, member_, STRING, "", .max = TEXT_MAX, __VA_ARGS__)
static const struct param module_table[] = {
	TEXT(struct module_record, name, .required = true),
	TEXT(struct module_record, summary, .required = true),
	{ 0 },
};

static const struct param item_table[] = {
	TEXT(struct module_item, name, .required = true),
	TEXT(struct module_item, kind, .required = true),
	TEXT(struct module_item, signature, .required = true),
	TEXT(struct module_item, decorators),
	TEXT(struct module_item, doc, .required = true),
	{ 0 },
};

static const struct param reply_table[] = {
	TEXT(struct module_reply, missing),
	TEXT(struct module_reply, nearest),
	TEXT(struct module_reply, problem),
	TEXT(struct module_reply, doc),
	ARG(struct module_reply, modules, RECORDS, "", .max = RECORDS_MAX, .fields = module_table,
	    .record_size = sizeof(struct module_record)),
	ARG(struct module_reply, functions, RECORDS, "", .max = RECORDS_MAX, .fields = item_table,
	    .record_size = sizeof(struct module_item)),
	ARG(struct module_reply, total, INT, "", .max = 1000000),
	{ 0 },
};
#undef TEXT

static int check_end(struct module_help *help, struct error *err)
{
	struct process_state state;
	char line[160];

	process_state(help->run.process, &state);
	if (state.phase == PROCESS_FAILED && state.why->kind == ERR_NOT_FOUND)
		return error_set(err, ERR_UNSUPPORTED,
		                 "there is no Python in the sandbox, which reads the modules: "
		                 "the operator can install python3 %s; read_file shows the files "
		                 "in %s",
		                 help->programs_place, help->directory);
	if (state.phase == PROCESS_FAILED) {
		*err = *state.why;
		return -1;
	}
	if (state.end.timed_out)
		return error_set(err, ERR_LIMIT,
		                 "reading the modules took more than %d s; name a module",
		                 DEADLINE_MS / 1000);
	if (state.end.code != 0 || state.end.signal != 0)
		return error_set(err, ERR_SYSTEM, "the program that reads the modules failed: %s%s",
		                 process_last_line(help->run.process, line, sizeof line),
		                 state.end.note);
	return 0;
}

/* python_modules.py prints at most the number of bytes in its last argument, and the capture keeps
 * that many. If the capture has a gap in its middle, another program of the sandbox wrote the
 * output. */
static int read_reply(struct module_help *help, struct error *err)
{
	static const struct json_limits limits = { .depth = 4, .values = 8 * RECORDS_MAX };
	const struct process_stream stream = process_stream(help->run.process, false);
	struct module_reply *reply = &help->reply;
	AUTO_BUF struct buf text;

	buf_init(&text, stream.head.len + stream.tail.len + 1);
	if (stream.left_out != 0 || buf_add(&text, stream.head, err) < 0 ||
	    buf_add(&text, stream.tail, err) < 0 ||
	    json_read(buf_view(&text), &limits, &reply->json, NULL, err) < 0 ||
	    param_decode(reply_table, reply->json, &help->arena, reply, err) < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the program that reads the modules printed something else than "
		                 "its reply; call again, or read the modules with read_file");
	return 0;
}

static void on_end(void *ctx)
{
	struct module_help *help = ctx;
	struct error err;

	if (check_end(help, &err) < 0 || read_reply(help, &err) < 0)
		help->fn(help->ctx, NULL, &err);
	else
		help->fn(help->ctx, &help->reply, NULL);
}

int module_help_start(struct module_help *help, const struct work *work,
                      const struct module_query *query, module_help_fn *fn, void *ctx,
                      struct error *err)
{
	char room[24];
	const char *const args[] = {
		query->directory,
		query->module != NULL ? query->module : "",
		query->with_functions     ? "*"
		: query->function != NULL ? query->function
		                          : "",
		room,
		NULL,
	};
	const struct process_options options = { .language = language_find("python"),
		                                 .code = python_modules_source(),
		                                 .args = args,
		                                 .deadline_ms = DEADLINE_MS };

	help->fn = fn;
	help->ctx = ctx;
	help->programs_place = work->context->programs_place;
	(void)snprintf(help->directory, sizeof help->directory, "%s", query->directory);
	/* The capture keeps max_output / 2 bytes of the beginning and as many of the end (see
	 * process_limits() in server/runtime/runtime.c). The program must print less than both
	 * together. */
	(void)snprintf(room, sizeof room, "%zu", work->context->max_output / 2 * 2 - 1);
	return run_step_start(&help->run, work, &options, on_end, help, err);
}

void module_help_done(struct module_help *help)
{
	run_step_done(&help->run);
	json_decref(help->reply.json);
	arena_done(&help->arena);
	help->reply = (struct module_reply){ 0 };
}

bool module_is_dotted_name(const char *text)
{
	bool is_start = true; /* of a part */

	for (; *text != '\0'; text++) {
		bool is_letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		                 *text == '_';

		if (*text == '.' && !is_start) {
			is_start = true;
			continue;
		}
		if (!is_letter && (is_start || *text < '0' || *text > '9'))
			return false;
		is_start = false;
	}
	return !is_start;
}
