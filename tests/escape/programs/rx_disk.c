/* rx_disk KIND MIB - takes so much of the disk in some way, then waits a second and says so. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20 };
static char block[MIB];

static int take_one(const char *kind, int number)
{
	char name[32];
	int fd;

	(void)snprintf(name, sizeof name, "f%d", strcmp(kind, "write") == 0 ? 0 : number);
	fd = strcmp(kind, "tmpfile") == 0 ? open(".", O_TMPFILE | O_RDWR, 0600)
	                                  : open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
	if (fd < 0)
		return -1;
	if (strcmp(kind, "unlinked") == 0)
		(void)unlink(name);
	if (strcmp(kind, "fallocate") == 0)
		return fallocate(fd, 0, 0, MIB) | close(fd);
	if (strcmp(kind, "mmap") == 0) {
		char *at = ftruncate(fd, MIB) < 0
		                   ? MAP_FAILED
		                   : mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (at == MAP_FAILED)
			return -1;
		memset(at, 1, MIB);
		return munmap(at, MIB) | close(fd);
	}
	if (write(fd, block, MIB) != MIB)
		return -1;
	if (strcmp(kind, "unlinked") != 0 && strcmp(kind, "tmpfile") != 0)
		(void)close(fd); /* the others last as long as they are open */
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	memset(block, 1, sizeof block);
	for (int i = 0; i < atoi(argv[2]); i++)
		if (take_one(argv[1], i) < 0) {
			perror("refused");
			return 1;
		}
	(void)sleep(1);
	(void)printf("held\n");
	return 0;
}
