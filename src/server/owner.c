#include "server/owner.h"

#include <stdio.h>
#include <unistd.h>

/* The first call determines the owner. It must come before confine_server(), which changes the user
 * id. */
const char *owner_local(void)
{
	static char owner[24];

	if (owner[0] == '\0')
		(void)snprintf(owner, sizeof owner, "uid:%u", getuid());
	return owner;
}
