/* confine.h - the server gives up what it does not need once the spawner is there.
 *
 * As root it becomes somebody who is nobody on the host. No new privileges by any exec, and no
 * system calls but those a program in a sandbox may make. */
#pragma once
#include "base/attr.h"

struct error;

enum { SERVER_ID = 524289 }; /* of the range systemd keeps for containers; owns db/ and servers/ */

MUST_CHECK int confine_server(struct error *err);
