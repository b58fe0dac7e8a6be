/* side_paths.h - what the profile execution-client has over HTTP beside MCP, for the caller:
 *
 *   GET /health              whether the server runs
 *   GET /skills              names and descriptions;  /skills/NAME: one with its text
 *   GET /artifacts           files in /artifacts of the caller's sandbox;  /artifacts/FILE: one
 *
 * Skills and artifacts are read in the sandbox by its agent. The server opens no file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct http_request;
struct mcp_caller;
struct tools_context;

struct side_paths {
	const struct tools_context *tools;
	size_t max_artifact; /* bytes */
};

/* mcp_http_mount.serve; ctx is a struct side_paths. */
bool side_paths_serve(void *ctx, struct http_request *request, const struct mcp_caller *caller,
                      const char *path);
