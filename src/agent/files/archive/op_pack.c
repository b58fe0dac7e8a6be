/* op_pack.c - a directory or a file as a tar stream.
 *
 * Names are relative to the directory, which is not an entry itself; their order is that in
 * which the file system gives them. Links are stored as links, never followed; a
 * file with several names is stored under each. Left out and counted: sockets, FIFOs,
 * devices, what may not be read, paths longer than an archive can hold, and what is mounted
 * of procfs and its like. Each file has the size its header says: one that shrinks while it is read
 * is filled up with zeros, one that grows is cut; neither is counted, as nobody can tell
 * what the file "is" while it is being written. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/archive/archive.h"
#include "agent/files/archive/pack_walk.h"
#include "agent/files/walk.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"

enum { TRAILER = 2 * TAR_BLOCK };

struct pack {
	struct job *job;
	const struct wire_pack *request;
	struct wire_done *done;
	struct buf header;
	struct pack_walk walk;
	size_t used; /* bytes of out */
	char out[JOB_PACKET_MAX];
};

/* --- bytes ------------------------------------------------------------------------- */

static int flush(struct pack *pack, struct error *err)
{
	struct view bytes = { pack->out, pack->used };

	pack->used = 0;
	return job_send(pack->job, bytes, err);
}

/* Room for up to `want` bytes, at least one, at pack->out + pack->used. */
static int make_room(struct pack *pack, uint64_t want, size_t *ret, struct error *err)
{
	if (pack->used == sizeof pack->out && flush(pack, err) < 0)
		return -1;
	*ret = sizeof pack->out - pack->used;
	if (*ret > want)
		*ret = (size_t)want;
	return 0;
}

/* Bytes, or zeros if ptr is NULL. */
static int put(struct pack *pack, const char *ptr, uint64_t len, struct error *err)
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

/* Counts the whole entry, so that the limits hold before the first byte of it is sent. */
static int reserve(struct pack *pack, uint64_t bytes, struct error *err)
{
	uint64_t left = pack->request->max - pack->done->bytes;

	if (pack->done->count == pack->request->max_count)
		return error_set(err, ERR_LIMIT,
		                 "more than %u entries: pack a directory further down",
		                 pack->request->max_count);
	if (bytes > left || TRAILER > left - bytes)
		return error_set(err, ERR_LIMIT,
		                 "the archive would have more than %llu bytes: pack a directory "
		                 "further down",
		                 (unsigned long long)pack->request->max);
	pack->done->count++;
	pack->done->bytes += bytes;
	return 0;
}

static int put_header(struct pack *pack, const struct stat *st, struct tar_entry *entry,
                      struct error *err)
{
	entry->mode = st->st_mode & 0777;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	entry->mtime = st->st_mtim.tv_sec;
	buf_clear(&pack->header);
	if (tar_encode(entry, &pack->header, err) < 0 ||
	    reserve(pack, pack->header.len + entry->size + tar_padding(entry->size), err) < 0)
		return -1;
	return put(pack, pack->header.ptr, pack->header.len, err);
}

