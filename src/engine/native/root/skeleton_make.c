/* skeleton_make.c - fills a new skeleton: directories, links, copied and generated files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/native/root/internal.h"
#include "engine/root_files.h"
#include "engine/spec.h"

/* Programs can write to no directory of the skeleton; mount_plan.c makes the writable ones, and
 * says why. */
enum { USUAL = 0755, SECRET = 0700 };

static const struct {
	const char *path;
	mode_t mode;
} directories[] = {
	{ "dev", USUAL },   { "etc", USUAL }, { "home", USUAL },   { "proc", USUAL },
	{ "root", SECRET }, { "run", USUAL }, { "skills", USUAL }, { "sys", USUAL },
	{ "tools", USUAL }, { "usr", USUAL }, { "var", USUAL },    { ROOT_PROGRAMS, USUAL },
};

static const struct {
	const char *path, *target;
} links[] = {
	{ "etc/mtab", "/proc/mounts" },
	{ "var/lock", "/run/lock" },
	{ "var/run", "/run" },
};

_Static_assert(SPEC_UID == 1000 && SPEC_GID == 1000 && SPEC_AGENT_ID == 999,
               "the texts of passwd and group contain these ids");

/* Generated, because the host's own passwd and group name its users. */
static const char passwd[] = "root:x:0:0:root:/root:%s\n"
                             "belljar:x:999:999:agent:/:/usr/sbin/nologin\n"
                             "coderunner:x:1000:1000::" SPEC_HOME ":%s\n"
                             "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";

static const struct {
	const char *path, *text;
} files[] = {
	{ "etc/bash.bashrc", "[ -z \"$PS1\" ] || PS1='\\u@\\h:\\w\\$ '\n" },
	/* Commits need an author, and nothing in a sandbox belongs to another user. */
	{ "etc/gitconfig", "[user]\n\tname = coderunner\n\temail = coderunner@sandbox\n"
	                   "[safe]\n\tdirectory = *\n" },
	{ "etc/group", "root:x:0:\ntty:x:5:\nusers:x:100:\nbelljar:x:999:\ncoderunner:x:1000:\n"
	               "nogroup:x:65534:\n" },
	{ "etc/hostname", "sandbox\n" },
	{ "etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n" },
	{ "etc/machine-id", "" },
	{ "etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n"
	  "protocols: files\nservices: files\nethers: files\nrpc: files\n" },
	{ "etc/profile", "if [ -n \"$BASH_VERSION\" ]; then . /etc/bash.bashrc; fi\n" },
	/* For programs that do not read nsswitch.conf: no name server answers. */
	{ "etc/resolv.conf", "options timeout:1 attempts:1\n" },
};

const char *const skeleton_program_dirs[] = {
	"bin", "lib", "lib32", "lib64", "libx32", "sbin", NULL
};

const char *const skeleton_sysfs_files[] = {
	"sys/devices/system/cpu/online",
	"sys/devices/system/cpu/possible",
	"sys/devices/system/cpu/present",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	NULL,
};

/* A directory may be made twice: as a parent of one row and as a row of its own. */
static int make_directory(const struct skeleton_tree *tree, const char *path, mode_t mode,
                          struct error *err)
{
	return mkdirat(tree->root, path, mode) < 0 && errno != EEXIST
	               ? error_sys(err, "make the directory /%s", path)
	               : 0;
}

static int make_link(const struct skeleton_tree *tree, const char *path, const char *target,
                     struct error *err)
{
	return symlinkat(target, tree->root, path) < 0 ? error_sys(err, "make the link /%s", path)
	                                               : 0;
}

static int make_file(const struct skeleton_tree *tree, const char *path, mode_t mode,
                     struct error *err)
{
	int fd = openat(tree->root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	return fd >= 0 ? fd : error_sys(err, "make the file /%s", path);
}

/* --- copies -------------------------------------------------------------------------- */

static bool is_unchanged(const struct stat *before, const struct stat *now)
{
	return before->st_ino == now->st_ino && before->st_dev == now->st_dev &&
	       before->st_ctim.tv_sec == now->st_ctim.tv_sec &&
	       before->st_ctim.tv_nsec == now->st_ctim.tv_nsec;
}

/* setuid bits are not copied, and every file becomes readable. The time of the last change is kept:
 * Python compares it with its compiled files, and would compile Debian's sitecustomize.py, which is
 * a link to /etc, at every start. */
static int copy_file(const struct skeleton_tree *tree, const char *path, int at, const char *name,
                     const struct stat *st, struct error *err)
{
	const struct timespec times[2] = { st->st_mtim, st->st_mtim };
	static char chunk[64 * 1024];
	/* O_NOFOLLOW and O_NONBLOCK: the entry may have become a link or a FIFO since
	 * fstatat(2). */
	AUTO_FD int from = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FD int to = -1;
	struct stat now;
	ssize_t n;

	if (from < 0)
		return 0;
	to = make_file(tree, path, (st->st_mode & 0111) != 0 ? 0755 : 0644, err);
	if (to < 0)
		return -1;
	while ((n = read(from, chunk, sizeof chunk)) > 0)
		if (fd_write_all(to, (struct view){ chunk, (size_t)n }, err) < 0)
			return error_wrap(err, "/%s", path);
	(void)futimens(to, times);
	/* The file's mode and content were checked before: what it became since is not copied. The
	 * next start finds another change time, and makes a new skeleton. */
	if (fstat(from, &now) < 0 || !is_unchanged(st, &now))
		(void)unlinkat(tree->root, path, 0);
	return 0;
}

/* The target is copied as text and resolved inside the sandbox, where only the sandbox's own tree
 * is visible. */
static int copy_link(const struct skeleton_tree *tree, const char *path, int at, const char *name,
                     struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(at, name, target, sizeof target);

	if (n <= 0 || (size_t)n == sizeof target)
		return 0;
	target[n] = '\0';
	return make_link(tree, path, target, err);
}

static int copy_entry(void *ctx, const char *path, int at, const char *name, const struct stat *st,
                      struct error *err)
{
	const struct skeleton_tree *tree = ctx;

