/* porter_internal.h - what the files of porter.h share. */
#pragma once
#include "sandbox/porter/porter.h"

/* One more, as it is called and as it is really called: absolute, is there, may be given away. */
MUST_CHECK int porter_allow(struct porter *porter, const char *path, bool is_root,
                            const char *state, struct error *err);
void porter_remove_root(struct porter *porter, const char *path);
bool porter_has(const struct porter *porter, const char *path);

/* porter_agent.c: starts an agent for the directory, and fills the answer. Returns the channel's
 * descriptor, or -1. `image` is kept for the next one; -1 at first. */
MUST_CHECK int porter_start_agent(const struct porter *porter, const char *path, int *image,
                                  struct host_answer *answer, struct error *err);
