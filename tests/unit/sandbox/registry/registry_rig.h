/* registry_rig.h - a registry in the scratch directory, and rows for it. */
#pragma once
#include <signal.h>
#include <sqlite3.h>

#include "sandbox/registry/registry.h"
#include "store/store.h"
#include "unit/scratch.h"

#define SELF  "00000000000000aa"
#define OTHER "00000000000000bb"
#define THIRD "00000000000000cc"

extern char registry_path[100]; /* of the database */

struct store *open_registry(void);

/* "sb_" and the letter 26 times; one of four static texts. */
const char *id_for(char letter);
struct sandbox_row row_for(char letter, const char *owner, const char *name);
void add_row(struct store *store, char letter, const char *owner, const char *name);
/* Runs a statement over a connection of its own. */
void run_sql(const char *sql);
void assert_row_state(struct store *store, char letter, enum sandbox_state want,
                      const char *instance);
