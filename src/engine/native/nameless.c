#include "engine/native/nameless.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "engine/native/tree_pids.h"

/* Descriptors, and what is mapped after its descriptor was closed. */
static const char *const places[] = { "fd", "map_files" };

enum { SEEN_MAX = 8192 };

struct seen {
	dev_t dev;
	ino_t ino;
};

struct search {
	unsigned long type;
	struct disk_use use;
	struct seen seen[SEEN_MAX];
	size_t count;
};

/* Several may hold the same. Past the maximum they count twice, which is on the safe side. */
static bool is_new(struct search *search, const struct stat *st)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->seen[i].dev == st->st_dev && search->seen[i].ino == st->st_ino)
			return false;
	if (search->count < SEEN_MAX)
		search->seen[search->count++] = (struct seen){ st->st_dev, st->st_ino };
	return true;
}

/* O_PATH: nothing of the sandbox's is opened by it, nothing can make us wait. */
static void look(struct search *search, int dir, const char *name)
{
	AUTO_FD int fd = openat(dir, name, O_PATH | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0)
		return;
	if (fstatfs(fd, &fs) < 0 || (unsigned long)fs.f_type != search->type ||
	    !is_new(search, &st))
		return;
	search->use.bytes += (uint64_t)st.st_blocks * 512;
	search->use.inodes++;
}

static void look_in(struct search *search, int proc, pid_t pid, const char *place)
{
	char path[32];
	const struct dirent *entry;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof path, "%d/%s", pid, place);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			look(search, fd, entry->d_name);
	(void)closedir(dir);
}

struct disk_use nameless_files(int proc, pid_t pid, unsigned long type)
{
	static struct search search;
	static pid_t all[TREE_PIDS_MAX];
	size_t count = tree_pids(proc, pid, all);

	search.type = type;
	search.use = (struct disk_use){ 0 };
	search.count = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < ARRAY_LEN(places); j++)
			look_in(&search, proc, all[i], places[j]);
	return search.use;
}
