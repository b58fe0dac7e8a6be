/* probe.h - which languages a sandbox has, found out by asking its shell, and kept. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/list.h"
#include "kernels/languages.h"

struct error;
struct probe;
struct sandbox;

struct probe_waiter { /* all zero: does not wait */
	struct list node;
	bool with_versions;
	bool is_owned; /* by the probe: it frees it */
	void (*fn)(void *ctx, const struct error *why);
	void *ctx;
};

struct probe *probe_new(struct sandbox *sandbox);
void probe_free(struct probe *probe);
/* What was known is not, and those who wait hear why. */
void probe_down(struct probe *probe, const struct error *why);

/* Asks again whatever is known; fn from the loop. list_remove(&waiter->node): no more. */
void probe_ask(struct probe *probe, struct probe_waiter *waiter);
const struct language_found *probe_found(const struct probe *probe);
bool probe_has_versions(const struct probe *probe);
