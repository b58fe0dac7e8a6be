/* attr.h - compiler attributes and the three macros every file may use. */
#pragma once
#include <stddef.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(__printf__, fmt, args)))
#define MUST_CHECK             __attribute__((warn_unused_result))
#define CLEANUP(fn)            __attribute__((cleanup(fn)))
#define RETURNS_NONNULL        __attribute__((returns_nonnull))
#define NORETURN               __attribute__((noreturn))
#define UNUSED                 __attribute__((unused))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* From a pointer to a member back to the object that embeds it. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
