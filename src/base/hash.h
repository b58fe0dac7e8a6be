/* hash.h - FNV-1a. The hash has no secret seed: a program that chooses the texts can make two of
 * them collide. */
#pragma once
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ULL
#define HASH_PRIME 0x100000001b3ULL

/* Continues the hash, which begins as HASH_START, with one more text. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
	return hash * HASH_PRIME; /* "ab","c" and "a","bc" hash differently */
}
