#include "server/options/option_accepts.h"

#include "base/error.h"
#include "base/trusted/trusted_names.h"
#include "server/access/token_file.h"
#include "server/options/options.h"
#include "tools/profiles/profiles.h"
#include <string.h>

bool opt_profile(const char *text)
{
	return profile_find(text) != NULL;
}

bool opt_not_empty(const char *text)
{
	return text[0] != '\0';
}

bool opt_image_list(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
	                                            "UVWXYZ0123456789._-/:@*,")] == '\0';
}

bool opt_word(const char *text)
{
	size_t len = strspn(text,
	                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return len != 0 && len < 64 && text[len] == '\0';
}

bool opt_sandbox_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return text[len] == '\0' && len >= 1 && len <= 64;
}

bool opt_trusted_list(const char *text)
{
	struct error ignored;
	uint64_t set;

	return trusted_parse(text, &set, &ignored) == 0 && set != 0;
}

/* Clients use the name as a key in their configuration files and as part of tool names. */
bool opt_server_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return text[len] == '\0' && len >= 1 && len <= 32;
}

bool opt_token_user(const char *text)
{
	return token_is_user(view_of(text));
}

bool opt_url(const char *text)
{
	size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
	                : strncmp(text, "https://", 8) == 0 ? 8
	                                                    : 0;

	if (scheme == 0 || text[scheme] == '\0' || text[scheme] == '/')
		return false;
	for (const char *p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || strchr("\"'<>\\`{|}", *p) != NULL)
			return false;
	return true;
}

/* Names that start with BELLJAR_ are those of options: belljar itself would reject the variable. */
bool opt_variable_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return text[len] == '\0' && len >= 1 && len <= 64 && (text[0] < '0' || text[0] > '9') &&
	       strncmp(text, OPTION_VARIABLE_PREFIX, strlen(OPTION_VARIABLE_PREFIX)) != 0;
}
