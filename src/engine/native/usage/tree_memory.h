/* tree_memory.h - the memory of a process and all its descendants, added up. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes, memory files that are held open included; pages that several share count once (or as
 * often as they are used, where the kernel does not tell). `proc`: a /proc that shows them. */
uint64_t tree_memory(int proc, pid_t pid);
