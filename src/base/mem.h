/* mem.h - allocation that does not fail.
 *
 * Every size a stranger controls has been capped before it comes here, so running out
 * of memory is our own failure: the process says so and aborts. */
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

void *mem_new(size_t size) RETURNS_NONNULL;                 /* zeroed */
void *mem_array(size_t count, size_t size) RETURNS_NONNULL; /* zeroed */
void *mem_resize(void *ptr, size_t size) RETURNS_NONNULL;   /* realloc */
/* Gives freed memory back to the system if so many bytes were in use: allocators keep it. */
void mem_trim(size_t freed);
char *mem_dup(const char *text) RETURNS_NONNULL;                 /* strdup */
char *mem_dup_len(const char *text, size_t len) RETURNS_NONNULL; /* adds the terminator */
char *mem_format(const char *fmt, ...) PRINTF_LIKE(1, 2) RETURNS_NONNULL;
char *mem_vformat(const char *fmt, va_list args) PRINTF_LIKE(1, 0) RETURNS_NONNULL;
