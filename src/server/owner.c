#include "server/owner.h"

#include <stdio.h>
#include <unistd.h>

const char *owner_local(void)
{
	static char owner[24];

	if (owner[0] == '\0')
		(void)snprintf(owner, sizeof owner, "uid:%u", getuid());
	return owner;
}
