/* fs_devices DIR... - creates device nodes: memory, a disk, fuse, a terminal, and 0:0, which is a
 * whiteout of an overlay. The kernel allows the last one to processes without privileges. */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../try.h"

static const struct node {
	const char *name;
	mode_t type;
	unsigned major, minor;
} nodes[] = {
	{ "mem", S_IFCHR, 1, 1 },      { "kmsg", S_IFCHR, 1, 11 },  { "tty0", S_IFCHR, 4, 0 },
	{ "fuse", S_IFCHR, 10, 229 },  { "kvm", S_IFCHR, 10, 232 }, { "null", S_IFCHR, 1, 3 },
	{ "sda", S_IFBLK, 8, 0 },      { "vda", S_IFBLK, 254, 0 },  { "loop0", S_IFBLK, 7, 0 },
	{ "whiteout", S_IFCHR, 0, 0 },
};

int main(int argc, char **argv)
{
	char path[4096];

	for (int i = 1; i < argc; i++)
		for (size_t n = 0; n < sizeof nodes / sizeof *nodes; n++) {
			(void)snprintf(path, sizeof path, "%s/node-%s", argv[i], nodes[n].name);
			report(path, mknod(path, nodes[n].type | 0666,
			                   makedev(nodes[n].major, nodes[n].minor)));
		}
	return 0;
}
