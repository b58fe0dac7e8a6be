/* doctor.h - what this machine offers for sandboxes, layer by layer. */
#pragma once
#include <stddef.h>

struct options;

enum check_status { CHECK_ON, CHECK_WEAKER, CHECK_OFF, CHECK_STATUS_COUNT };

struct check {
	const char *name;    /* of the layer; static */
	const char *purpose; /* what the layer is for; static */
	enum check_status status;
	char detail[400]; /* what was found */
	char fix[400];    /* the command or step that helps; "" when on */
};

enum { DOCTOR_CHECKS_MAX = 16 };

/* Fills ret in a fixed order and returns how many there are. Forks short-lived children and
 * waits for them: some milliseconds, at worst some seconds. */
size_t doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX]);
