/* error.h - the error value that every fallible function fills.
 *
 * A fallible function takes `struct error *err` as its last argument, returns 0 or -1, and writes
 * *err only when it returns -1. The struct holds no pointers and filling it allocates nothing, so
 * it can be used after ENOMEM and between fork() and exec(), and written to a pipe as it is. */
#pragma once
#include "base/attr.h"

enum error_kind {
	ERR_INVALID,     /* a wrong value in a request or in an argument */
	ERR_SYNTAX,      /* bytes that are not in the expected format */
	ERR_NOT_FOUND,   /* a name of something that does not exist */
	ERR_LIMIT,       /* a valid value above a limit */
	ERR_UNSUPPORTED, /* a feature this build or this machine does not have */
	ERR_SYSTEM,      /* a failure of the kernel, of a disk or of a peer */
	ERR_KIND_COUNT
};

struct error {
	enum error_kind kind;
	int errnum;    /* errno of the failed call, or 0 */
	char msg[480]; /* "outer: inner", always terminated, whole UTF-8 characters */
};

/* All three return -1, so that a function can fail and report in one statement. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_sys(struct error *err, const char *fmt, ...)
        PRINTF_LIKE(2, 3); /* appends strerror(errno) */
int error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3); /* prefixes *err */
