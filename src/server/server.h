/* server.h - the running server: options in, one client served on stdin and stdout until
 * it leaves or a signal says so. */
#pragma once
#include "base/attr.h"

struct error;
struct options;

/* Returns 0 when the client left or SIGTERM, SIGINT or SIGHUP came and all was put in
 * order; -1 when the descriptors could not be used or the client let too much pile up. */
MUST_CHECK int server_run(const struct options *options, struct error *err);
