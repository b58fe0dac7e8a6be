#include "libcurl/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/error.h"

struct curl_library curl_library;

/* dlsym() returns a pointer to data, which ISO C does not convert to one of a function. */
static bool find_function(void *library, const char *name, void *ret)
{
	void *found = dlsym(library, name);

	*(void **)ret = found;
	return found != NULL;
}

int curl_library_load(const char *user, struct error *err)
{
	void *library;

	if (curl_library.free != NULL) /* the last one */
		return 0;
	library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "%s needs libcurl, which cannot be loaded (%s): install the package "
		        "libcurl4",
		        user, dlerror());
#define X(name)                                                                                    \
	if (!find_function(library, "curl_" #name, &curl_library.name))                            \
		return error_set(err, ERR_UNSUPPORTED, "libcurl has no function curl_" #name);
	CURL_FUNCTIONS(X)
#undef X
	if (curl_library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_set(err, ERR_SYSTEM, "libcurl cannot be initialized");
	return 0;
}
