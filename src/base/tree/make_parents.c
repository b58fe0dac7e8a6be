#include "base/tree/make_parents.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"

int make_parents(const char *path, mode_t mode, struct error *err)
{
	AUTO_FREE char *partial = mem_dup(path);

	for (char *slash = strchr(partial, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (partial[0] != '\0' && mkdir(partial, mode) < 0 && errno != EEXIST)
			return error_sys(err, "create directory '%s'", partial);
		*slash = '/';
	}
	return 0;
}
