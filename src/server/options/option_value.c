#include "server/options/option_value.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"

enum { TEXT_MAX = PATH_MAX - 1 };

const char *option_size_text(uint64_t bytes, char *out, size_t size)
{
	static const char units[] = "KMG";
	size_t unit = 0;

	while (unit < sizeof units - 1 && bytes != 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	if (unit == 0)
		(void)snprintf(out, size, "%" PRIu64, bytes);
	else
		(void)snprintf(out, size, "%" PRIu64 "%c", bytes, units[unit - 1]);
	return out;
}

static void list_choices(const char *const *choices, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "one of");

	for (size_t i = 0; choices[i] != NULL && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s %s", i != 0 ? "," : "",
		                         choices[i]);
}

const char *option_expected(const struct option_spec *spec, char out[OPTION_TEXT_SIZE])
{
	char min[24], max[24];

	switch (spec->type) {
	case OPTION_TYPE_FLAG:
		(void)snprintf(out, OPTION_TEXT_SIZE, "true or false");
		break;
	case OPTION_TYPE_TEXT:
		(void)snprintf(out, OPTION_TEXT_SIZE, "%s", spec->expected);
		break;
	case OPTION_TYPE_PATH:
		(void)snprintf(out, OPTION_TEXT_SIZE, "a path of 1 to %d bytes", TEXT_MAX);
		break;
	case OPTION_TYPE_CHOICE:
		list_choices(spec->choices, out, OPTION_TEXT_SIZE);
		break;
	case OPTION_TYPE_NUMBER:
		(void)snprintf(out, OPTION_TEXT_SIZE, "a whole number from %" PRIu64 " to %" PRIu64,
		               spec->min, spec->max);
		break;
	case OPTION_TYPE_SIZE:
		(void)snprintf(out, OPTION_TEXT_SIZE,
		               "a size in bytes (K, M or G may follow) from %s to %s",
		               option_size_text(spec->min, min, sizeof min),
		               option_size_text(spec->max, max, sizeof max));
		break;
	}
	return out;
}

const char *option_number_text(const struct option_spec *spec, uint64_t value,
                               char out[OPTION_TEXT_SIZE])
{
	if (spec->type == OPTION_TYPE_SIZE)
		return option_size_text(value, out, OPTION_TEXT_SIZE);
	(void)snprintf(out, OPTION_TEXT_SIZE, "%" PRIu64, value);
	return out;
}

const char *option_default_text(const struct option_spec *spec, char out[OPTION_TEXT_SIZE])
{
	if (spec->computed != NULL)
		return spec->computed;
	if (spec->type != OPTION_TYPE_NUMBER && spec->type != OPTION_TYPE_SIZE)
		return spec->initial_text;
	return option_number_text(spec, spec->initial, out);
}

/* --- home directory --- */

/* The home directory as a shell finds it; or NULL. */
static const char *find_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home != NULL && home[0] == '/')
		return home;
	user = getpwuid(geteuid());
	return user != NULL && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* Whether a "~" at text[i] stands for the home directory: at the beginning of a path, or of an
 * entry of a list of paths. */
static bool is_home_sign(const struct option_spec *spec, const char *text, size_t i)
{
	const char separator = option_separator(spec);
	bool is_first = i == 0 || (separator != '\0' && text[i - 1] == separator);
	char next = text[i + 1];

	return text[i] == '~' && is_first &&
	       (spec->type == OPTION_TYPE_PATH || separator != '\0') &&
	       (next == '\0' || next == '/' || next == separator);
}

/* Fails if the value needs a home directory and there is none: a directory with the name "~" would
 * be made. */
static int check_home(const struct option_spec *spec, const char *text, struct error *err)
{
	for (size_t i = 0; text != NULL && text[i] != '\0'; i++)
		if (is_home_sign(spec, text, i) && find_home() == NULL)
			return error_set(
			        err, ERR_INVALID,
			        "~ stands for the home directory, and there is none: HOME "
			        "is not set and this user is unknown; give the whole path");
	return 0;
}

/* --- from text --- */

static bool read_flag(const char *text, uint64_t *ret)
{
	static const char *const words[][3] = { { "0", "false", "no" }, { "1", "true", "yes" } };

	for (size_t value = 0; value < ARRAY_LEN(words); value++)
		for (size_t i = 0; i < ARRAY_LEN(words[value]); i++)
			if (strcasecmp(text, words[value][i]) == 0) {
				*ret = value;
				return true;
			}
	return false;
}

