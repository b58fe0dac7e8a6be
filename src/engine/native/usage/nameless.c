#include "engine/native/usage/nameless.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "engine/native/usage/tree_pids.h"

enum { SEEN_BITS = 16, SEEN_MAX = 3 << (SEEN_BITS - 2), LOOKS_MAX = 1 << 20 };

/* That a file is taken for: the sum of as many as can be looked at does not overflow. */
static const uint64_t largest = 1ULL << 43;
static const struct disk_use too_much = { 1ULL << 62, 1ULL << 62 };

struct seen {
	dev_t dev;
	ino_t ino;      /* 0: this place is free */
	uint64_t bytes; /* UINT64_MAX: counted, and its size was known */
};

struct search {
	const struct nameless_where *where;
	int proc;
	dev_t overlay; /* the sandbox's */
	struct disk_use use;
	struct seen *seen; /* by a hash nobody can foresee */
	uint64_t seed;
	size_t count, looks;
	pid_t last[KCMP_TYPES]; /* whose files and whose memory were looked at last */
};

static struct seen *find(struct search *search, dev_t dev, ino_t ino)
{
	size_t at = (size_t)((ino * search->seed) >> (64 - SEEN_BITS));

	while (search->seen[at].ino != 0 &&
	       (search->seen[at].ino != ino || search->seen[at].dev != dev))
		at = (at + 1) % (1 << SEEN_BITS);
	return &search->seen[at];
}

/* Several may hold the same. Past the maximum they count twice, which is on the safe side. */
static void add(struct search *search, dev_t dev, ino_t ino, uint64_t bytes, bool is_size)
{
	struct seen none = { 0 }, *seen = find(search, dev, ino);

	if (seen->ino == 0) {
		search->use.inodes++;
		if (search->count++ >= SEEN_MAX)
			seen = &none;
		*seen = (struct seen){ .dev = dev, .ino = ino };
	}
	if (bytes > seen->bytes) {
		search->use.bytes += bytes - seen->bytes;
		seen->bytes = bytes;
	}
	if (is_size)
		seen->bytes = UINT64_MAX;
}

/* Of an overlay's file stat and maps tell different devices, but the same inode. */
static dev_t device(const struct search *search, const struct stat *st)
{
	return search->where->below != 0 ? 0 : st->st_dev;
}

static bool is_nameless(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 0;
}

/* O_PATH: nothing of the sandbox's is opened by it, nothing can make us wait. False: we may not. */
static bool look(struct search *search, int dir, const char *name)
{
	AUTO_FD int fd = -1;
	struct statfs fs;
	struct stat st;

	if (fstatat(dir, name, &st, 0) < 0)
		return errno != EPERM;
	if (!is_nameless(&st) || find(search, device(search, &st), st.st_ino)->ino != 0)
		return true;
	fd = openat(dir, name, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && is_nameless(&st) && fstatfs(fd, &fs) == 0 &&
	    (unsigned long)fs.f_type == search->where->type)
		add(search, device(search, &st), st.st_ino, (uint64_t)st.st_blocks * 512, true);
	return true;
}

static bool look_in(struct search *search, pid_t thread, const char *place)
{
	char path[32];
	const struct dirent *entry;
	bool may = true;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof path, "%d/%s", thread, place);
	fd = openat(search->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	while (may && (entry = readdir(dir)) != NULL && search->looks++ < LOOKS_MAX)
		if (entry->d_name[0] != '.')
			may = look(search, fd, entry->d_name);
	(void)closedir(dir);
	return may;
}

/* A line of maps: FROM-TO RIGHTS OFFSET MAJOR:MINOR INODE NAME. A name that only looks like that of
 * a deleted file counts twice. */
static void add_mapping(struct search *search, char *line, size_t len)
{
	static const char deleted[] = " (deleted)\n";
	size_t end = sizeof deleted - 1;
	uint64_t from, to, offset, bytes;
	unsigned major;
	dev_t dev;
	ino_t ino;

	if (len <= end || memcmp(line + len - end, deleted, end) != 0)
		return;
	from = strtoull(line, &line, 16);
	to = strtoull(line + 1, &line, 16);
	line = strchr(line + 1, ' '); /* there is one: see above */
	offset = strtoull(line, &line, 16);
	major = (unsigned)strtoul(line, &line, 16);
	dev = makedev(major, (unsigned)strtoul(line + 1, &line, 16));
	ino = strtoull(line, NULL, 10);
	bytes = offset < largest ? offset + (to - from) : largest;
	if (ino != 0 && (dev == search->overlay || dev == search->where->below))
		add(search, 0, ino, bytes < largest ? bytes : largest, false);
}

static void look_at_maps(struct search *search, pid_t thread)
{
	char path[32];
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *file;
	int fd;

	(void)snprintf(path, sizeof path, "%d/maps", thread);
	fd = openat(search->proc, path, O_RDONLY | O_CLOEXEC);
	file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (file == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (search->looks++ < LOOKS_MAX && (len = getline(&line, &room, file)) > 0)
		add_mapping(search, line, (size_t)len);
	(void)fclose(file);
}

/* Most threads share both with the one before. Who cannot tell looks at them all. */
static bool is_same(struct search *search, pid_t thread, int what)
{
	pid_t last = search->last[what];

	search->last[what] = thread;
	return syscall(SYS_kcmp, last, thread, what, 0, 0) == 0;
}

static bool look_at_open(void *search, pid_t thread)
{
	if (!is_same(search, thread, KCMP_FILES))
		(void)look_in(search, thread, "fd");
	return true;
}

/* What is mapped after its descriptor was closed. */
static bool look_at_mapped(void *ctx, pid_t thread)
{
	struct search *search = ctx;

	if (!is_same(search, thread, KCMP_VM) && !look_in(search, thread, "map_files") &&
	    search->where->below != 0)
		look_at_maps(search, thread);
	return true;
}

static dev_t device_of_root(int proc, pid_t pid)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof path, "%d/root", pid);
	return fstatat(proc, path, &st, 0) == 0 ? st.st_dev : 0;
}

/* First all that is open, of which the size is known. */
struct disk_use nameless_files(int proc, pid_t pid, const struct nameless_where *where)
{
	static pid_t all[TREE_PIDS_MAX];
	AUTO_FREE struct seen *seen = mem_array(1 << SEEN_BITS, sizeof *seen);
	struct search search = {
		.where = where, .proc = proc, .overlay = device_of_root(proc, pid), .seen = seen
	};
	size_t count = tree_pids(proc, pid, all);

	(void)!getrandom(&search.seed, sizeof search.seed, GRND_NONBLOCK);
	search.seed |= 1;
	for (size_t i = 0; i < count; i++)
		tree_threads(proc, all[i], look_at_open, &search);
	for (size_t i = 0; i < count; i++)
		tree_threads(proc, all[i], look_at_mapped, &search);
	return search.looks < LOOKS_MAX ? search.use : too_much;
}
