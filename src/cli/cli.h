/* cli.h - the command line: from the arguments to an exit status.
 *
 * The status is 0 when the verb is done, 1 when it failed, and 2 when arguments, environment or
 * configuration are wrong; some verbs return the status of the program they ran. Errors go to
 * standard error as "belljar: ...". */
#pragma once

/* `args` is main()'s argv: the program's name first, NULL-terminated. */
int cli_run(char *const *args, char *const *environment);
