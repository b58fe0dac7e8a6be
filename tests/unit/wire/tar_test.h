/* tar_test.h - archives for tests, honest ones and others, written without the encoder under test.
 *
 *   AUTO_BUF struct buf tar;
 *   tar_test_init(&tar);
 *   tar_test_add(&tar, '0', "a.txt", "", VIEW("text"));
 *   tar_test_end(&tar); */
#pragma once
#include "base/buf.h"
#include "unit/test.h"

enum { TAR_TEST_MAX = 16 * 1024 * 1024 };

void tar_test_init(struct buf *tar);
void tar_test_bytes(struct buf *tar, const void *ptr, size_t len);

/* Computes the checksum of a block of 512 bytes. */
void tar_test_sum(char *block);
/* A ustar header as PACK writes it, with the given values. */
void tar_test_block(char *block, char type, const char *name, const char *link, uint64_t size);

void tar_test_header(struct buf *tar, char type, const char *name, const char *link, size_t size);
void tar_test_data(struct buf *tar, struct view data); /* with its padding */
void tar_test_add(struct buf *tar, char type, const char *name, const char *link, struct view data);
void tar_test_file(struct buf *tar, const char *name, const char *text);
/* A pax header with a "path" record, for names of any length. */
void tar_test_long_name(struct buf *tar, struct view name);
void tar_test_end(struct buf *tar);

/* Runs a shell command in a directory; fails the test unless it succeeds. */
void tar_test_run(const char *directory, const char *command);
