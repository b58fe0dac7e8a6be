/* doctor.h - which layers of isolation this machine offers for sandboxes, and how to get the
 * others.
 *
 * A layer has a short name, which the option `require` uses. A layer is tried where that is
 * possible, not concluded from version numbers: the engine is started, creates a sandbox, runs a
 * program in it and reports which layers are in force. */
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
	/* The command or step that helps; "" if the layer is on. A line that starts with two blanks
	 * is a command to be copied. */
	char fix[1400];
};

enum { DOCTOR_CHECKS_MAX = 40 };

/* Examines all layers in a fixed order, with the configuration that `belljar serve` would use.
 * Forks children and waits for them: half a second, at worst half a minute. Fails only if a
 * required name is not a layer. */
MUST_CHECK int doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX],
                              size_t *ret_count, struct error *err);
/* Fails if a required layer is not on. The error says which one, why, and what helps. */
MUST_CHECK int doctor_check_required(const struct check *checks, size_t count, struct error *err);

struct engine_report;

/* Examines only the required layers, before the server starts. ERR_INVALID: there is no such layer.
 * Layers that the engine reports are left to doctor_require_engine() if the caller starts the
 * engine next (DOCTOR_ENGINE_NEXT), and are examined by a trial otherwise. */
enum doctor_engine { DOCTOR_ENGINE_NEXT, DOCTOR_ENGINE_TRIED };
MUST_CHECK int doctor_require(const struct options *options, enum doctor_engine engine,
                              struct error *err);
/* Examines the other required layers by the report of the started engine. `list` is
 * options->require. */
MUST_CHECK int doctor_require_engine(const char *list, const struct engine_report *report,
                                     struct error *err);
/* Tries the steps of making a native sandbox one by one in a child process, which takes some
 * milliseconds. True: all succeed. */
bool doctor_native_works(void);
/* Fails with ERR_INVALID unless the list consists of names of layers, separated by commas. NULL is
 * an empty list. */
MUST_CHECK int doctor_check_names(const char *list, struct error *err);
