/* package_module.h - the module whose absence has ended a run, and the package that brings it.
 *
 * Names come from the output of programs in a sandbox, so they are hostile: they are parsed like
 * the specifiers of a caller (package_spec.h). */
#pragma once
#include <stdbool.h>

#include "base/view.h"
#include "tools/packages/package_spec.h"

struct process_state;

enum { PACKAGE_MODULE_MAX = 100 };

struct package_missing {
	bool is_python; /* else a module of Node */
	char module[PACKAGE_MODULE_MAX + 1];
	char package[PACKAGE_SPEC_MAX + 1]; /* a bare name */
};

/* Whether the run has ended because a module is missing that a package may bring. `errors` is the
 * end of its stderr. */
bool package_missing_find(const struct process_state *state, struct view errors,
                          struct package_missing *ret);
/* The package that brings a module of Python. False: none does, or the name is malformed. */
bool package_of_module(struct view module, char ret[PACKAGE_SPEC_MAX + 1]);
/* Whether running the command again repeats nothing but one program of Python or Node: it is one
 * such program, or `cd DIRECTORY &&` and one. *ret_dir is that directory, or empty. */
bool package_command_is_simple(const char *command, struct view *ret_dir);
