/* error.h - what went wrong, for the caller, the log and the client.
 *
 * A plain value: it can be filled after ENOMEM, between fork and exec, and written
 * whole down a pipe. Every fallible function takes it last, returns 0 or -1, and
 * writes *err only when it returns -1. */
#pragma once
#include "base/attr.h"

enum error_kind {
	ERR_INVALID,     /* the caller's fault: a wrong value */
	ERR_SYNTAX,      /* bytes that are not what they claim to be */
	ERR_NOT_FOUND,   /* a name that stands for nothing here */
	ERR_LIMIT,       /* right in itself, but too much of it */
	ERR_UNSUPPORTED, /* this build or this machine cannot */
	ERR_SYSTEM,      /* the kernel, a disk, a peer */
	ERR_KIND_COUNT
};

struct error {
	enum error_kind kind;
	int errnum;    /* errno at the point of failure, or 0 */
	char msg[480]; /* "outer: inner", always terminated, whole UTF-8 characters */
};

/* All three return -1, so that failing and reporting is one statement. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_sys(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);  /* adds errno's text */
int error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3); /* prefixes context */
