#include "unit/scratch.h"

#include <ftw.h>

char scratch_path[64];

int scratch_make(void **state)
{
	(void)snprintf(scratch_path, sizeof scratch_path, "/tmp/belljar-test-XXXXXX");
	if (mkdtemp(scratch_path) == NULL || chdir(scratch_path) != 0)
		return -1;
	return setenv("HOME", scratch_path, 1) | setenv("XDG_CONFIG_HOME", scratch_path, 1);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int scratch_remove(void **state)
{
	return chdir("/") | nftw(scratch_path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

const char *scratch_read(const char *path)
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

int scratch_drop_root(void)
{
	if (geteuid() != 0)
		return 0;
	if (chmod(scratch_path, 0755) != 0)
		return -1;
	return seteuid(65534);
}

void scratch_regain_root(void)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}
