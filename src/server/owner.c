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

const char *owner_choose(const char *user)
{
	static char owner[128];

	if (user == NULL)
		return owner_local();
	(void)snprintf(owner, sizeof owner, "user:%s", user);
	return owner;
}
