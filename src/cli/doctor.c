#include "server/doctor/doctor.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/view.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/options.h"
#include "json/json.h"

enum { NAME_COLUMN = 8, DETAIL_COLUMN = 26, FIX_COLUMN = 4 };

/* A line that starts with two blanks is a command to copy, so it is not wrapped. */
static void print_fix(const char *fix)
{
	struct view rest = view_of(fix), line;

	while (view_next_line(&rest, &line)) {
		char text[sizeof((struct check *)0)->fix];

		(void)snprintf(text, sizeof text, "%.*s", (int)line.len, line.ptr);
		if (view_starts(line, "  "))
			out("%*s%s\n", FIX_COLUMN, "", text);
		else
			out_wrapped(FIX_COLUMN, 0, text);
	}
}

static void print_fixes(const struct check *checks, size_t count)
{
	size_t printed = 0;

	for (size_t i = 0; i < count; i++) {
		/* "see 'x'" refers to the fix of another check, which is printed itself. */
		if (checks[i].fix[0] == '\0' || view_starts(view_of(checks[i].fix), "see '"))
			continue;
		if (printed++ == 0)
			out("\nWhat would help:\n");
		out("  %s (for %s):\n", checks[i].name, checks[i].purpose);
		print_fix(checks[i].fix);
	}
}

static void print_lines(const struct check *checks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out("%-*s%-*s", NAME_COLUMN, check_status_words[checks[i].status],
		    DETAIL_COLUMN - NAME_COLUMN, checks[i].name);
		out_wrapped(DETAIL_COLUMN, DETAIL_COLUMN, checks[i].detail);
	}
	print_fixes(checks, count);
}

static json_t *check_json(const struct check *check)
{
	json_t *object = json_obj();

	json_set_text(object, "name", check->name);
	json_set_text(object, "status", check_status_words[check->status]);
	json_set_text(object, "detail", check->detail);
	if (check->fix[0] != '\0')
		json_set_text(object, "fix", check->fix);
	if (check->required)
		json_set(object, "required", json_true());
	return object;
}

/* {"checks":[{"name","status","detail","fix"?,"required"?}]} */
static void print_json(const struct check *checks, size_t count)
{
	AUTO_JSON json_t *report = json_obj();
	json_t *list = json_list();
	AUTO_FREE char *text = NULL;
	size_t len;

	for (size_t i = 0; i < count; i++)
		json_push(list, check_json(&checks[i]));
	json_set(report, "checks", list);
	text = json_write(report, &len);
	out("%s\n", text);
}

static enum verb_result run_doctor(const struct verb_call *call, struct error *err)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	size_t count;

	if (doctor_examine(call->options, checks, &count, err) < 0)
		return VERB_MISUSED;
	if (call->options->json)
		print_json(checks, count);
	else
		print_lines(checks, count);
	return doctor_check_required(checks, count, err) < 0 ? VERB_FAILED : VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar doctor", "Print the report, and how to improve the result." },
	{ "belljar doctor --json | jq '.checks[] | select(.status != \"on\")'",
	  "List the layers that are weaker or off, for a script." },
	{ "belljar doctor --require cgroups,ids", "Fail if one of these is not on." },
	{ NULL, NULL },
};

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "Report what this machine offers for sandboxes.",
	.help = "Lists each layer of isolation, and each program and kernel feature belljar uses, "
	        "as on, weaker (it works, but protects less than it could) or off, with what was "
	        "found and the step that improves it. The engine is started once, in the state "
	        "directory, and creates a sandbox; nothing else is changed.\n\n"
	        "The exit status is 0, unless a layer named with --require is not on: then it is "
	        "1. 'belljar serve' and 'belljar exec' take the same --require and then refuse to "
	        "start.",
	.examples = examples,
	.options = FOR_DOCTOR,
	.run = run_doctor,
};
