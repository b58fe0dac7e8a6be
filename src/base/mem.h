/* mem.h - allocation that cannot fail: when memory runs out, the process writes a message and
 * aborts.
 *
 * Every size that comes from input has been checked against a limit before it gets here, so
 * running out of memory is a bug or a too small machine, and no caller has a way to go on. */
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

void *mem_new(size_t size) RETURNS_NONNULL;                 /* zeroed */
void *mem_array(size_t count, size_t size) RETURNS_NONNULL; /* zeroed */
void *mem_resize(void *ptr, size_t size) RETURNS_NONNULL;   /* realloc */
/* malloc_trim() if more than 64 KiB were freed. Otherwise glibc keeps the memory of one large
 * message for the rest of the process's life. */
void mem_trim(size_t freed_bytes);
char *mem_dup(const char *text) RETURNS_NONNULL;                 /* strdup */
char *mem_dup_len(const char *text, size_t len) RETURNS_NONNULL; /* adds the terminator */
char *mem_format(const char *fmt, ...) PRINTF_LIKE(1, 2) RETURNS_NONNULL;
char *mem_vformat(const char *fmt, va_list args) PRINTF_LIKE(1, 0) RETURNS_NONNULL;
