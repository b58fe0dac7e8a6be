/* config.h - the configuration file: one JSON object with the keys of option_specs.
 *
 * The file that was named; else the first that exists of
 * $XDG_CONFIG_HOME/belljar/belljar.json (~/.config without the variable) and
 * /etc/belljar/belljar.json. Never one from the current directory: a hostile project
 * could plant it there. */
#pragma once
#include "base/attr.h"
#include "server/options/option_value.h"
#include "json/json.h"

struct error;

struct config {
	char *path;                /* NULL: no file, nothing given */
	json_t *root;              /* owns the texts in `layer` */
	struct option_layer layer; /* what the file sets */
};

/* `named` may be NULL. A named file must exist. */
MUST_CHECK int config_load(struct config *ret, const char *named, struct error *err);
void config_done(struct config *config);
