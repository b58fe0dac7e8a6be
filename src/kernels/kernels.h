/* kernels.h - programs that run inside a sandbox, carried by the server as text.
 *
 * A kernel is the interpreter's side of the protocol in sandbox/interpreter/kernel_wire.h. The
 * interpreter is started with a short loader on its command line. The loader reads the BOOT frame
 * from descriptor 3 and runs the text in it, so `ps` shows the loader and not the kernel. The
 * Python kernel is carried as compiled code too (scripts/compile-kernel.py). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

struct kernel_program {
	const char *language;        /* a row of languages.h: "python", "javascript" */
	const char *host;            /* the row whose program runs the kernel; NULL: the same */
	const char *const *options;  /* the loader, behind the interpreter's path; ends in NULL */
	const char *text, *text_end; /* from X_image.S; see kernel_source() */
	/* Text in front of the kernel in the BOOT frame of a process that is to run cells. */
	const char *session_prefix;
	/* Prefixes of environment variables that the interpreter reads only when it starts. A run
	 * that sets one of them cannot use a waiting interpreter. Ends in NULL. */
	const char *const *startup_env;
	/* The waiting process forks a child for each fresh run and serves the next one after it
	 * (Python). Otherwise the waiting process becomes the run and exits with it (Node). */
	bool is_reusable;
	bool runs_cells_only; /* a fresh run is a program of its own, as for any other language */
};

extern const struct kernel_program kernel_python, kernel_node, kernel_typescript, kernel_bash,
        kernel_ruby, kernel_r;

/* The text for the BOOT frame, behind the prefix. */
static inline struct view kernel_source(const struct kernel_program *program)
{
	return (struct view){ program->text, (size_t)(program->text_end - program->text) };
}

extern const char java_snippets_text[]; /* java_snippets.java, the program that runs snippets */

/* python_modules.py: prints as JSON what Python modules offer. Not a kernel, but code for a fresh
 * run. */
struct view python_modules_source(void);
