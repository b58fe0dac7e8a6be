/* kernels.h - the interpreters' sides of the conversation in sandbox/kernel_wire.h, as text.
 *
 * An interpreter is started with a loader on its command line that reads BOOT from descriptor 3
 * and runs what is in it. The loader is all that `ps` shows of it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

struct kernel_program {
	const char *language;        /* a row of languages.h: "python", "javascript" */
	const char *const *options;  /* the loader, behind the interpreter's path; NULL ends it */
	const char *text, *text_end; /* X_image.S; see kernel_source() */
	/* What BOOT begins with for a process that is to run cells; "" if that makes no
	 * difference. */
	const char *session_prefix;
	/* How names of variables begin that an interpreter reads only as it starts: a run whose
	 * env has one of them needs an interpreter of its own. NULL ends it. */
	const char *const *startup_env;
	/* Python waits in a process that forks for each fresh run and stays; a Node that waited
	 * becomes the run and ends with it. */
	bool is_reusable;
};

extern const struct kernel_program kernel_python, kernel_node;

/* For BOOT, behind the prefix. */
static inline struct view kernel_source(const struct kernel_program *program)
{
	return (struct view){ program->text, (size_t)(program->text_end - program->text) };
}
