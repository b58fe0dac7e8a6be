/* internal.h - what passes between the reloader and the server. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The first message, when the process is confined; nothing else is sent if it has failed. */
struct reloader_hello {
	int32_t failed;
	struct error err;
};

/* One file. A descriptor comes along if errnum is 0. */
struct reloader_message {
	uint32_t index;
	int32_t errnum;
};

/* The process. Does not return. */
void reloader_serve(const char *const *paths, size_t count, int socket) __attribute__((noreturn));
