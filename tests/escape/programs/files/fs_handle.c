/* fs_handle PATH - "shocker": opens files by handle instead of by name, first with a handle of the
 * kernel, then with guesses of the host's root inode (2 on ext4, 128 on xfs, 256 on btrfs), and
 * from there PATH. */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "../try.h"

union handle {
	struct file_handle head;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static void try_open(int mount, union handle *handle, const char *what, const char *path)
{
	int dir = open_by_handle_at(mount, &handle->head, O_RDONLY);

	report(what, dir);
	if (dir >= 0)
		report("read by handle", openat(dir, path + 1, O_RDONLY));
}

int main(int argc, char **argv)
{
	static const char *const mounts[] = { "/",    "/usr",      "/escape",
		                              "/tmp", "/dev/null", "/proc/acpi" };
	static const uint64_t roots[] = { 2, 128, 256 };

	(void)argc;
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		int mount = open(mounts[i], O_RDONLY), id;
		union handle handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };

		if (name_to_handle_at(AT_FDCWD, mounts[i], &handle.head, &id, 0) == 0)
			try_open(mount, &handle, "its own handle", argv[1]);
		for (int r = 0; r < 3; r++)
			for (int type = 1; type <= 2; type++) {
				handle.head.handle_bytes = 8;
				handle.head.handle_type = type;
				memset(handle.head.f_handle, 0, 8);
				memcpy(handle.head.f_handle, &roots[r], 4);
				try_open(mount, &handle, "a guessed handle", argv[1]);
			}
	}
	return 0;
}
