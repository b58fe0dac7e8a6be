/* config.h - the configuration file: one JSON object with the keys of option_specs.
 *
 * The file is the one named by --config or BELLJAR_CONFIG; else the first that exists of
 * $XDG_CONFIG_HOME/belljar/belljar.json (~/.config without the variable) and
 * /etc/belljar/belljar.json. The current directory is never searched: a client may start the server
 * in the directory of a hostile project.
 *
 *   config_load -> config_done */
#pragma once
#include "base/attr.h"
#include "server/options/option_value.h"
#include "json/json.h"

struct error;

struct config {
	char *path;                /* NULL: there is no file */
	json_t *root;              /* owns the texts in `layer` */
	struct option_layer layer; /* what the file sets */
};

/* `named` may be NULL. A named file must exist. */
MUST_CHECK int config_load(struct config *ret, const char *named, struct error *err);
void config_done(struct config *config);
