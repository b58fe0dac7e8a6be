/* internal.h - what passes between the reloader and the server. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* One file, after the packet of helper_report(). A descriptor comes along if errnum is 0. */
struct reloader_message {
	uint32_t index;
	int32_t errnum;
};

struct reloader_files {
	const char *const *paths;
	size_t count;
};

/* The process; `files` is a struct reloader_files. */
NORETURN void reloader_serve(void *files, int socket);
