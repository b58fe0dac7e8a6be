/* attr.h - compiler attributes, ARRAY_LEN() and container_of(). */
#pragma once
#include <stddef.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(__printf__, fmt, args)))
#define MUST_CHECK             __attribute__((warn_unused_result))
#define CLEANUP(fn)            __attribute__((cleanup(fn)))
#define RETURNS_NONNULL        __attribute__((returns_nonnull))
#define NORETURN               __attribute__((noreturn))
#define UNUSED                 __attribute__((unused))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The object that embeds the member `ptr` points to. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
