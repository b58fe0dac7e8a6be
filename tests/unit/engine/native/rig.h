/* rig.h - what the tests of src/engine/native share: a temporary directory, files of a given size,
 * and checks that run in a child process. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "unit/test.h"

enum { NOBODY = 65534 };

struct test_dir {
	char path[64];
	int above; /* the directory it is in */
	int fd;
};

/* Creates a directory in /tmp, or in `above`. */
void test_dir_open(struct test_dir *dir);
void test_dir_open_in(struct test_dir *dir, const char *above);
/* Removes it with everything in it. */
void test_dir_remove(struct test_dir *dir);

/* Creates a file of `size` bytes, rounded up to 4096, whose blocks are allocated. */
void write_test_file(int at, const char *name, size_t size);

/* Calls fn(fd) in a child process and fails unless it returns 0. */
void check_in_child(int (*fn)(int fd), int fd);
/* Becomes user and group 65534 for good, if it is root now. False: that failed. */
bool become_nobody(void);
