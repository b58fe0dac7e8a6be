/* kernels.h - programs that run inside a sandbox, carried by the server as text.
 *
 * A kernel is the interpreter's side of the protocol in sandbox/interpreter/kernel_wire.h. The
 * interpreter is started with a short loader on its command line. The loader reads the BOOT frame
 * from descriptor 3 and runs the text in it, so `ps` shows the loader and not the kernel. BOOT has
 * the Python kernel as compiled code (scripts/compile-kernel.py); a Python with another byte code
 * asks for the text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

struct kernel_program {
	const char *language;        /* a row of languages.h: "python", "javascript" */
	const char *host;            /* the row whose program runs the kernel; NULL: the same */
	bool needs_language;         /* the language must be installed beside its host */
	const char *runners;         /* " python3 python ": programs of the row that can run it */
	const char *const *options;  /* the loader, behind the interpreter's path; ends in NULL */
	const char *text, *text_end; /* from X_image.S; see kernel_source() */
	const char *source, *source_end; /* the same as text, if the kernel may ask for it */
	/* Text in front of the kernel in the BOOT frame of a process that is to run cells. */
	const char *session_prefix;
	/* Python statements in front of the kernel in the BOOT frame of a process for fresh runs,
	 * behind `former = 'NAMES'`, which says what earlier runs have assigned. NULL: neither. */
	const char *fresh_prefix;
	/* Prefixes of environment variables that the interpreter reads only when it starts. A run
	 * that sets one of them cannot use a waiting interpreter. Ends in NULL. */
	const char *const *startup_env;
	/* The waiting process forks a child for each fresh run and serves the next one after it
	 * (Python). Otherwise the waiting process becomes the run and exits with it (Node). */
	bool is_reusable;
	/* The kernel for a fresh run that finds no waiting process: the new process gets RUN right
	 * behind BOOT and becomes the run. NULL: this one. `waiting` leads back. */
	const struct kernel_program *once, *waiting;
	bool limits_data;     /* raises an error when memory is short; others do not recover */
	bool saves_in_memory; /* a fresh run's code goes to CODE_DIR_MEMORY, if that has room */
	bool runs_cells_only; /* a fresh run is a program of its own, as for any other language */
};

extern const struct kernel_program kernel_python, kernel_python_once, kernel_node,
        kernel_typescript, kernel_typescript_stripped, kernel_typescript_compiled, kernel_bash,
        kernel_ruby, kernel_r, kernel_java;

/* The text for the BOOT frame, behind the prefix. */
static inline struct view kernel_source(const struct kernel_program *program)
{
	return (struct view){ program->text, (size_t)(program->text_end - program->text) };
}

/* packages_python.py and packages_node.js: programs that install packages. */
extern const char packages_python_text[], packages_node_text[];
/* python_needs.py: tells which packages a command needs. */
extern const char python_needs_text[];

extern const char r_fresh_text[]; /* r_fresh.R, the profile of fresh runs */

/* programs/: programs that compile and run code, for command lines of the table of languages. */
extern const char java_compile_text[], java_run_text[], java_snippets_text[];
extern const char kotlin_compile_text[], kotlin_run_text[], typescript_compile_text[];

/* python_modules.py: prints as JSON what Python modules offer. Not a kernel, but code for a fresh
 * run. */
struct view python_modules_source(void);
