/* process_list.h - the processes in a sandbox that is awake, for `belljar ps SANDBOX`.
 *
 * The agent reads /proc for this: a program in the sandbox sees only its own processes. The numbers
 * and names come from programs in the sandbox, which can choose them; they are escaped before they
 * are printed. Belljar's own processes in the sandbox have another user id and are not listed,
 * except in the mode USERNS_SINGLE_ID, where all processes have the same one. */
#pragma once
#include "cli/verb.h"

struct error;

/* Prints the processes of the sandbox, a name or an id, as lines or as JSON. Fails if it is
 * asleep. */
enum verb_result process_list_run(const struct verb_call *call, const char *sandbox,
                                  struct error *err);
