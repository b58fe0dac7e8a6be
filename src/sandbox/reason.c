#include "sandbox/reason.h"

#include <stdio.h>

void reason_tell(enum engine_end end, const struct spec_limits *limits, const char *known,
                 const char *why, char *out, size_t size)
{
	switch (end) {
	case ENGINE_END_OUT_OF_MEMORY:
		(void)snprintf(out, size, "memory: it used more than %llu MiB",
		               (unsigned long long)(limits->memory >> 20));
		return;
	case ENGINE_END_DISK_LIMIT:
		(void)snprintf(out, size, "disk: it wrote more than %llu MiB or %llu files",
		               (unsigned long long)(limits->disk >> 20),
		               (unsigned long long)limits->inodes);
		return;
	case ENGINE_END_KILLED:
		return;
	case ENGINE_END_AGENT_DIED:
	case ENGINE_END_ENGINE_LOST:
		break;
	}
	if (end == ENGINE_END_ENGINE_LOST || known[0] == '\0')
		(void)snprintf(out, size, "%s", why);
}
