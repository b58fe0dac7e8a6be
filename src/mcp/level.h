/* level.h - the severities of MCP log messages, which are those of RFC 5424. */
#pragma once
#include <stdbool.h>

#define MCP_LEVELS(X)                                                                              \
	X(DEBUG, "debug")                                                                          \
	X(INFO, "info")                                                                            \
	X(NOTICE, "notice")                                                                        \
	X(WARNING, "warning")                                                                      \
	X(ERROR, "error")                                                                          \
	X(CRITICAL, "critical")                                                                    \
	X(ALERT, "alert")                                                                          \
	X(EMERGENCY, "emergency")

#define MCP_LEVEL_LIST "debug, info, notice, warning, error, critical, alert, emergency"

#define X(id, name) MCP_LEVEL_##id,
enum mcp_level { MCP_LEVELS(X) MCP_LEVEL_NONE /* above all levels: nothing is sent */ };
#undef X

const char *mcp_level_name(enum mcp_level level);
bool mcp_level_find(const char *name, enum mcp_level *ret);
