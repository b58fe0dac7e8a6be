/* log.h - one line on stderr per event: time, level, text.
 *
 * Only the state owners log (server, transport, mcp sessions); everything below returns
 * errors. Controls and broken UTF-8 in the text are escaped, so a stranger's bytes can
 * neither forge a line nor reach the terminal. Default level: warning. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

#define LOG_LEVELS(X)                                                                              \
	X(ERROR, "error")                                                                          \
	X(WARNING, "warning")                                                                      \
	X(INFO, "info")                                                                            \
	X(DEBUG, "debug")

#define X(name, word) LOG_##name,
enum log_level { LOG_LEVELS(X) LOG_LEVEL_COUNT };
#undef X

void log_set_level(enum log_level most);
bool log_wants(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...)   log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)