	if (S_ISDIR(st->st_mode))
		return make_directory(tree, path, USUAL, err);
	if (S_ISLNK(st->st_mode))
		return copy_link(tree, path, at, name, err);
	return copy_file(tree, path, at, name, st, err);
}

/* --- generated files ----------------------------------------------------------------- */

static int write_file_with(const struct skeleton_tree *tree, const char *path, mode_t mode,
                           const char *text, struct error *err)
{
	AUTO_FD int fd = make_file(tree, path, mode, err);

	if (fd < 0)
		return -1;
	if (fd_write_all(fd, view_of(text), err) < 0)
		return error_wrap(err, "/%s", path);
	return 0;
}

static int write_file(const struct skeleton_tree *tree, const char *path, const char *text,
                      struct error *err)
{
	return write_file_with(tree, path, 0644, text, err);
}

static int make_parents(const struct skeleton_tree *tree, const char *path, struct error *err)
{
	char above[128];

	for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
		(void)snprintf(above, sizeof above, "%.*s", (int)(end - path), path);
		if (make_directory(tree, above, USUAL, err) < 0)
			return -1;
	}
	return 0;
}

/* O_NOFOLLOW and O_NONBLOCK: a link or a FIFO under this name must not lead elsewhere or block. */
void skeleton_read_host(int host, const char *path, char out[SKELETON_SYSFS_SIZE])
{
	AUTO_FD int fd = openat(host, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, SKELETON_SYSFS_SIZE - 1);

	out[n < 0 ? 0 : n] = '\0';
}

static int write_sysfs_files(const struct skeleton_tree *tree, struct error *err)
{
	char text[SKELETON_SYSFS_SIZE];

	for (size_t i = 0; skeleton_sysfs_files[i] != NULL; i++) {
		skeleton_read_host(tree->host, skeleton_sysfs_files[i], text);
		if (text[0] != '\0' && (make_parents(tree, skeleton_sysfs_files[i], err) < 0 ||
		                        write_file(tree, skeleton_sysfs_files[i], text, err) < 0))
			return -1;
	}
	return 0;
}

static int write_passwd(const struct skeleton_tree *tree, struct error *err)
{
	const char *shell = faccessat(tree->host, "bin/bash", X_OK, 0) == 0 ? "/bin/bash"
	                                                                    : "/bin/sh";
	char text[sizeof passwd + 2 * sizeof "/bin/bash"];

	(void)snprintf(text, sizeof text, passwd, shell, shell);
	return write_file(tree, "etc/passwd", text, err);
}

/* With a merged /usr these are links, which are copied; otherwise directories, which become mount
 * points for the host's. */
static int make_program_dirs(const struct skeleton_tree *tree, struct error *err)
{
	for (size_t i = 0; skeleton_program_dirs[i] != NULL; i++) {
		const char *name = skeleton_program_dirs[i];
		struct stat st;

		if (fstatat(tree->host, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode)
		            ? copy_link(tree, name, tree->host, name, err) < 0
		            : S_ISDIR(st.st_mode) && make_directory(tree, name, USUAL, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_in_etc(const char *path, const char *name)
{
	return strncmp(path, "etc/", 4) == 0 && strcmp(path + 4, name) == 0;
}

bool skeleton_is_generated(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (is_in_etc(links[i].path, name))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (is_in_etc(files[i].path, name))
			return true;
	for (size_t i = 0; i < root_file_count; i++)
		if (is_in_etc(root_files[i].path, name))
			return true;
	return is_in_etc("etc/passwd", name) || is_in_etc(ROOT_PROGRAMS, name);
}

int skeleton_copy(struct skeleton_tree *tree, struct error *err)
{
	const struct skeleton_visitor visitor = { copy_entry, NULL, tree };

	for (size_t i = 0; i < ARRAY_LEN(directories); i++)
		if (make_directory(tree, directories[i].path, directories[i].mode, err) < 0)
			return -1;
	return skeleton_walk(tree->host, &visitor, err);
}

int skeleton_generate(const struct skeleton_tree *tree, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (make_link(tree, links[i].path, links[i].target, err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (write_file(tree, files[i].path, files[i].text, err) < 0)
			return -1;
	for (size_t i = 0; i < root_file_count; i++)
		if (write_file_with(tree, root_files[i].path,
		                    root_files[i].is_program ? 0755 : 0644, root_files[i].text,
		                    err) < 0)
			return -1;
	if (write_passwd(tree, err) < 0 || make_program_dirs(tree, err) < 0 ||
	    write_sysfs_files(tree, err) < 0)
		return -1;
	return fchmod(tree->root, USUAL) < 0 ? error_sys(err, "set the mode of the root") : 0;
}
