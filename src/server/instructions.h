/* instructions.h - what a client is told about this server when it connects: the catalogue's text,
 * and whether the default sandbox has files of earlier conversations. */
#pragma once
#include <stddef.h>

struct manager;

/* `manager` may be NULL: no sandbox can be used. */
void instructions_write(struct manager *manager, const char *owner, char *out, size_t size);
