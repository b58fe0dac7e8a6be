/* launch.h - from a forked child to the program that was asked for. */
#pragma once
#include "agent/program/keeper.h"
#include "base/attr.h"

struct user;

/* Becomes the program, or writes a struct error to `report` and exits. */
NORETURN void launch(const struct program *program, int report);

/* The user's rights for good, verified. The workers need it too. */
MUST_CHECK int become(const struct user *user, struct error *err);
