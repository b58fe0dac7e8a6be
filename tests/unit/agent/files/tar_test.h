/* tar_test.h - archives for tests, honest ones and others, written without our own encoder.
 *
 *   AUTO_BUF struct buf tar;
 *   tar_test_start(&tar);
 *   tar_test_add(&tar, '0', "a.txt", "", VIEW("text"));
 *   tar_test_end(&tar); */
#pragma once
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "unit/test.h"

enum { TAR_TEST_MAX = 16 * 1024 * 1024 };

static inline void tar_test_bytes(struct buf *tar, const void *ptr, size_t len)
{
	struct error err;

	assert_int_equal(buf_add(tar, (struct view){ ptr, len }, &err), 0);
}

static inline void tar_test_start(struct buf *tar)
{
	buf_init(tar, TAR_TEST_MAX);
}

/* Fills in the checksum of a block. */
static inline void tar_test_sum(char *block)
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)block[i];
	(void)snprintf(block + 148, 8, "%06o", sum);
}

/* A ustar header that says what it is told; `size` is the whole field. */
static inline void tar_test_block(char *block, char type, const char *name, const char *link,
                                  const char *size)
{
	size_t name_len = strlen(name), link_len = strlen(link);

	assert_true(name_len <= 100 && link_len <= 100);
	memset(block, 0, 512);
	memcpy(block, name, name_len);
	memcpy(block + 100, "0000640", 7);
	memcpy(block + 108, "0001750", 7);
	memcpy(block + 116, "0001750", 7);
	(void)snprintf(block + 124, 12, "%s", size);
	memcpy(block + 136, "14000000000", 11); /* 1610612736: in 2021 */
	block[156] = type;
	memcpy(block + 157, link, link_len);
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	tar_test_sum(block);
}

static inline void tar_test_header(struct buf *tar, char type, const char *name, const char *link,
                                   size_t size)
{
	char block[512], digits[24];

	(void)snprintf(digits, sizeof digits, "%011zo", size);
	tar_test_block(block, type, name, link, digits);
	tar_test_bytes(tar, block, sizeof block);
}

static inline void tar_test_data(struct buf *tar, struct view data)
{
	static const char zeros[512];

	tar_test_bytes(tar, data.ptr, data.len);
	tar_test_bytes(tar, zeros, (512 - data.len % 512) % 512);
}

static inline void tar_test_add(struct buf *tar, char type, const char *name, const char *link,
                                struct view data)
{
	tar_test_header(tar, type, name, link, data.len);
	tar_test_data(tar, data);
}

static inline void tar_test_file(struct buf *tar, const char *name, const char *text)
{
	tar_test_add(tar, '0', name, "", view_of(text));
}

static inline void tar_test_end(struct buf *tar)
{
	static const char zeros[1024];

	tar_test_bytes(tar, zeros, sizeof zeros);
}

/* Runs a shell command in a directory, for what only other programs can tell. */
static inline void tar_test_run(const char *directory, const char *command)
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

static inline void tar_test_read(struct buf *tar, const char *path)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	buf_clear(tar);
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		tar_test_bytes(tar, bytes, (size_t)n);
	(void)close(fd);
}
