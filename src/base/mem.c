#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t size)
{
	(void)fprintf(stderr, "belljar: out of memory (%zu bytes)\n", size);
	abort();
}

void *mem_array(size_t count, size_t size)
{
	void *ptr = calloc(count != 0 ? count : 1, size != 0 ? size : 1);

	if (ptr == NULL)
		out_of_memory(size);
	return ptr;
}

void *mem_new(size_t size)
{
	return mem_array(1, size);
}

void *mem_resize(void *ptr, size_t size)
{
	void *grown = realloc(ptr, size != 0 ? size : 1);

	if (grown == NULL)
		out_of_memory(size);
	return grown;
}

void mem_trim(size_t freed_bytes)
{
#ifdef __GLIBC__
	if (freed_bytes > 64 * 1024)
		(void)malloc_trim(0);
#else
	(void)freed_bytes;
#endif
}

char *mem_dup_len(const char *text, size_t len)
{
	char *copy = mem_new(len + 1);

	if (len != 0)
		memcpy(copy, text, len);
	return copy;
}

char *mem_dup(const char *text)
{
	return mem_dup_len(text, strlen(text));
}

char *mem_vformat(const char *fmt, va_list args)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		out_of_memory(0);
	return text;
}

char *mem_format(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = mem_vformat(fmt, args);
	va_end(args);
	return text;
}
