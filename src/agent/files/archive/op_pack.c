/* op_pack.c - the contents of a directory as a tar stream (PACK).
 *
 * Names are relative to the directory, which is not an entry itself; they come in the order in
 * which the file system lists them. Symbolic links are stored as links and never followed; a file
 * with several names is stored under each. Left out and counted are sockets, FIFOs, devices, files
 * that may not be read, paths longer than TAR_NAME_MAX, and mounts of procfs and its like. The
 * data of a file has exactly the size its header says: a file that shrinks while it is read is
 * filled up with zeros, a file that grows is cut. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/archive/archive.h"
#include "agent/files/path.h"
#include "agent/files/walk.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/dir_stack.h"
#include "base/tree/open_child.h"
#include "wire/tar.h"

enum { ENTRY_PATH_MAX = TAR_NAME_MAX - 1 }; /* a directory gets a slash behind its path */

struct pack {
	struct job *job;
	const struct wire_pack *request;
	struct wire_done *done;
	struct dir_stack dirs;
	size_t dir_len;  /* of the path of the directory on top */
	size_t path_len; /* of the path of the current entry, which is in that directory */
	char path[ENTRY_PATH_MAX + 1];
	size_t used; /* bytes of out */
	char out[JOB_PACKET_MAX];
};

/* --- bytes ------------------------------------------------------------------------- */

static int flush_out(struct pack *pack, struct error *err)
{
	struct view bytes = { pack->out, pack->used };

	pack->used = 0;
	return job_send(pack->job, bytes, err);
}

/* Makes room for 1 to `want` bytes at pack->out + pack->used; *ret is how many. */
static int make_room(struct pack *pack, uint64_t want, size_t *ret, struct error *err)
{
	if (pack->used == sizeof pack->out && flush_out(pack, err) < 0)
		return -1;
	*ret = sizeof pack->out - pack->used;
	if (*ret > want)
		*ret = (size_t)want;
	return 0;
}

/* Appends `len` bytes from ptr, or zeros if ptr is NULL. */
static int put_bytes(struct pack *pack, const char *ptr, uint64_t len, struct error *err)
{
	size_t room;

	while (len != 0) {
		if (make_room(pack, len, &room, err) < 0)
			return -1;
		if (ptr != NULL)
			memcpy(pack->out + pack->used, ptr, room);
		else
			memset(pack->out + pack->used, 0, room);
		ptr = ptr != NULL ? ptr + room : NULL;
		pack->used += room;
		len -= room;
	}
	return 0;
}

/* --- entries ----------------------------------------------------------------------- */

/* Counts an entry of `bytes` bytes, before the first of them is sent. */
static int count_entry(struct pack *pack, uint64_t bytes, struct error *err)
{
	uint64_t left = pack->request->max - pack->done->bytes;

	if (pack->done->count == pack->request->max_count)
		return error_set(err, ERR_LIMIT,
		                 "more than %u entries: copy a directory further down",
		                 pack->request->max_count);
	if (bytes > left || TAR_TRAILER > left - bytes)
		return error_set(err, ERR_LIMIT,
		                 "the archive would have more than %llu bytes: "
		                 "copy a directory further down",
		                 (unsigned long long)pack->request->max);
	pack->done->count++;
	pack->done->bytes += bytes;
	return 0;
}

static int put_head(struct pack *pack, const struct stat *st, struct tar_entry *entry,
                    struct error *err)
{
	char bytes[TAR_HEAD_MAX + 1];
	struct buf head = buf_fixed(bytes, sizeof bytes);

	entry->mode = st->st_mode & 0777;
	entry->mtime = st->st_mtim.tv_sec;
	if (tar_encode(entry, &head, err) < 0 ||
	    count_entry(pack, head.len + entry->size + tar_padding(entry->size), err) < 0)
		return -1;
	return put_bytes(pack, head.ptr, head.len, err);
}

/* Appends exactly `size` bytes, whatever happens to the file meanwhile: the head with this size has
 * been sent already. */
