/* disk_image_make.c - makes and repairs the file system of an image (see disk_image.c).
 *
 * mke2fs(8) takes longer than the start of a sandbox, so there is a template for each size in
 * use, of which a new image is a copy. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/random.h"
#include "engine/native/root/internal.h"

enum { TOOL_SECONDS = 60 };

/* A loop device is a disk to the host: udev(7) looks at its last sectors, where RAID systems keep
 * their superblocks (mdadm, DDF, firmware), and starts what they tell, whatever the file system. So
 * the file system, whose blocks a program fills with bytes of its choice, ends before. */
static const off_t tail_bytes = SPEC_MIB(1);

static const uint64_t template_data_max = SPEC_MIB(64); /* a file system without holes has more */

/* --- programs of the host ------------------------------------------------------------ */

/* The file is named by descriptor: the program has no capabilities, and the directory of a sandbox
 * belongs to another id. Returns the exit code. */
static int run_tool(const struct disk_images *images, const char *name, char *const argv[],
                    int file, struct error *err)
{
	char path[32], config[] = "MKE2FS_CONFIG=/dev/null";
	char *const environment[] = { config, NULL };
	int status = 0;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/%s", images->tools, name);
	pid = fork();
	if (pid == 0) {
		int *const kept[] = { &file };

		(void)alarm(TOOL_SECONDS);
		if (fd_renumber(kept, 1, err) == 0 && fcntl(file, F_SETFD, 0) == 0 &&
		    dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
			(void)execve(path, argv, environment);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return error_sys(err, "run %s", path);
	if (!WIFEXITED(status))
		return error_set(err, ERR_SYSTEM, "%s was killed by signal %d", path,
		                 WTERMSIG(status));
	return WEXITSTATUS(status);
}

#define TOOL_FILE "/proc/self/fd/3" /* the number that fd_renumber() gives the file */

/* The default features of the host's /etc/mke2fs.conf are not used. */
static int format_image(const struct disk_images *images, int file,
                        const struct spec_limits *limits, struct error *err)
{
	static char program[] = "mke2fs", quiet[] = "-qF", block[] = "-b4096", inode[] = "-I256",
	            reserve[] = "-m0", target[] = TOOL_FILE,
	            features[] = "-Onone,dir_index,dir_nlink,ext_attr,extent,extra_isize,filetype,"
	                         "flex_bg,huge_file,large_file,sparse_super,uninit_bg";
	char inodes[32], blocks[32];
	char *const argv[] = { program,  quiet,  block,  inode,  reserve,
		               features, inodes, target, blocks, NULL };
	int code;

	(void)snprintf(inodes, sizeof inodes, "-N%llu",
	               (unsigned long long)disk_image_inodes(limits));
	(void)snprintf(blocks, sizeof blocks, "%lluk",
	               (unsigned long long)(disk_image_size(limits) >> 10));
	code = run_tool(images, program, argv, file, err);
	if (code < 0)
		return -1;
	return code == 0 ? 0 : error_set(err, ERR_SYSTEM, "mke2fs failed with code %d", code);
}

/* Codes from 4 on: errors are left, or the program could not run. */
int disk_image_check(const struct disk_images *images, int file, struct error *err)
{
	static char program[] = "e2fsck", options[] = "-fy", target[] = TOOL_FILE;
	char *const argv[] = { program, options, target, NULL };
	int code = run_tool(images, program, argv, file, err);

	if (code < 0)
		return -1;
	if (code < 4)
		return 0;
	return error_set(err, ERR_SYSTEM,
	                 "the file system of its files was damaged when the machine stopped, and "
	                 "e2fsck failed with code %d: reset the sandbox",
	                 code);
}

/* --- the template of a size -------------------------------------------------------- */

enum { TEMPLATE_NAME_SIZE = 64, TEMPLATES_MAX = 8 };

/* mke2fs(8) makes a multiple of 16 inodes for each 128 MiB. Those beyond the limit get a file. */
static int fill_image(const struct disk_images *images, int file, const struct spec_limits *limits,
                      struct error *err)
{
	AUTO_FD int mount = disk_image_mount(images, file, err);
	struct statvfs fs;

	if (mount < 0)
		return -1;
	if (fstatvfs(mount, &fs) < 0)
		return error_sys(err, "statvfs of a disk image");
	disk_image_keep_inodes(mount, fs.f_ffree > limits->inodes ? fs.f_ffree - limits->inodes
	                                                          : DISK_IMAGE_KEPT);
	return 0;
}

/* A file that another server makes and names so at the same time has the same content. */
static int make_template(const struct disk_images *images, const char *name,
                         const struct spec_limits *limits, struct error *err)
{
	char making[TEMPLATE_NAME_SIZE + 20];
	AUTO_FD int file = -1;

	(void)snprintf(making, sizeof making, "%s.%016llx", name,
	               (unsigned long long)random_number());
	file = openat(images->templates, making, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	              0600);
	if (file < 0)
		return error_sys(err, "make images/%s", making);
	if (ftruncate(file, (off_t)disk_image_size(limits) + tail_bytes) < 0)
		(void)error_sys(err, "make an image of %llu MiB",
		                (unsigned long long)(disk_image_size(limits) >> 20));
	else if (format_image(images, file, limits, err) == 0 &&
	         fill_image(images, file, limits, err) == 0) {
		if (renameat(images->templates, making, images->templates, name) == 0)
			return TAKE_FD(file);
		(void)error_sys(err, "rename images/%s", making);
	}
	(void)unlinkat(images->templates, making, 0);
	return -1;
}

/* Calls may ask for any number of sizes. Without room for one more, all templates are removed, also
 * one that a killed server has not finished. */
static void limit_templates(const struct disk_images *images)
{
	DIR *dir = fd_open_dir(images->templates, ".");
	const struct dirent *entry;
	int count = 0;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (count >= TEMPLATES_MAX + 2) {
		rewinddir(dir);
		while ((entry = readdir(dir)) != NULL)
			(void)unlinkat(images->templates, entry->d_name, 0);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

static int open_template(const struct disk_images *images, const struct spec_limits *limits,
                         struct error *err)
{
	char name[TEMPLATE_NAME_SIZE];
	int file;

	(void)snprintf(name, sizeof name, "2-%llu-%llu",
	               (unsigned long long)disk_image_size(limits),
	               (unsigned long long)disk_image_inodes(limits));
	file = openat(images->templates, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file >= 0)
		return file;
	limit_templates(images);
	return make_template(images, name, limits, err);
}

static int copy_range(int from, int to, off_t at, off_t end, struct error *err)
{
	static char buffer[64 * 1024];

	while (at < end) {
		size_t len = (size_t)num_min((uint64_t)(end - at), sizeof buffer);
		ssize_t n = pread(from, buffer, len, at);

		if (n <= 0 || pwrite(to, buffer, (size_t)n, at) != n)
			return error_sys(err, "copy an image");
		at += n;
	}
	return 0;
}

static int copy_template(int from, int to, struct error *err)
{
	uint64_t copied = 0;
	struct stat st;
	off_t at = 0, end;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return error_sys(err, "make an image");
	/* Without this, the mount option `discard` does nothing (disk_image.c). */
	if (fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size) < 0)
		return error_sys(err, "give blocks of an image back");
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		copied += (uint64_t)(end - at);
		if (end < 0 || copied > template_data_max)
			return error_set(err, ERR_UNSUPPORTED,
			                 "the file system has no files with holes");
		if (copy_range(from, to, at, end, err) < 0)
			return -1;
		at = end;
	}
	return errno == ENXIO ? 0 : error_sys(err, "copy an image");
}

int disk_image_format(const struct disk_images *images, int file, const struct spec_limits *limits,
                      struct error *err)
{
	AUTO_FD int source = open_template(images, limits, err);

	return source < 0 ? -1 : copy_template(source, file, err);
}
