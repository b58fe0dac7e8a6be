/* project_command.h - whether a run starts Python or Node, and in which directory: the project that
 * the run belongs to.
 *
 * A command is read like a shell reads it, as far as that needs no expansion: words, quotes,
 * here-documents, `cd DIRECTORY` in front of the program. What cannot be read so belongs to no
 * project, which costs only that its packages are not installed before the run. */
#pragma once
#include <stdbool.h>

struct process_options;

enum { PROJECT_DIR_SIZE = 512 };

struct project_place {
	bool is_python; /* else Node */
	/* Absolute and without "..". Further directories are for a project that has no file in
	 * those before: the script may be below the working directory. */
	char dirs[2][PROJECT_DIR_SIZE];
	unsigned dir_count;
};

/* False: the run starts neither, or only asks for a version or for help. */
bool project_place_find(const struct process_options *options, struct project_place *ret);
