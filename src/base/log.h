/* log.h - the log: one line on stderr per event, with time, level and text.
 *
 * Only code that has no caller to return an error to logs: the server, sessions of clients, the
 * spawner, and work that runs in the background. Control characters and invalid UTF-8 in the text
 * are escaped, so bytes from clients and sandboxes can neither forge a log line nor send commands
 * to a terminal. A line that stderr does not take at once is lost: logging never blocks the event
 * loop. */
#pragma once
#include "base/attr.h"

#define LOG_LEVELS(X)                                                                              \
	X(ERROR, "error")                                                                          \
	X(WARNING, "warning")                                                                      \
	X(INFO, "info")                                                                            \
	X(DEBUG, "debug")

#define X(name, word) LOG_##name,
enum log_level { LOG_LEVELS(X) LOG_LEVEL_COUNT };
#undef X

void log_set_level(enum log_level most_verbose); /* LOG_WARNING until it is called */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A line of the access log, which an option asks for: written at every level. */
void log_access(const char *fmt, ...) PRINTF_LIKE(1, 2);

#define log_error(...)   log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)