/* Exactly `size` bytes, whatever happens to the file meanwhile. */
static int copy_file(struct pack *pack, int fd, uint64_t size, const char *name, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	while (size != 0) {
		size_t room;
		ssize_t n;

		if (make_room(pack, size, &room, err) < 0)
			return -1;
		n = read(fd, pack->out + pack->used, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, "%s", path_show(view_of(name), shown));
		if (n == 0)
			return put(pack, NULL, size, err);
		pack->used += (size_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int put_file(struct pack *pack, int fd, const struct stat *st, const char *name,
                    struct error *err)
{
	struct tar_entry entry = {
		.type = TAR_FILE, .size = (uint64_t)st->st_size, .name = name, .link = ""
	};

	if (put_header(pack, st, &entry, err) < 0 || copy_file(pack, fd, entry.size, name, err) < 0)
		return -1;
	return put(pack, NULL, tar_padding(entry.size), err);
}

/* --- what is in a directory -------------------------------------------------------- */

static struct view here(const struct pack *pack)
{
	return (struct view){ pack->walk.path, pack->walk.len };
}

static int skip(struct pack *pack)
{
	job_skip_entry(pack->done, here(pack));
	return 0;
}

/* After a call failed: gone is gone, forbidden is left out, our own shortage is an error. */
static int skip_failed(struct pack *pack, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	if (errno == ENOENT)
		return 0;
	if (walk_is_shortage(errno))
		return error_sys(err, "%s", path_show(here(pack), shown));
	return skip(pack);
}

static int open_here(const struct pack *pack, const char *name, int flags)
{
	return open_resolved(pack_walk_dir(&pack->walk)->fd, name, O_RDONLY | O_NOFOLLOW | flags, 0,
	                     0);
}

static int pack_file(struct pack *pack, const char *name, struct error *err)
{
	AUTO_FD int fd = open_here(pack, name, 0);
	struct stat st;

	if (fd < 0)
		return skip_failed(pack, err);
	/* It may have become something else since it was looked at. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > TAR_SIZE_MAX)
		return skip(pack);
	return put_file(pack, fd, &st, pack->walk.path, err);
}

static int pack_directory(struct pack *pack, const char *name, struct error *err)
{
	struct tar_entry entry = { .type = TAR_DIRECTORY, .name = pack->walk.path, .link = "" };
	AUTO_FD int fd = open_here(pack, name, O_DIRECTORY);
	struct stat st;

	if (fd < 0)
		return skip_failed(pack, err);
	if (fstat(fd, &st) < 0)
		return skip_failed(pack, err);
	if (st.st_dev != pack_walk_dir(&pack->walk)->device && walk_is_pseudo(fd))
		return skip(pack);
	if (put_header(pack, &st, &entry, err) < 0)
		return -1;
	pack_walk_enter(&pack->walk, TAKE_FD(fd), &st);
	return 0;
}

static int pack_link(struct pack *pack, const char *name, const struct stat *st, struct error *err)
{
	char to[TAR_NAME_MAX + 1];
	struct tar_entry entry = { .type = TAR_SYMLINK, .name = pack->walk.path, .link = to };
	ssize_t n = readlinkat(pack_walk_dir(&pack->walk)->fd, name, to, sizeof to);

	if (n < 0)
		return skip_failed(pack, err);
	if ((size_t)n == sizeof to)
		return skip(pack); /* perhaps cut */
	to[n] = '\0';
	return put_header(pack, st, &entry, err);
}

static int pack_one(struct pack *pack, const char *name, struct error *err)
{
	struct stat st;

	if (pack->walk.len > PACK_PATH_MAX)
		return skip(pack);
	if (fstatat(pack_walk_dir(&pack->walk)->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return skip_failed(pack, err);
	if (S_ISDIR(st.st_mode))
		return pack_directory(pack, name, err);
	if (S_ISREG(st.st_mode))
		return pack_file(pack, name, err);
	if (S_ISLNK(st.st_mode))
		return pack_link(pack, name, &st, err);
	return skip(pack);
}

static int pack_tree(struct pack *pack, int fd, const struct stat *st, struct error *err)
{
	const char *name;
	int r;

	pack_walk_init(&pack->walk, fd, st);
	while ((r = pack_walk_next(&pack->walk, &name, err)) > 0)
		if ((r = pack_one(pack, name, err)) < 0)
			break;
	pack_walk_done(&pack->walk);
	return r;
}

/* --- the operation ----------------------------------------------------------------- */

static int pack_start(struct pack *pack, struct error *err)
{
	struct view path = pack->request->path;
	char name[PATH_NAME_MAX + 1], shown[PATH_SHOW_SIZE];
	AUTO_FD int fd = path_open(pack->job, path, O_RDONLY, 0, err);
	const char *slash;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return path_error(path, err);
	if (S_ISDIR(st.st_mode))
		return pack_tree(pack, TAKE_FD(fd), &st, err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s: is neither a file nor a directory",
		                 path_show(path, shown));
	slash = memrchr(path.ptr, '/', path.len);
	if (slash != NULL)
		path = (struct view){ slash + 1, path.len - (size_t)(slash + 1 - path.ptr) };
	if (path.len > PATH_NAME_MAX) /* it was opened, so it is not */
		path.len = PATH_NAME_MAX;
	memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	return put_file(pack, fd, &st, name, err);
}

int op_pack(struct job *job, const struct wire_pack *request, struct wire_done *done,
            struct error *err)
{
	struct pack pack = { .job = job, .request = request, .done = done };
	int r;

	*done = (struct wire_done){ .cursor = { "", 0 } };
	buf_init(&pack.header, TAR_ENCODED_MAX);
	r = pack_start(&pack, err);
	buf_done(&pack.header);
	if (r < 0)
		return -1;
	if (request->max - done->bytes < TRAILER)
		return error_set(err, ERR_LIMIT,
		                 "an archive of at most %llu bytes: even an empty one "
		                 "has %d",
		                 (unsigned long long)request->max, TRAILER);
	done->bytes += TRAILER;
	if (put(&pack, NULL, TRAILER, err) < 0)
		return -1;
	return flush(&pack, err);
}
