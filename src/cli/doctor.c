#include "server/doctor.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/out.h"
#include "cli/verb.h"
#include "server/options.h"

enum { DETAIL_COLUMN = 24, FIX_COLUMN = 4 };

static const struct label {
	const char *status, *shown;
} labels[] = { { "on", "on  " }, { "weaker", "weak" }, { "off", "off " } };

static const char *label_of(const char *status)
{
	for (size_t i = 0; i < ARRAY_LEN(labels); i++)
		if (strcmp(labels[i].status, status) == 0)
			return labels[i].shown;
	return "?   ";
}

static void print_fixes(const json_t *checks)
{
	size_t i, printed = 0;
	const json_t *check;

	json_array_foreach(checks, i, check)
	{
		const char *name = json_text(check, "name"), *fix = json_text(check, "fix");

		if (fix == NULL)
			continue;
		if (printed++ == 0)
			out("\nWhat would help:\n");
		out("  %s (for %s):\n", name, doctor_purpose(name));
		out_wrapped(FIX_COLUMN, 0, fix);
	}
}

static void print_lines(const json_t *report)
{
	const json_t *checks = json_object_get(report, "checks"), *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		out("%s  %-*s", label_of(json_text(check, "status")), DETAIL_COLUMN - 6,
		    json_text(check, "name"));
		out_wrapped(DETAIL_COLUMN, DETAIL_COLUMN, json_text(check, "detail"));
	}
	print_fixes(checks);
}

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	AUTO_JSON json_t *report = doctor_report(call->options);

	(void)err;
	if (call->options->json) {
		size_t len;
		AUTO_FREE char *text = json_write(report, &len);

		out("%s\n", text);
	} else
		print_lines(report);
	return VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar doctor", "The report, and what would improve it." },
	{ "belljar doctor --json | jq '.checks[] | select(.status != \"on\")'",
	  "What is not fully there, for a script." },
	{ NULL, NULL },
};

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "Report what this machine offers for sandboxes.",
	.help = "Lists each layer of isolation and each thing belljar builds on as on, weak "
	        "(there, "
	        "but less than it could be) or off, with what was found and, where something can "
	        "be done, the step that helps. It changes nothing. The exit status is 0 whatever "
	        "the findings are.",
	.examples = examples,
	.options = FOR_DOCTOR,
	.run = run,
};
