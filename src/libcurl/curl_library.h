/* curl_library.h - libcurl, loaded when it is needed.
 *
 * libcurl brings some thirty libraries, which would double the time that belljar takes to start.
 * Three parts of belljar use it: the broker of the docker engine, the mirror of packages, and
 * `belljar client --http`. */
#pragma once
#define CURL_DISABLE_TYPECHECK /* its macros call the functions by their own names */
#include <curl/curl.h>

#include "base/attr.h"

struct error;

#define CURL_FUNCTIONS(X)                                                                          \
	X(global_init)                                                                             \
	X(easy_init)                                                                               \
	X(easy_cleanup)                                                                            \
	X(easy_perform)                                                                            \
	X(easy_setopt)                                                                             \
	X(easy_getinfo)                                                                            \
	X(easy_recv)                                                                               \
	X(easy_send)                                                                               \
	X(easy_strerror)                                                                           \
	X(multi_init)                                                                              \
	X(multi_cleanup)                                                                           \
	X(multi_setopt)                                                                            \
	X(multi_add_handle)                                                                        \
	X(multi_remove_handle)                                                                     \
	X(multi_perform)                                                                           \
	X(multi_poll)                                                                              \
	X(multi_assign)                                                                            \
	X(multi_info_read)                                                                         \
	X(multi_socket_action)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_set)                                                                                 \
	X(url_get)                                                                                 \
	X(url_cleanup)                                                                             \
	X(free)

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#define X(name) typeof(curl_##name) *name;
extern struct curl_library {
	CURL_FUNCTIONS(X)
} curl_library;
#undef X

/* Loads and initializes the library; does nothing if that has been done. `user` is what needs it,
 * for the message: "the docker engine". */
MUST_CHECK int curl_library_load(const char *user, struct error *err);
