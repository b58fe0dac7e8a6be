/* doctor.h - what this machine offers for sandboxes, layer by layer.
 *
 * A layer has a short name, by which `require` asks for it. Nothing is taken from a version
 * number that can be tried: the engine itself is started, makes a sandbox and tells what is
 * in force. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct options;

enum check_status { CHECK_ON, CHECK_WEAKER, CHECK_OFF, CHECK_STATUS_COUNT };
extern const char *const check_status_words[CHECK_STATUS_COUNT];

struct check {
	const char *name;    /* of the layer; static */
	const char *purpose; /* what the layer is for; static */
	bool required;
	enum check_status status;
	char detail[480]; /* what was found */
	/* The command or step that helps; "" when on. A line that starts with two blanks is a
	 * command as it stands. */
	char fix[1400];
};

enum { DOCTOR_CHECKS_MAX = 32 };

/* Fills ret in a fixed order, as `belljar serve` would find things with the configuration there
 * is. Forks children and waits for them: half a second, at worst half a minute. Fails only if
 * what is required is no layer. */
MUST_CHECK int doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX],
                              size_t *ret_count, struct error *err);
/* Fails if a check that is required is not on: the error says which, why and what helps. */
MUST_CHECK int doctor_judge(const struct check *checks, size_t count, struct error *err);

struct spawner_report;

/* Only what is required is looked at, before anything is started. ERR_INVALID: there is no such
 * layer. What only the engine can tell is left to doctor_require_engine() if the caller will
 * start it next, and found out by a start of its own otherwise. */
enum doctor_engine { DOCTOR_ENGINE_NEXT, DOCTOR_ENGINE_TRIED };
MUST_CHECK int doctor_require(const struct options *options, enum doctor_engine engine,
                              struct error *err);
/* The rest, by what the engine says of itself once it is ready: `list` is options->require. */
MUST_CHECK int doctor_require_engine(const char *list, const struct spawner_report *report,
                                     struct error *err);
/* Everything the engine tells of itself, as checks. Returns how many. */
size_t doctor_engine_layers(const struct spawner_report *report,
                            struct check ret[DOCTOR_CHECKS_MAX]);
/* Are these layers, with commas between them? NULL: none are asked for. */
MUST_CHECK int doctor_check_names(const char *list, struct error *err);
