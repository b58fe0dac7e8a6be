/* plan_carry_out.c - the one that does what the plan says, in the new namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/native/root/mount.h"
#include "engine/native/root/plan.h"

enum { TARGET_MAX = 1024, WRITES_MAX = 16 };

static int open_target(int root, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path[0] != '\0' ? path : ".", &how, sizeof how);
}

/* Splits at the last "/", opens what is before it, making directories that are missing. */
static int open_parent(int root, const char *path, const char **last, struct error *err)
{
	char part[TARGET_MAX];
	int dir = open_target(root, "", O_PATH | O_DIRECTORY);

	for (*last = path; dir >= 0 && strchr(*last, '/') != NULL;) {
		size_t len = strcspn(*last, "/");
		AUTO_FD int above = dir;

		if (len >= sizeof part)
			return error_set(err, ERR_LIMIT, "%s: too long", path);
		memcpy(part, *last, len);
		part[len] = '\0';
		if (mkdirat(above, part, 0755) < 0 && errno != EEXIST)
			return error_sys(err, "make /%s", path);
		dir = open_target(above, part, O_PATH | O_DIRECTORY);
		*last += len + 1;
	}
	return dir >= 0 ? dir : error_sys(err, "/%s: files of the sandbox are in the way", path);
}

/* A directory to mount on. */
static int open_place(int root, const char *path, struct error *err)
{
	AUTO_FD int parent = -1;
	const char *last;
	int dir = open_target(root, path, O_PATH | O_DIRECTORY);

	if (dir >= 0)
		return dir;
	parent = open_parent(root, path, &last, err);
	if (parent < 0)
		return -1;
	if (mkdirat(parent, last, 0755) < 0 && errno != EEXIST)
		return error_sys(err, "make /%s", path);
	dir = open_target(parent, last, O_PATH | O_DIRECTORY);
	return dir >= 0 ? dir : error_sys(err, "/%s: files of the sandbox are in the way", path);
}

static int place_mount(int root, const char *target, int mount, struct error *err)
{
	AUTO_FD int place = open_place(root, target, err);

	return place < 0 ? -1 : mount_attach(mount, place, "", err);
}

static int do_new(int root, const struct plan_step *step, struct error *err)
{
	AUTO_FD int mount = mount_new(step->source, step->options, step->attrs, err);

	return mount < 0 ? -1 : place_mount(root, step->target, mount, err);
}

static int do_bind(int root, const struct plan_step *step, struct error *err)
{
	AUTO_FD int mount = mount_copy(-1, step->source, step->recursive, step->attrs, err);

	return mount < 0 ? -1 : place_mount(root, step->target, mount, err);
}

static int do_file(int root, const struct plan_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent(root, step->target, &last, err);
	AUTO_FD int mount = -1;
	AUTO_FD int file = -1;
	struct stat st;

	if (parent < 0)
		return -1;
	mount = mount_copy(-1, step->source, false, step->attrs, err);
	if (mount < 0)
		return -1;
	if (fstat(mount, &st) == 0 && S_ISDIR(st.st_mode))
		return place_mount(root, step->target, mount, err);
	file = openat(parent, last, O_CREAT | O_NOFOLLOW | O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0444);
	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return error_sys(err, "make /%s", step->target);
	return mount_attach(mount, file, "", err);
}

static int do_link(int root, const struct plan_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent(root, step->target, &last, err);

	if (parent < 0)
		return -1;
	return symlinkat(step->source, parent, last) < 0 ? error_sys(err, "link /%s", step->target)
	                                                 : 0;
}

/* Its owner may have closed it, also to the next program. */
static void open_up(int parent, const char *name)
{
	AUTO_FD int dir = open_target(parent, name, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (dir >= 0 && fstat(dir, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmod(dir, (st.st_mode & 07777) | S_IRWXU);
}

static int do_own(int root, const struct plan_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent(root, step->target, &last, err);

	if (parent < 0)
		return -1;
	if (mkdirat(parent, last, 0755) < 0) {
		if (errno != EEXIST)
			return error_sys(err, "make /%s", step->target);
		open_up(parent, last);
		return 0;
	}
	if (fchownat(parent, last, SPEC_UID, SPEC_GID, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "give /%s away", step->target);
	return 0;
}

static int do_mask(int root, const struct plan_step *step, struct error *err)
{
	AUTO_FD int place = open_target(root, step->target, O_PATH);
	AUTO_FD int mount = -1;
	struct stat st;

	if (place < 0)
		return errno == ENOENT ? 0 : error_sys(err, "/%s", step->target);
	if (fstat(place, &st) < 0)
		return error_sys(err, "/%s", step->target);
	mount = mount_copy(-1, S_ISDIR(st.st_mode) ? "/empty" : "/dev/null", false,
	                   MOUNT_ATTR_RDONLY, err);
	return mount < 0 ? -1 : mount_attach(mount, place, "", err);
}

static int do_readonly(int root, const struct plan_step *step, struct error *err)
{
	AUTO_FD int place = open_target(root, step->target, O_PATH);
	AUTO_FD int mount = -1;

	if (place < 0)
		return errno == ENOENT ? 0 : error_sys(err, "/%s", step->target);
	mount = mount_copy(place, "", false, step->attrs, err);
	return mount < 0 ? -1 : mount_attach(mount, place, "", err);
}

static int do_close(int root, const struct plan_step *step, struct error *err)
{
	AUTO_FD int place = open_target(root, step->target, O_PATH);

	return place < 0 ? error_sys(err, "/%s", step->target)
	                 : mount_set(place, false, step->attrs, err);
}

/* Opened before it becomes read-only, written when nothing is mounted any more: without mount
 * namespaces there are no mounts to be made either. */
static struct {
	int file;
	const struct plan_step *step;
} writes[WRITES_MAX];
static size_t write_count;

static int do_write(int root, const struct plan_step *step, struct error *err)
{
	int file = open_target(root, step->target, O_WRONLY);

	if (file < 0 && errno == ENOENT)
		return 0;
	if (file < 0)
		return error_sys(err, "/%s", step->target);
	if (write_count == WRITES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d files to write", WRITES_MAX);
	writes[write_count].file = file;
	writes[write_count++].step = step;
	return 0;
}

static int write_all(struct error *err)
{
	for (size_t i = 0; i < write_count; i++) {
		const struct plan_step *step = writes[i].step;

		if (write(writes[i].file, step->source, strlen(step->source)) < 0)
			return error_sys(err, "write '%s' to /%s", step->source, step->target);
		(void)close(writes[i].file);
	}
	return 0;
}

static int (*const doers[PLAN_KIND_COUNT])(int root, const struct plan_step *step,
                                           struct error *err) = {
	[PLAN_NEW] = do_new,           [PLAN_BIND] = do_bind,   [PLAN_FILE] = do_file,
	[PLAN_LINK] = do_link,         [PLAN_OWN] = do_own,     [PLAN_MASK] = do_mask,
	[PLAN_READONLY] = do_readonly, [PLAN_CLOSE] = do_close, [PLAN_WRITE] = do_write,
};

int plan_carry_out(const struct plan *plan, struct error *err)
{
	const struct plan_step *first = &plan->steps[0];
	AUTO_FD int root = mount_new(first->source, first->options, first->attrs, err);

	if (root < 0 || mount_attach(root, AT_FDCWD, "/new", err) < 0)
		return -1;
	for (size_t i = 1; i < plan->count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (doers[step->kind](root, step, err) < 0)
			return err->msg[0] == '/' ? -1 : error_wrap(err, "/%s", step->target);
	}
	return write_all(err) < 0 ? -1 : mount_become_root(root, err);
}
