/* terminal.h - this process's terminal in raw mode, for a program in a sandbox, and its
 * restoration.
 *
 * In raw mode every key is passed on as it is typed, Ctrl-C included. The old mode is restored when
 * this process exits, is stopped or is killed by a signal other than SIGKILL. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct ansi_filter;

/* Saves the file status flags of the standard streams, which are shared with the parent process.
 * Must be called before the loop makes the streams non-blocking. */
void terminal_save_flags(void);
MUST_CHECK int terminal_set_raw(struct error *err);
/* Restores the mode, and undoes what `drawn` recorded of the program's escape sequences (alternate
 * screen, hidden cursor). Does nothing if the mode is not raw. */
void terminal_restore(struct ansi_filter *drawn);

void terminal_size(uint16_t *rows, uint16_t *columns);
