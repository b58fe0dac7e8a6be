/* watch_files.h - notifies clients that subscribed to directories of sandboxes which files changed.
 *
 * File tools and runs report their own changes at once (file_work.h, changed_files.h). Changes by
 * programs that run in the background are found here: once a second, the agent of each sandbox that
 * is awake and has subscribers is asked what has changed. Without subscribers nothing is asked. */
#pragma once
#include "base/cleanup.h"

struct loop;
struct mcp_server;
struct tools_context;
struct watch_files;

/* `mcp` and `context` must outlive the watch. */
struct watch_files *watch_files_new(struct loop *loop, struct mcp_server *mcp,
                                    const struct tools_context *context);
struct watch_files *watch_files_free(struct watch_files *watch);
DEFINE_CLEANUP(watch_files)

/* To be called when a client has subscribed: changes from now on are reported. */
void watch_files_check(struct watch_files *watch);
