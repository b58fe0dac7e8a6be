/* die.h - the end of the agent, and of everything in the sandbox with it. */
#pragma once
#include "base/attr.h"

NORETURN void die(const char *why); /* says so on stderr */
