/* unlinked.c - files without a directory entry that processes hold open or mapped. */
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
#include "base/fd.h"
#include "base/mem.h"
#include "engine/native/usage/internal.h"

enum { SEEN_BITS = 16, SEEN_MAX = 3 << (SEEN_BITS - 2), ENTRIES_MAX = 1 << 20 };

/* The offset of a mapping is the program's choice. Capped at 2^43, the sum of ENTRIES_MAX files
 * does not overflow. */
static const uint64_t mapped_max = 1ULL << 43;
static const struct disk_usage over_any_limit = { 1ULL << 62, 1ULL << 62 };

/* A file that was counted already. */
struct seen {
	dev_t dev;
	ino_t ino;      /* 0: this slot is free */
	uint64_t bytes; /* counted so far; UINT64_MAX: the size was known, no mapping adds to it */
};

struct search {
	const struct unlinked_filter *filter;
	int proc;
	dev_t overlay; /* the device number of the sandbox's root */
	struct disk_usage usage;
	struct seen *seen; /* hash table; the seed is random, so a program cannot choose inodes that
	                    * collide */
	uint64_t seed;
	size_t count, entries;
	pid_t last[KCMP_TYPES]; /* the thread whose descriptors or memory were searched last */
};

/* The slot of the file, or a free one: at most three quarters of the table are ever used. */
static struct seen *find_seen(struct search *search, dev_t dev, ino_t ino)
{
	size_t at = (size_t)((ino * search->seed) >> (64 - SEEN_BITS));

	while (search->seen[at].ino != 0 &&
	       (search->seen[at].ino != ino || search->seen[at].dev != dev))
		at = (at + 1) % (1 << SEEN_BITS);
	return &search->seen[at];
}

/* Several processes may hold the same file, which counts once. When the table is full, a file
 * counts as often as it is held: a sum that is too large ends a sandbox early, one that is too
 * small would let it exceed its limit. */
static void add_file(struct search *search, dev_t dev, ino_t ino, uint64_t bytes, bool is_size)
{
	struct seen none = { 0 }, *seen = find_seen(search, dev, ino);

	if (seen->ino == 0) {
		search->usage.inodes++;
		if (search->count++ >= SEEN_MAX)
			seen = &none;
		*seen = (struct seen){ .dev = dev, .ino = ino };
	}
	if (bytes > seen->bytes) {
		search->usage.bytes += bytes - seen->bytes;
		seen->bytes = bytes;
	}
	if (is_size)
		seen->bytes = UINT64_MAX;
}

/* stat(2) and /proc/PID/maps report different devices for a file on an overlay, but the same
 * inode: there only the inode identifies the file. */
static dev_t device_key(const struct search *search, const struct stat *st)
{
	return search->filter->below != 0 ? 0 : st->st_dev;
}

static bool is_unlinked(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 0;
}

/* `name` is a magic link such as /proc/PID/fd/3. stat(2) and O_PATH follow it without opening the
 * file: a FIFO would block, a device could have side effects. Returns false if the kernel refuses
 * (EPERM), as it does for map_files without CAP_CHECKPOINT_RESTORE. */
static bool check_held_file(struct search *search, int dir, const char *name)
{
	AUTO_FD int fd = -1;
	struct statfs fs;
	struct stat st;

	if (fstatat(dir, name, &st, 0) < 0)
		return errno != EPERM;
	if (!is_unlinked(&st) || find_seen(search, device_key(search, &st), st.st_ino)->ino != 0)
		return true;
	fd = openat(dir, name, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && is_unlinked(&st) && fstatfs(fd, &fs) == 0 &&
	    (unsigned long)fs.f_type == search->filter->type)
		add_file(search, device_key(search, &st), st.st_ino, (uint64_t)st.st_blocks * 512,
		         true);
	return true;
}

/* All entries of /proc/TID/fd or /proc/TID/map_files. Returns false if the kernel refuses to show
 * them. */
static bool check_proc_dir(struct search *search, pid_t thread, const char *name)
{
	char path[32];
	const struct dirent *entry;
	bool is_allowed = true;
	AUTO_DIR DIR *dir = NULL;

	(void)snprintf(path, sizeof path, "%d/%s", thread, name);
	dir = fd_open_dir(search->proc, path);
	if (dir == NULL)
		return false;
	while (is_allowed && (entry = readdir(dir)) != NULL && search->entries++ < ENTRIES_MAX)
		if (entry->d_name[0] != '.')
			is_allowed = check_held_file(search, dirfd(dir), entry->d_name);
	return is_allowed;
}

/* A line of /proc/PID/maps: FROM-TO RIGHTS OFFSET MAJOR:MINOR INODE NAME. A program can name a file
 * "x (deleted)"; it is then counted here and by disk_scan(). */
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
	line = strchr(line + 1, ' '); /* there is one: the line ends in " (deleted)" */
	offset = strtoull(line, &line, 16);
	major = (unsigned)strtoul(line, &line, 16);
	dev = makedev(major, (unsigned)strtoul(line + 1, &line, 16));
	ino = strtoull(line, NULL, 10);
	bytes = offset < mapped_max ? offset + (to - from) : mapped_max;
	if (ino != 0 && (dev == search->overlay || dev == search->filter->below))
		add_file(search, 0, ino, bytes < mapped_max ? bytes : mapped_max, false);
}

static void check_maps(struct search *search, pid_t thread)
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
	while (search->entries++ < ENTRIES_MAX && (len = getline(&line, &room, file)) > 0)
		add_mapping(search, line, (size_t)len);
	(void)fclose(file);
}

/* Most threads share descriptors and memory with the thread before. kcmp(2) needs the right to
 * ptrace; where it fails every thread is searched. */
static bool shares_with_last(struct search *search, pid_t thread, int what)
{
	pid_t last = search->last[what];

	search->last[what] = thread;
	return syscall(SYS_kcmp, last, thread, what, 0, 0) == 0;
}

static bool check_open_files(void *search, pid_t thread)
{
	if (!shares_with_last(search, thread, KCMP_FILES))
		(void)check_proc_dir(search, thread, "fd");
	return true;
}

/* Finds files that are still mapped after their descriptor was closed. */
static bool check_mapped_files(void *ctx, pid_t thread)
{
	struct search *search = ctx;

	if (!shares_with_last(search, thread, KCMP_VM) &&
	    !check_proc_dir(search, thread, "map_files") && search->filter->below != 0)
		check_maps(search, thread);
	return true;
}

static dev_t device_of_root(int proc, pid_t pid)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof path, "%d/root", pid);
	return fstatat(proc, path, &st, 0) == 0 ? st.st_dev : 0;
}

/* Open files of all processes come first: their sizes are known, and a mapping of the same file
 * then adds nothing. */
struct disk_usage unlinked_files_usage(int proc, pid_t pid, const struct unlinked_filter *filter)
{
	static pid_t all[PROCESS_TREE_MAX];
	AUTO_FREE struct seen *seen = mem_array(1 << SEEN_BITS, sizeof *seen);
	struct search search = {
		.filter = filter, .proc = proc, .overlay = device_of_root(proc, pid), .seen = seen
	};
	size_t count = process_tree_pids(proc, pid, all);

	(void)!getrandom(&search.seed, sizeof search.seed, GRND_NONBLOCK);
	search.seed |= 1;
	for (size_t i = 0; i < count; i++)
		process_each_thread(proc, all[i], check_open_files, &search);
	for (size_t i = 0; i < count; i++)
		process_each_thread(proc, all[i], check_mapped_files, &search);
	return search.entries < ENTRIES_MAX ? search.usage : over_any_limit;
}
