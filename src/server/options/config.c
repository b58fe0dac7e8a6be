#include "server/options/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"

enum { FILE_SIZE_MAX = 1024 * 1024 };

static const struct json_limits limits = { .depth = 8, .values = 10000 };

/* Relative paths in these variables are invalid by the XDG specification. */
static const char *get_absolute_path(const char *variable)
{
	const char *path = getenv(variable);

	return path != NULL && path[0] == '/' ? path : NULL;
}

/* A place where the file is looked for when none is named. */
struct usual_file {
	const char *path;     /* NULL: the environment names none */
	const char *variable; /* that the path was built from; NULL: none */
};

/* Returns the path of the user's own file, or NULL if neither variable is set. */
static char *make_user_path(const char **ret_variable)
{
	const char *config_home = get_absolute_path("XDG_CONFIG_HOME");
	const char *home = get_absolute_path("HOME");

	*ret_variable = config_home != NULL ? "XDG_CONFIG_HOME" : "HOME";
	if (config_home != NULL)
		return mem_format("%s/belljar/belljar.json", config_home);
	if (home != NULL)
		return mem_format("%s/.config/belljar/belljar.json", home);
	return NULL;
}

/* A file that exists but cannot be read is an error: without it, restrictions that it sets would
 * silently not hold. The message says how the path came about and how to choose another one. */
static int set_unreadable(const struct usual_file *file, const struct error *why, struct error *err)
{
	if (file->variable != NULL)
		(void)error_set(err, why->kind,
		                "%s (the path comes from %s; --config FILE names another file)",
		                why->msg, file->variable);
	else
		(void)error_set(err, why->kind, "%s (--config FILE names another file)", why->msg);
	err->errnum = why->errnum;
	return -1;
}

/* Returns 1 if the file was read, 0 if it does not exist. */
static int read_if_exists(const struct usual_file *file, struct buf *text, struct error *err)
{
	struct error why;

	if (file->path == NULL)
		return 0;
	if (fd_read_file(file->path, text, &why) == 0)
		return 1;
	if (why.kind == ERR_NOT_FOUND)
		return 0;
	return set_unreadable(file, &why, err);
}

static int find_and_read_file(const char *named, char **ret_path, struct buf *text,
                              struct error *err)
{
	const char *variable = NULL;
	AUTO_FREE char *own = make_user_path(&variable);
	const struct usual_file files[] = {
		{ own, variable },
		{ "/etc/belljar/belljar.json", NULL },
	};

	if (named != NULL) {
		if (fd_read_file(named, text, err) < 0)
			return -1;
		*ret_path = mem_dup(named);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		int r = read_if_exists(&files[i], text, err);

		if (r < 0)
			return -1;
		if (r > 0) {
			*ret_path = mem_dup(files[i].path);
			return 0;
		}
	}
	return 0;
}

static int set_unknown_key(const char *key, struct error *err)
{
	struct nearest best = { 0 };
	char known[OPTION_COUNT][OPTION_NAME_SIZE], shown[80];

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_specs[i].in_file)
			nearest_consider(&best, key, option_key(&option_specs[i], known[i]));
	(void)utf8_escape(view_of(key), shown, sizeof shown);
	if (best.name != NULL)
		return error_set(err, ERR_INVALID, "unknown key '%s'; did you mean '%s'?", shown,
		                 best.name);
	return error_set(err, ERR_INVALID,
	                 "unknown key '%s'; 'belljar help serve' lists the options", shown);
}

static int read_key(const char *key, const json_t *json, struct option_layer *layer,
                    struct error *err)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char known[OPTION_NAME_SIZE];

		if (!option_specs[i].in_file ||
		    strcmp(key, option_key(&option_specs[i], known)) != 0)
			continue;
		if (option_value_read_json(&option_specs[i], json, &layer->values[i], err) < 0)
			return error_wrap(err, "%s", known);
		return 0;
	}
	return set_unknown_key(key, err);
}

static int read_object(struct view text, struct config *config, struct error *err)
{
	const char *key;
	json_t *json;
	char got[80];

	if (json_read(text, &limits, &config->root, NULL, err) < 0)
		return -1;
	if (!json_is_object(config->root))
		return error_set(err, ERR_INVALID, "expected a JSON object, got %s",
		                 json_describe(config->root, got, sizeof got));
	json_object_foreach (config->root, key, json)
		if (read_key(key, json, &config->layer, err) < 0)
			return -1;
	return 0;
}

int config_load(struct config *ret, const char *named, struct error *err)
{
	struct config config = { 0 };
	AUTO_BUF struct buf text;

	buf_init(&text, FILE_SIZE_MAX);
	if (find_and_read_file(named, &config.path, &text, err) < 0)
		return error_wrap(err, "configuration");
	/* A byte order mark is overwritten, not removed: errors name the byte offset in the
	 * file. */
	if (view_starts(buf_view(&text), "\xef\xbb\xbf"))
		memset(text.ptr, ' ', 3);
	if (config.path != NULL && read_object(buf_view(&text), &config, err) < 0) {
		(void)error_wrap(err, "configuration '%s'", config.path);
		config_done(&config);
		return -1;
	}
	*ret = config;
	return 0;
}

void config_done(struct config *config)
{
	free(config->path);
	json_decref(config->root);
	*config = (struct config){ 0 };
}
