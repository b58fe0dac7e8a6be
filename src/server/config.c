#include "server/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/utf8.h"

enum { LARGEST_FILE = 1024 * 1024 };

static const struct json_limits limits = { .depth = 8, .values = 10000 };

static const char *absolute(const char *variable)
{
	const char *path = getenv(variable);

	return path != NULL && path[0] == '/' ? path : NULL;
}

/* NULL if the environment does not tell where the user's files are. */
static char *user_file(void)
{
	const char *config_home = absolute("XDG_CONFIG_HOME");
	const char *home = absolute("HOME");

	if (config_home != NULL)
		return mem_format("%s/belljar/belljar.json", config_home);
	if (home != NULL)
		return mem_format("%s/.config/belljar/belljar.json", home);
	return NULL;
}

/* 1: read, 0: there is no such file. */
static int read_if_there(const char *path, struct buf *text, struct error *err)
{
	struct error why;

	if (fd_read_file(path, text, &why) == 0)
		return 1;
	if (why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

static int find_and_read(const char *named, char **ret_path, struct buf *text, struct error *err)
{
	AUTO_FREE char *own = NULL;
	const char *paths[2];

	if (named != NULL) {
		if (fd_read_file(named, text, err) < 0)
			return -1;
		*ret_path = mem_dup(named);
		return 0;
	}
	own = user_file();
	paths[0] = own;
	paths[1] = "/etc/belljar/belljar.json";
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int r = paths[i] != NULL ? read_if_there(paths[i], text, err) : 0;

		if (r < 0)
			return -1;
		if (r > 0) {
			*ret_path = mem_dup(paths[i]);
			return 0;
		}
	}
	return 0;
}

static int refuse_key(const char *key, struct error *err)
{
	struct nearest best = { 0 };
	char known[OPTION_COUNT][OPTION_NAME_SIZE], shown[80];

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_specs[i].in_file)
			nearest_offer(&best, key, option_key(&option_specs[i], known[i]));
	(void)utf8_show(view_of(key), shown, sizeof shown);
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
	return refuse_key(key, err);
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
	json_object_foreach(config->root, key,
	                    json) if (read_key(key, json, &config->layer, err) < 0) return -1;
	return 0;
}

int config_load(struct config *ret, const char *named, struct error *err)
{
	struct config config = { 0 };
	AUTO_BUF struct buf text;

	buf_init(&text, LARGEST_FILE);
	if (find_and_read(named, &config.path, &text, err) < 0)
		return error_wrap(err, "configuration");
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
