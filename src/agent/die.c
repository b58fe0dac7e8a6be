#include "agent/die.h"

#include <string.h>
#include <unistd.h>

enum { EXIT_AGENT = 70 };

void die(const char *why)
{
	static const char prefix[] = "belljar-agent: ";

	(void)!write(STDERR_FILENO, prefix, sizeof prefix - 1);
	(void)!write(STDERR_FILENO, why, strlen(why));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(EXIT_AGENT);
}