static int put_contents(struct pack *pack, int fd, uint64_t size, struct error *err)
{
	while (size != 0) {
		size_t room;
		ssize_t n;

		if (make_room(pack, size, &room, err) < 0)
			return -1;
		n = read(fd, pack->out + pack->used, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return path_error(view_of(pack->path), err);
		if (n == 0)
			return put_bytes(pack, NULL, size, err);
		pack->used += (size_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int put_file(struct pack *pack, int fd, const struct stat *st, struct error *err)
{
	struct tar_entry entry = {
		.type = TAR_FILE, .size = (uint64_t)st->st_size, .name = pack->path, .link = ""
	};

	if (put_head(pack, st, &entry, err) < 0 || put_contents(pack, fd, entry.size, err) < 0)
		return -1;
	return put_bytes(pack, NULL, tar_padding(entry.size), err);
}

/* --- entries of a directory -------------------------------------------------------- */

static struct view current_path(const struct pack *pack)
{
	return (struct view){ pack->path, pack->path_len };
}

/* Makes pack->path the path of `name`; false if it is too long, and cut. */
static bool set_current(struct pack *pack, const char *name)
{
	size_t at = pack->dir_len, len = strlen(name);
	bool fits;

	if (at != 0)
		pack->path[at++] = '/';
	fits = at + len <= ENTRY_PATH_MAX;
	pack->path_len = fits ? at + len : ENTRY_PATH_MAX;
	memcpy(pack->path + at, name, pack->path_len - at);
	pack->path[pack->path_len] = '\0';
	return fits;
}

static int skip_current(struct pack *pack)
{
	job_skip_entry(pack->done, current_path(pack));
	return 0;
}

static int fail_current(const struct pack *pack, struct error *err)
{
	return path_error(current_path(pack), err);
}

/* A system call failed with errno: a file that was removed meanwhile is ignored, one that may not
 * be read is left out, a lack of descriptors or memory is an error. */
static int skip_failed(struct pack *pack, struct error *err)
{
	if (errno == ENOENT)
		return 0;
	return walk_is_shortage(errno) ? fail_current(pack, err) : skip_current(pack);
}

static int open_current(const struct pack *pack, const char *name, int flags)
{
	return open_resolved(dir_stack_fd(&pack->dirs), name, O_RDONLY | O_NOFOLLOW | flags, 0, 0);
}

static int pack_file(struct pack *pack, const char *name, struct error *err)
{
	AUTO_FD int fd = open_current(pack, name, 0);
	struct stat st;

	if (fd < 0)
		return skip_failed(pack, err);
	/* Between fstatat() and open() the name may have become a FIFO or a device. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > TAR_SIZE_MAX)
		return skip_current(pack);
	return put_file(pack, fd, &st, err);
}

static int pack_directory(struct pack *pack, const char *name, struct error *err)
{
	struct tar_entry entry = { .type = TAR_DIRECTORY, .name = pack->path, .link = "" };
	AUTO_FD int fd = open_current(pack, name, O_DIRECTORY);
	struct stat st;

	if (fd < 0)
		return skip_failed(pack, err);
	if (fstat(fd, &st) < 0)
		return skip_failed(pack, err);
	if (st.st_dev != dir_stack_top(&pack->dirs)->device && walk_is_pseudo(fd))
		return skip_current(pack);
	if (put_head(pack, &st, &entry, err) < 0)
		return -1;
	if (dir_stack_push(&pack->dirs, TAKE_FD(fd), &st) < 0)
		return fail_current(pack, err);
	pack->dir_len = pack->path_len;
	return 0;
}

static int pack_link(struct pack *pack, const char *name, const struct stat *st, struct error *err)
{
	char to[TAR_NAME_MAX + 1];
	struct tar_entry entry = { .type = TAR_SYMLINK, .name = pack->path, .link = to };
	ssize_t n = readlinkat(dir_stack_fd(&pack->dirs), name, to, sizeof to);

	if (n < 0)
		return skip_failed(pack, err);
	if ((size_t)n == sizeof to)
		return skip_current(pack); /* readlinkat() cuts what does not fit */
	to[n] = '\0';
	return put_head(pack, st, &entry, err);
}

static int pack_current(struct pack *pack, const char *name, struct error *err)
{
	struct stat st;

	if (!set_current(pack, name))
		return skip_current(pack);
	if (fstatat(dir_stack_fd(&pack->dirs), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return skip_failed(pack, err);
	if (S_ISDIR(st.st_mode))
		return pack_directory(pack, name, err);
	if (S_ISREG(st.st_mode))
		return pack_file(pack, name, err);
	if (S_ISLNK(st.st_mode))
		return pack_link(pack, name, &st, err);
	return skip_current(pack);
}

/* Goes back to the parent directory and continues to read it after this one. */
static int leave_directory(struct pack *pack, struct error *err)
{
	struct view path = { pack->path, pack->dir_len };
	char shown[PATH_SHOW_SIZE];
	const char *slash;

	slash = path.len != 0 ? memrchr(path.ptr, '/', path.len) : NULL;
	pack->dir_len = slash != NULL ? (size_t)(slash - path.ptr) : 0;
	if (dir_stack_pop(&pack->dirs) == 0)
		return 0;
	if (errno != ESTALE)
		return path_error(path, err);
	return error_set(err, ERR_SYSTEM, "%s: was moved while it was being packed: try again",
	                 path_show(path, shown));
}

static int pack_entries(struct pack *pack, struct error *err)
{
	while (pack->dirs.depth != 0) {
		const struct dirent *entry = dir_stack_read(&pack->dirs);

		if (entry == NULL && errno != 0)
			return path_error((struct view){ pack->path, pack->dir_len }, err);
		if ((entry != NULL ? pack_current(pack, entry->d_name, err)
		                   : leave_directory(pack, err)) < 0)
			return -1;
	}
	return 0;
}

static int pack_tree(struct pack *pack, struct error *err)
{
	AUTO_FD int fd = path_open_directory(pack->job, pack->request->path, err);
	struct stat st;
	int r;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || dir_stack_push(&pack->dirs, TAKE_FD(fd), &st) < 0)
		return path_error(pack->request->path, err);
	r = pack_entries(pack, err);
	dir_stack_done(&pack->dirs);
	return r;
}

int op_pack(struct job *job, const struct wire_pack *request, struct wire_done *done,
            struct error *err)
{
	struct pack pack = { .job = job, .request = request, .done = done };

	*done = (struct wire_done){ .cursor = { "", 0 } };
	if (pack_tree(&pack, err) < 0)
		return -1;
	if (request->max - done->bytes < TAR_TRAILER)
		return error_set(err, ERR_LIMIT,
		                 "the limit of %llu bytes is too small: "
		                 "even an empty archive has %d",
		                 (unsigned long long)request->max, TAR_TRAILER);
	done->bytes += TAR_TRAILER;
	if (put_bytes(&pack, NULL, TAR_TRAILER, err) < 0)
		return -1;
	return flush_out(&pack, err);
}
