/* cleanup.h - local variables that release what they own when they leave their scope.
 *
 *   AUTO_FD int fd = -1;                    close(fd) if fd >= 0
 *   AUTO_DIR DIR *dir = NULL;               closedir(dir) if dir != NULL
 *   AUTO_FREE char *text = NULL;            free(text)
 *   AUTO(thing) struct thing *t = NULL;     thing_free(t), after DEFINE_CLEANUP(thing)
 *
 * TAKE_FD and TAKE_PTR return the value and reset the variable: ownership moves to the reader. */
#pragma once
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void cleanup_dir(DIR *const *dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static inline void cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}

#define AUTO_FD   CLEANUP(cleanup_fd)
#define AUTO_DIR  CLEANUP(cleanup_dir)
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

/* Makes AUTO(mod) call `struct mod *mod_free(struct mod *)`, which must accept NULL. */
#define DEFINE_CLEANUP(mod)                                                                        \
	static inline void cleanup_##mod(struct mod **ptr)                                         \
	{                                                                                          \
		(void)mod##_free(*ptr);                                                            \
	}