static bool read_choice(const char *const *choices, const char *text, uint64_t *ret)
{
	for (size_t i = 0; choices[i] != NULL; i++)
		if (strcmp(text, choices[i]) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool read_text(const struct option_spec *spec, const char *text)
{
	size_t len = strlen(text);

	return len != 0 && len <= TEXT_MAX && (spec->accepts == NULL || spec->accepts(text));
}

static bool read_value(const struct option_spec *spec, const char *text, struct option_value *ret)
{
	struct error ignored; /* option_value_read() says what was expected */

	switch (spec->type) {
	case OPTION_TYPE_FLAG:
		return read_flag(text, &ret->number);
	case OPTION_TYPE_TEXT:
	case OPTION_TYPE_PATH:
		ret->text = text;
		return read_text(spec, text);
	case OPTION_TYPE_CHOICE:
		return read_choice(spec->choices, text, &ret->number);
	case OPTION_TYPE_NUMBER:
		return num_parse_u64(text, spec->min, spec->max, &ret->number, &ignored) == 0;
	case OPTION_TYPE_SIZE:
		return num_parse_size(text, spec->min, spec->max, &ret->number, &ignored) == 0;
	}
	return false;
}

int option_value_read(const struct option_spec *spec, const char *text, struct option_value *ret,
                      struct error *err)
{
	struct option_value value = { .given = true };
	char expected[OPTION_TEXT_SIZE];

	if (!read_value(spec, text, &value))
		return error_set(err, ERR_INVALID, "expected %s, got '%s'",
		                 option_expected(spec, expected), UTF8_ESCAPED(view_of(text), 80));
	if (check_home(spec, value.text, err) < 0)
		return -1;
	*ret = value;
	return 0;
}

/* --- from JSON --- */

static bool read_json_number(const struct option_spec *spec, const json_t *json, uint64_t *ret)
{
	json_int_t number;

	if (!json_as_int(json, &number) || number < 0 || (uint64_t)number < spec->min ||
	    (uint64_t)number > spec->max)
		return false;
	*ret = (uint64_t)number;
	return true;
}

static bool read_json(const struct option_spec *spec, const json_t *json, struct option_value *ret)
{
	switch (spec->type) {
	case OPTION_TYPE_FLAG:
		ret->number = json_is_true(json);
		return json_is_boolean(json);
	case OPTION_TYPE_NUMBER:
		return read_json_number(spec, json, &ret->number);
	case OPTION_TYPE_SIZE:
		if (!json_is_string(json))
			return read_json_number(spec, json, &ret->number);
		break;
	case OPTION_TYPE_TEXT:
	case OPTION_TYPE_PATH:
	case OPTION_TYPE_CHOICE:
		break;
	}
	/* C string functions would not see what follows a zero byte. */
	return json_is_string(json) &&
	       strlen(json_string_value(json)) == json_string_length(json) &&
	       read_value(spec, json_string_value(json), ret);
}

int option_value_read_json(const struct option_spec *spec, const json_t *json,
                           struct option_value *ret, struct error *err)
{
	struct option_value value = { .given = true };
	char expected[OPTION_TEXT_SIZE], got[80];

	if (!read_json(spec, json, &value))
		return error_set(err, ERR_INVALID, "expected %s, got %s",
		                 option_expected(spec, expected),
		                 json_describe(json, got, sizeof got));
	if (check_home(spec, value.text, err) < 0)
		return -1;
	*ret = value;
	return 0;
}

/* --- storing --- */

_Static_assert(sizeof(enum log_level) == sizeof(unsigned), "choices are stored as unsigned");

/* Copies a text. In a path, and in each entry of a list, "~" and "~/..." are replaced by the home
 * directory: the configuration file and the files of MCP clients have no shell to do that, and a
 * shell replaces the first ~ of a list at most. */
static char *copy_text(const struct option_spec *spec, const char *text, struct options *options)
{
	const char *home = strchr(text, '~') != NULL ? find_home() : NULL;
	AUTO_BUF struct buf out;

	buf_init(&out, (strlen(text) + 1) * PATH_MAX);
	for (size_t i = 0; text[i] != '\0'; i++) {
		if (home != NULL && is_home_sign(spec, text, i))
			buf_put(&out, view_of(home));
		else
			buf_put(&out, (struct view){ &text[i], 1 });
	}
	return arena_text(&options->texts, buf_text(&out));
}

void option_value_store(const struct option_spec *spec, const struct option_value *value,
                        struct options *options)
{
	char *at = (char *)options + spec->offset;
	const bool flag = value->number != 0;
	const unsigned choice = (unsigned)value->number;
	char *text;

	switch (spec->type) {
	case OPTION_TYPE_FLAG:
		memcpy(at, &flag, sizeof flag);
		break;
	case OPTION_TYPE_TEXT:
	case OPTION_TYPE_PATH:
		text = copy_text(spec, value->text, options);
		memcpy(at, &text, sizeof text);
		break;
	case OPTION_TYPE_CHOICE:
		memcpy(at, &choice, sizeof choice);
		break;
	case OPTION_TYPE_NUMBER:
	case OPTION_TYPE_SIZE:
		memcpy(at, &value->number, sizeof value->number);
		break;
	}
}
