#include "unit/wire/tar_test.h"

#include <sys/wait.h>
#include <unistd.h>

void tar_test_init(struct buf *tar)
{
	buf_init(tar, TAR_TEST_MAX);
}

void tar_test_bytes(struct buf *tar, const void *ptr, size_t len)
{
	struct error err;

	assert_int_equal(buf_add(tar, (struct view){ ptr, len }, &err), 0);
}

void tar_test_sum(char *block)
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)block[i];
	(void)snprintf(block + 148, 8, "%06o", sum);
}

void tar_test_block(char *block, char type, const char *name, const char *link, uint64_t size)
{
	size_t name_len = strlen(name), link_len = strlen(link);

	assert_true(name_len <= 100 && link_len <= 100);
	memset(block, 0, 512);
	memcpy(block, name, name_len);
	memcpy(block + 100, "0000640", 7);
	memcpy(block + 108, "0001750", 7);
	memcpy(block + 116, "0001750", 7);
	(void)snprintf(block + 124, 12, "%011llo", (unsigned long long)size);
	memcpy(block + 136, "14000000000", 11); /* 1610612736: in 2021 */
	block[156] = type;
	memcpy(block + 157, link, link_len);
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	tar_test_sum(block);
}

void tar_test_header(struct buf *tar, char type, const char *name, const char *link, size_t size)
{
	char block[512];

	tar_test_block(block, type, name, link, size);
	tar_test_bytes(tar, block, sizeof block);
}

void tar_test_data(struct buf *tar, struct view data)
{
	static const char zeros[512];

	tar_test_bytes(tar, data.ptr, data.len);
	tar_test_bytes(tar, zeros, (512 - data.len % 512) % 512);
}

void tar_test_add(struct buf *tar, char type, const char *name, const char *link, struct view data)
{
	tar_test_header(tar, type, name, link, data.len);
	tar_test_data(tar, data);
}

void tar_test_file(struct buf *tar, const char *name, const char *text)
{
	tar_test_add(tar, '0', name, "", view_of(text));
}

void tar_test_long_name(struct buf *tar, struct view name)
{
	size_t len = name.len + strlen("0 path=\n"); /* counts its own digits too */
	char record[5000];
	int used;

	len += len >= 10;
	len += len >= 100;
	len += len >= 1000;
	used = snprintf(record, sizeof record, "%zu path=%.*s\n", len, (int)name.len, name.ptr);
	assert_int_equal(used, len);
	tar_test_add(tar, 'x', "././@PaxHeader", "", (struct view){ record, len });
}

void tar_test_end(struct buf *tar)
{
	static const char zeros[1024];

	tar_test_bytes(tar, zeros, sizeof zeros);
}

void tar_test_run(const char *directory, const char *command)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (chdir(directory) == 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 0)
		fail_msg("status %#x of: %s", (unsigned)status, command);
}
