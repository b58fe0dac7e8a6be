#include "engine/agent_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* Defined in agent_image.S. */
extern const char agent_image_bytes[];
extern const uint64_t agent_image_size;
extern const char host_agent_image_bytes[];
extern const uint64_t host_agent_image_size;

enum { CHANNEL_FD = 3, IMAGE_FD = 4 };

struct view agent_image(enum agent_place place)
{
	if (place == AGENT_ON_HOST)
		return (struct view){ host_agent_image_bytes, (size_t)host_agent_image_size };
	return (struct view){ agent_image_bytes, (size_t)agent_image_size };
}

static int create_memfd(void)
{
	int fd = memfd_create("belljar-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	/* Kernels before 6.3 do not know MFD_EXEC; every memfd is executable there. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("belljar-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

static int open_memfd(struct view image, struct error *err)
{
	AUTO_FD int fd = create_memfd();

	if (fd < 0)
		return error_sys(err, "create a memfd");
	if (fd_write_all(fd, image, err) < 0)
		return -1;
	/* A process that opens /proc/PID/exe of the agent for writing could otherwise change the
	 * program of every sandbox that is started later. F_SEAL_SEAL makes the seals final. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_sys(err, "seal a memfd");
	return TAKE_FD(fd);
}

/* Writes the program and returns a second descriptor, for reading only: execve() fails with ETXTBSY
 * while a file is open for writing. */
static int fill_and_reopen(const char *path, int writer, struct view image, struct error *err)
{
	AUTO_FD int reader = -1;
	struct statvfs fs;

	if (fstatvfs(writer, &fs) < 0)
		return error_sys(err, "fstatvfs '%s'", path);
	if ((fs.f_flag & ST_NOEXEC) != 0)
		return error_set(err, ERR_UNSUPPORTED, "'%s' is mounted noexec", path);
	if (fd_write_all(writer, image, err) < 0)
		return error_wrap(err, "write '%s'", path);
	if (fchmod(writer, 0555) < 0)
		return error_sys(err, "make '%s' executable", path);
	reader = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (reader < 0)
		return error_sys(err, "open '%s'", path);
	return TAKE_FD(reader);
}

static int open_unlinked(const char *directory, struct view image, struct error *err)
{
	AUTO_FD int writer = -1;
	char path[4096];
	int reader;

	if (snprintf(path, sizeof path, "%s/belljar-agent-XXXXXX", directory) >= (int)sizeof path)
		return error_set(err, ERR_LIMIT, "the path of a temporary file is too long");
	writer = mkostemp(path, O_CLOEXEC);
	if (writer < 0)
		return error_sys(err, "create '%s'", path);
	reader = fill_and_reopen(path, writer, image, err);
	(void)unlink(path);
	return reader;
}

static int open_file(struct view image, struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int fd = -1;

	if (runtime != NULL && runtime[0] == '/')
		fd = open_unlinked(runtime, image, err);
	return fd >= 0 ? fd : open_unlinked("/tmp", image, err);
}

int agent_image_open(enum agent_place place, bool *sealed, struct error *err)
{
	struct error memfd_error;
	int fd = open_memfd(agent_image(place), &memfd_error);

	if (sealed != NULL)
		*sealed = fd >= 0;
	if (fd >= 0)
		return fd;
	fd = open_file(agent_image(place), err);
	if (fd < 0)
		return error_wrap(err, "store the agent's program (memfd: %s)", memfd_error.msg);
	return fd;
}

/* Allocates nothing and takes no lock: the process may have been forked from one with threads,
 * whose locks stay locked for ever in the child. */
static int move_descriptors(int image, int channel, struct error *err)
{
	if (image == CHANNEL_FD)
		image = fcntl(image, F_DUPFD_CLOEXEC, IMAGE_FD);
	if (image < 0)
		return error_sys(err, "move the agent's program");
	/* dup2() clears close-on-exec, except if both numbers are equal. */
	if (channel == CHANNEL_FD ? fcntl(channel, F_SETFD, 0) < 0 : dup2(channel, CHANNEL_FD) < 0)
		return error_sys(err, "move the agent's channel");
	if (image == IMAGE_FD ? fcntl(image, F_SETFD, FD_CLOEXEC) < 0
	                      : dup3(image, IMAGE_FD, O_CLOEXEC) < 0)
		return error_sys(err, "move the agent's program");
	/* Close-on-exec instead of closing now: if execveat() fails, the caller still needs a
	 * descriptor to report the failure. */
	if (syscall(SYS_close_range, IMAGE_FD + 1U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return error_sys(err, "close all other descriptors (Linux 5.11 or newer can)");
	return 0;
}

/* Descriptor 1 may be the server's connection to its client, which would take output of the agent
 * for MCP messages. open() may itself return 0 or 1 if that number was closed; any other number is
 * close-on-exec. */
static int empty_standard_streams(struct error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return error_sys(err, "open /dev/null");
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
		if (null == fd ? fcntl(fd, F_SETFD, 0) < 0 : dup2(null, fd) < 0)
			return error_sys(err, "put /dev/null on descriptor %d", fd);
	return 0;
}

int agent_image_exec(int image, int channel, unsigned user, const uint64_t *exports,
                     struct error *err)
{
	char name[] = "belljar-agent", number[] = "3", id[16], allowed[24];
	char *const argv[] = { name, number, user != 0 || exports != NULL ? id : NULL,
		               exports != NULL ? allowed : NULL, NULL };
	char *const envp[] = { NULL };

	if (move_descriptors(image, channel, err) < 0 || empty_standard_streams(err) < 0)
		return -1;
	(void)snprintf(id, sizeof id, "%u", user);
	if (exports != NULL)
		(void)snprintf(allowed, sizeof allowed, "%" PRIu64, *exports);
	(void)execveat(IMAGE_FD, "", argv, envp, AT_EMPTY_PATH);
	return error_sys(err, "execute the agent");
}
