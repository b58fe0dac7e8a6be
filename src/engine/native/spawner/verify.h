/* verify.h - a look at a new sandbox from outside: is it as closed as it was meant to be?
 *
 * Not by its own word, but by the kernel's: namespaces, capabilities, filters, ids. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/root/home.h"

struct error;

MUST_CHECK int verify_from_outside(const struct home *home, pid_t pid, struct error *err);
