/* agent_image.h - the agent's programs, which are embedded in belljar as bytes, and how they are
 * executed. The agent on the host is the agent with the rules for copies out of a sandbox
 * (agent/files/export/export.h); the agent in a sandbox needs none of them.
 *
 *   agent_image_open -> fork or clone3 -> agent_image_exec in the child
 *
 * The program is executed from a sealed memfd: no path is looked up whose file could be replaced,
 * and nothing inside a sandbox can write to the host's copy through /proc/PID/exe (CVE-2019-5736,
 * runc). Where executing from a memfd is forbidden (vm.memfd_noexec=2), an unlinked temporary file
 * takes its place. The caller owns the descriptor. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum agent_place { AGENT_IN_SANDBOX, AGENT_ON_HOST };

struct view agent_image(enum agent_place place);

/* A descriptor of the program, close-on-exec. `sealed` (may be NULL) tells whether it is a
 * memfd. */
MUST_CHECK int agent_image_open(enum agent_place place, bool *sealed, struct error *err);

/* Executes the agent in the calling process, a child after fork. The channel becomes descriptor 3,
 * 0 and 1 become /dev/null, 2 stays, all other descriptors are closed; the environment is empty.
 * `user` is the id whose programs the agent will probably start, so that it can prepare for that,
 * or 0. `exports` is NULL for an agent in a sandbox. An agent on the host gets the set of trusted
 * kinds (base/trusted/trusted_names.h) that it may write; it serves the working directory and no
 * other root that the server may name. Returns only if executing failed. */
int agent_image_exec(int image, int channel, unsigned user, const uint64_t *exports,
                     struct error *err);
