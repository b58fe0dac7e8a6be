/* bytes.h - reads and writes big endian numbers at any address, aligned or not. */
#pragma once
#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_get16(const char *at)
{
	uint16_t n;

	memcpy(&n, at, sizeof n);
	return be16toh(n);
}

static inline uint32_t bytes_get32(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof n);
	return be32toh(n);
}

static inline uint64_t bytes_get64(const char *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof n);
	return be64toh(n);
}

static inline void bytes_put16(char *at, uint16_t n)
{
	n = htobe16(n);
	memcpy(at, &n, sizeof n);
}

static inline void bytes_put32(char *at, uint32_t n)
{
	n = htobe32(n);
	memcpy(at, &n, sizeof n);
}

static inline void bytes_put64(char *at, uint64_t n)
{
	n = htobe64(n);
	memcpy(at, &n, sizeof n);
}
