/* reloader_serve.c - the reloader's process: confines itself, then watches files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process/helper.h"
#include "base/process/packet.h"
#include "base/rights/caps.h"
#include "base/rights/landlock.h"
#include "engine/filter/filter.h"
#include "server/reloader/internal.h"
#include "server/reloader/reloader.h"

/* A file as it was when it was last reported. All zero: it could not be opened. */
struct version {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

struct watched {
	const char *path;
	struct version version;
};

struct process {
	struct watched files[RELOADER_FILES_MAX];
	size_t count;
	int socket, inotify;
};

static struct version read_version(const char *path)
{
	struct version version;
	struct stat st;

	memset(&version, 0, sizeof version); /* the padding too: versions are compared as bytes */
	if (stat(path, &st) == 0) {
		version.device = st.st_dev;
		version.inode = st.st_ino;
		version.size = st.st_size;
		version.modified = st.st_mtim;
		version.changed = st.st_ctim;
	}
	return version;
}

/* O_NONBLOCK: a FIFO in place of the file must not stop the reloader. */
static bool report_file(const struct process *process, size_t index)
{
	AUTO_FD int fd = open(process->files[index].path,
	                      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct reloader_message message = { (uint32_t)index, fd < 0 ? errno : 0 };

	return packet_send(process->socket, &message, sizeof message, fd);
}

/* The version is read before the file is opened: a change in between is found by the next check,
 * and the file is reported once more. */
static bool check_files(struct process *process)
{
	for (size_t i = 0; i < process->count; i++) {
		struct version now = read_version(process->files[i].path);

		if (memcmp(&now, &process->files[i].version, sizeof now) == 0)
			continue;
		process->files[i].version = now;
		if (!report_file(process, i))
			return false;
	}
	return true;
}

/* --- confinement --- */

static void directory_of(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		(void)snprintf(out, PATH_MAX, ".");
	else
		(void)snprintf(out, PATH_MAX, "%.*s/", (int)(slash - path), path);
}

/* The directory is watched, and not the file: a file that is replaced has another inode. */
static int watch_directory(int inotify, const struct landlock *landlock, const char *path,
                           struct error *err)
{
	char directory[PATH_MAX];

	directory_of(path, directory);
	/* Without a watch, for example because the user has too many, files are polled. */
	(void)inotify_add_watch(inotify, directory,
	                        IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |
	                                IN_DELETE | IN_ATTRIB);
	return landlock_allow_path(landlock, directory, LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
	                           err);
}

/* If the path is a link, the directory of the file itself is watched too: certificate tools change
 * either of the two. */
static int watch_files(struct process *process, const struct landlock *landlock, struct error *err)
{
	for (size_t i = 0; i < process->count; i++) {
		const char *path = process->files[i].path;
		AUTO_FREE char *real = realpath(path, NULL);

		if (watch_directory(process->inotify, landlock, path, err) < 0 ||
		    (real != NULL && watch_directory(process->inotify, landlock, real, err) < 0))
			return -1;
		process->files[i].version = read_version(path);
	}
	return 0;
}

/* As root the reloader keeps the right to read files of other users, because certificates may
 * belong to a user of their own. */
static int confine_capabilities(struct error *err)
{
	uint64_t have;

	if (caps_pass_none(err) < 0 || caps_get(&have, err) < 0)
		return -1;
	return caps_set(have & CAPS_BIT(CAP_DAC_READ_SEARCH), false, err);
}

/* The server's filter allows what the reloader does from now on: open, stat, poll, sendmsg. */
static int confine_reloader(struct process *process, struct error *err)
{
	AUTO_LANDLOCK struct landlock landlock = { .ruleset = -1 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	if (landlock_open_isolated(&landlock, err) < 0 ||
	    watch_files(process, &landlock, err) < 0 || landlock_enforce(&landlock, err) < 0 ||
	    confine_capabilities(err) < 0)
		return -1;
	return filter_load(filter_for_server()) < 0 ? error_sys(err, "filter system calls") : 0;
}

static int prepare_process(struct process *process, struct error *err)
{
	if (helper_begin("belljar-reload", &process->socket, 1, err) < 0)
		return -1;
	process->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return confine_reloader(process, err);
}

/* --- the process --- */

static void skip_events(int inotify)
{
	char events[4096];

	while (read(inotify, events, sizeof events) > 0)
		continue;
}

void reloader_serve(void *ctx, int socket)
{
	static struct process process;
	const struct reloader_files *files = ctx;
	struct pollfd polled[2];
	struct error err;

	process.count = files->count;
	process.socket = socket;
	for (size_t i = 0; i < files->count; i++)
		process.files[i].path = files->paths[i];
	helper_report(socket, prepare_process(&process, &err) < 0 ? &err : NULL);
	do {
		/* poll() passes over a descriptor of -1: no inotify. */
		polled[0] = (struct pollfd){ .fd = process.inotify, .events = POLLIN };
		polled[1] = (struct pollfd){ .fd = socket, .events = POLLIN };
		(void)poll(polled, 2, RELOADER_POLL_MS);
		if ((polled[0].revents & POLLIN) != 0)
			skip_events(process.inotify);
	} while (polled[1].revents == 0 && check_files(&process));
	_exit(0);
}
