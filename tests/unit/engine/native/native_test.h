/* native_test.h - what the tests of src/engine/native share: a directory to work in, and children. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/tree/remove_tree.h"
#include "unit/test.h"

enum { NOBODY = 65534 };

struct place {
	char path[64];
	int above, fd;
};

static inline void place_start_in(struct place *place, const char *below)
{
	(void)snprintf(place->path, sizeof place->path, "%s/belljar-test-native-XXXXXX", below);
	assert_non_null(mkdtemp(place->path));
	place->above = open(below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
}

static inline void place_start(struct place *place)
{
	place_start_in(place, "/tmp");
}

static inline void place_stop(struct place *place)
{
	struct view shown = view_of(place->path);
	struct error err;
	uint64_t count;

	(void)close(place->fd);
	CHECK_OK(remove_tree(place->above, strrchr(place->path, '/') + 1, shown, &count, &err),
	         err);
	(void)close(place->above);
}

static inline void put(int at, const char *name, size_t size)
{
	AUTO_FD int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	static const char bytes[4096] = "x";

	assert_true(fd >= 0);
	for (size_t done = 0; done < size; done += sizeof bytes)
		assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(fsync(fd), 0); /* blocks are chosen when it is written */
}

/* Runs fn in a child; 0 is what it has to return. */
static inline void in_child(int (*fn)(int fd), int fd)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(fn(fd));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
