/* terminal.h - whoever's terminal we are on, lent to a program in a sandbox, and given back.
 *
 * While it is lent every key is passed on as it comes, Ctrl-C too. It is given back however this
 * process ends or is stopped, unless it is killed outright. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct ansi_filter;

/* Before anything makes the standard streams non-blocking: signals put that right too. */
void terminal_note(void);
MUST_CHECK int terminal_lend(struct error *err);
/* `drawn`: what the program did to the screen; that is put right too. Fine if it was not lent. */
void terminal_give_back(struct ansi_filter *drawn);

void terminal_size(uint16_t *rows, uint16_t *columns);
