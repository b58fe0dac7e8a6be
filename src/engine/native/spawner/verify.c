#include "engine/native/spawner/verify.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* SETUID, SETGID, KILL. */
enum { AGENT_CAPABILITIES = 1 << 7 | 1 << 6 | 1 << 5 };

static const struct line {
	const char *name;
	int base;
	bool depends; /* on whether the agent has an id of its own */
	unsigned long long value;
} lines[] = {
	{ "\nCapInh:\t", 16, true, AGENT_CAPABILITIES },
	{ "\nCapPrm:\t", 16, true, AGENT_CAPABILITIES },
	{ "\nCapEff:\t", 16, true, AGENT_CAPABILITIES },
	{ "\nCapBnd:\t", 16, false, 0 },
	{ "\nNoNewPrivs:\t", 10, false, 1 },
	{ "\nSeccomp:\t", 10, false, 2 },
};

/* The agent gives some up itself as soon as it runs: fewer is fine. */
static bool fits(const struct line *line, unsigned long long value, bool alone)
{
	if (!line->depends)
		return value == line->value;
	return (value & ~(alone ? 0ULL : line->value)) == 0;
}

int verify_from_outside(const struct home *home, pid_t pid, struct error *err)
{
	char path[32], text[8192];
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/status", pid);
	fd = openat(home->proc, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (n <= 0)
		return error_sys(err, "look at the new sandbox");
	text[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const char *found = strstr(text, lines[i].name);
		unsigned long long value = found != NULL ? strtoull(found + strlen(lines[i].name),
		                                                    NULL, lines[i].base)
		                                         : ~0ULL;

		if (!fits(&lines[i], value, home->mode == HOME_ALONE))
			return error_set(err, ERR_SYSTEM,
			                 "the new sandbox is not closed: %.*s is %llx",
			                 (int)strlen(lines[i].name) - 3, lines[i].name + 1, value);
	}
	return 0;
}
