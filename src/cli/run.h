/* run.h - the whole program but for main(): from arguments to an exit status.
 *
 * 0: done, 1: failed, 2: called in a wrong way (arguments, environment, configuration).
 * Errors go to standard error as "belljar: ...". */
#pragma once

/* args is argv: NULL-terminated, the program's name first. */
int cli_run(char *const *args, char *const *environment);
