/* confine.h - the server gives up what it does not need once the spawner is there.
 *
 * As root it becomes somebody who is nobody on the host. No new privileges by any exec, and no
 * system calls but those a program in a sandbox may make. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Whom root becomes: an id of the range systemd keeps for containers, which owns db/ and servers/.
 * 0 where there is no such id: root of a container with few ids stays what it is. */
uid_t confine_id(void);

MUST_CHECK int confine_server(struct error *err);
