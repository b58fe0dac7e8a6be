/* place.h - a directory of its own for a test, as current directory, HOME and
 * configuration home; removed with all in it afterwards. */
#pragma once
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "unit/test.h"

static char place_path[64];

static inline int place_make(void **state)
{
	(void)state;
	(void)snprintf(place_path, sizeof place_path, "/tmp/belljar-test-XXXXXX");
	if (mkdtemp(place_path) == NULL || chdir(place_path) != 0)
		return -1;
	return setenv("HOME", place_path, 1) | setenv("XDG_CONFIG_HOME", place_path, 1);
}

static inline int place_remove_one(const char *path, const struct stat *st, int kind,
                                   struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline int place_remove(void **state)
{
	(void)state;
	return chdir("/") | nftw(place_path, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void place_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The file's text; static until the next call. */
static inline const char *place_read(const char *path)
{
	static char text[64 * 1024];
	FILE *file = fopen(path, "r");
	size_t len;

	if (file == NULL)
		fail_msg("there is no '%s'", path);
	len = fread(text, 1, sizeof text - 1, file);
	text[len] = '\0';
	(void)fclose(file);
	return text;
}

/* Root may read everything. Becomes somebody who may not, as far as files go; -1 if that
 * cannot be: then nothing is to be tested. */
static inline int place_give_up_root(void)
{
	if (geteuid() != 0)
		return 0;
	if (chmod(place_path, 0755) != 0)
		return -1;
	return seteuid(65534);
}

static inline void place_be_root_again(void)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)
