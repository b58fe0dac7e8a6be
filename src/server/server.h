/* server.h - the running server: options in, one client served on stdin and stdout until
 * it leaves or a signal says so. */
#pragma once
#include "base/attr.h"

struct error;
struct options;

/* Returns 0 when the client left or SIGTERM or SIGINT came and all was put in order. */
MUST_CHECK int server_run(const struct options *options, struct error *err);
