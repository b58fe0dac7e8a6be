/* stats.h - the sandbox in numbers, as far as they can be seen from inside. */
#pragma once
#include "agent/files/job.h"

MUST_CHECK int stats_read(const struct job *job, struct wire_stats_are *ret, struct error *err);
