/* runtime_docker.h - the part of a runtime that starts the broker of the docker engine. */
#pragma once
#include "server/runtime/runtime.h"

/* `sources` are the shared directories, as many as base->target_count. */
MUST_CHECK int runtime_start_broker(const struct options *options, struct runtime_base *base,
                                    char *const *sources, struct error *err);

/* Callbacks of the spawner and the broker; ctx is the struct runtime_base. */
bool runtime_is_alive(void *ctx, const char *instance);

/* Whether the rows of sandboxes exist. The server creates them soon after its start. */
bool runtime_has_database(const struct runtime_base *base);
int runtime_connect_server(void *ctx, const char *instance, struct error *err);
