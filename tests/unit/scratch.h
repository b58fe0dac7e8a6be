/* scratch.h - a directory of its own for a test: the current directory, HOME and XDG_CONFIG_HOME.
 *
 *   IN_SCRATCH(test)   creates it before the test and removes it with all in it afterwards */
#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include "unit/test.h"

extern char scratch_path[64];

int scratch_make(void **state);
int scratch_remove(void **state);

void scratch_write(const char *path, const char *text);
/* The file's text; static until the next call. */
const char *scratch_read(const char *path);

/* Root may read every file. Changes the effective user to 65534 if the test runs as root. Returns
 * -1 if that fails: then file permissions cannot be tested. */
int scratch_drop_root(void);
void scratch_regain_root(void);

#define IN_SCRATCH(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
