/* cleanup.h - locals that own something give it back when they leave scope.
 *
 *   AUTO_FD int fd = -1;             closed
 *   AUTO_FREE char *text = NULL;     freed
 *   AUTO(thing) struct thing *t;     thing_free(t)
 *
 * Hand ownership on with TAKE_FD and TAKE_PTR. */
#pragma once
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}

#define AUTO_FD   CLEANUP(cleanup_fd)
#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO(mod) CLEANUP(cleanup_##mod)

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})
#define TAKE_PTR(ptr)                                                                              \
	({                                                                                         \
		__typeof__(ptr) taken_ = (ptr);                                                    \
		(ptr) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* For a `struct mod *mod_free(struct mod *)` that accepts NULL. */
#define DEFINE_CLEANUP(mod)                                                                        \
	static inline void cleanup_##mod(struct mod **ptr)                                         \
	{                                                                                          \
		(void)mod##_free(*ptr);                                                            \
	}
