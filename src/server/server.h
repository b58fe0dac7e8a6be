/* server.h - the MCP server, `belljar serve`: on standard input and output, over HTTP, or both. */
#pragma once
#include "base/attr.h"

struct error;
struct options;

/* Serves until the client on standard input closes its end, or SIGTERM, SIGINT or SIGHUP arrives;
 * then puts the sandboxes to sleep. Returns -1 if the descriptors could not be used, a required
 * layer is missing, the spawner was lost, or the client did not read its results. */
MUST_CHECK int server_run(const struct options *options, struct error *err);
