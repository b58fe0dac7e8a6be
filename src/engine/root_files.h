/* root_files.h - files that the root of every sandbox has, because the environment of programs or
 * the tables of languages name them. Every engine places them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct root_file {
	const char *path, *text; /* the path has no slash in front */
	bool is_program;
};

/* The directory of programs, which is the last one of PATH (sandbox/run/exec_request.c), so that a
 * program of the same name of the image or of a virtual environment comes first. */
#define ROOT_PROGRAMS "etc/belljar"

extern const struct root_file root_files[];
extern const size_t root_file_count;
