/* option_names.c - how an option is called in the environment and in the configuration file (see
 * options.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server/options/options.h"

static const char *convert_name(const char *prefix, const char *name, bool upper,
                                char out[OPTION_NAME_SIZE])
{
	(void)snprintf(out, OPTION_NAME_SIZE, "%s%s", prefix, name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '-' ? '_' : upper ? (char)toupper((unsigned char)*p) : *p;
	return out;
}

const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return convert_name(OPTION_VARIABLE_PREFIX, spec->name, true, out);
}

const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return convert_name("", spec->name, false, out);
}

char option_separator(const struct option_spec *spec)
{
	size_t len = spec->word != NULL ? strlen(spec->word) : 0;

	return len > 4 && strcmp(spec->word + len - 3, "...") == 0 ? spec->word[len - 4] : '\0';
}
