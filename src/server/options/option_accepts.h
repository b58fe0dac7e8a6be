/* option_accepts.h - which texts are values of options: the functions `accepts` of the table in
 * option_specs.c, whose rows have room for short names only. */
#pragma once
#include <stdbool.h>

bool opt_profile(const char *text);
bool opt_not_empty(const char *text);
bool opt_image_list(const char *text);
bool opt_word(const char *text);
bool opt_sandbox_name(const char *text);
bool opt_trusted_list(const char *text);
bool opt_server_name(const char *text);
bool opt_token_user(const char *text);
bool opt_url(const char *text);
bool opt_variable_name(const char *text);
