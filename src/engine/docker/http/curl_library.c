#include <dlfcn.h>

#include "base/error.h"
#include "engine/docker/http/internal.h"

struct curl_library curl_library;

/* dlsym() returns a pointer to data, which ISO C does not convert to one of a function. */
static bool find_function(void *library, const char *name, void *ret)
{
	void *found = dlsym(library, name);

	*(void **)ret = found;
	return found != NULL;
}

int curl_library_load(struct error *err)
{
	void *library;

	if (curl_library.easy_init != NULL)
		return 0;
	library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "the docker engine needs libcurl, which cannot be loaded (%s): install "
		        "the package libcurl4",
		        dlerror());
#define X(name)                                                                                    \
	if (!find_function(library, "curl_" #name, &curl_library.name))                            \
		return error_set(err, ERR_UNSUPPORTED, "libcurl has no function curl_" #name);
	CURL_FUNCTIONS(X)
#undef X
	return 0;
}
