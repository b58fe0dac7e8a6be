/* code_sandbox.h - the parts of the profile code-sandbox that its files share.
 *
 * In persistent mode a caller has one container, and each of its workspaces is a sandbox of its own
 * behind the container's id, with the files below /app/workspaces/ID: programs of one workspace
 * have neither another's files nor its processes. User ids could separate workspaces within one
 * sandbox, but a sandbox has one user id only where belljar runs without subordinate ids. */
#pragma once
#include "base/attr.h"
#include "base/view.h"
#include "mcp/param/param.h"
#include "tools/profiles/internal.h"
#include "tools/support/params.h"

struct code_sandbox_args {
	const char *container_id, *workspace_id, *image;
	const char *file_name, *dest_dir, *dest_path;
	const char *local_src_file, *local_src_dir, *container_src_path, *local_dest_path;
	struct view file_contents;
	struct param_strings commands;
	bool use_persistent, is_persistent;
};

#define CODE_SANDBOX_CONTAINER                                                                     \
	ARG_REQUIRED(struct code_sandbox_args, container_id, STRING, "From sandbox_initialize.",   \
	             .max = PROFILE_ID_MAX)
#define CODE_SANDBOX_WORKSPACE                                                                     \
	PROFILE_ID(struct code_sandbox_args, workspace_id, .more = "From sandbox_initialize.")

enum { CODE_SANDBOX_BASE_SIZE = 128, CODE_SANDBOX_TEXT_SIZE = 800 };

/* --- code_sandbox_text.c --- */

enum code_sandbox_message {
	TEXT_NO_CONTAINER,    /* id */
	TEXT_NO_WORKSPACE,    /* id of the container, id of the workspace */
	TEXT_WORKSPACE_READY, /* a sentence about the image, or "" */
	TEXT_SANDBOX_READY,   /* a sentence about the image, or "" */
	TEXT_NO_IMAGES,       /* engine, image */
	TEXT_OTHER_IMAGE,     /* the image that is used, the one that was named */
	TEXT_IMAGE_UNUSED,    /* image */
	TEXT_CLEANED,
	TEXT_KEPT,
	TEXT_STOPPED,
	TEXT_TIMED_OUT, /* seconds */
	TEXT_COUNT,
};

/* Writes the message in the language of the caller, with its arguments, of which those that it does
 * not have are NULL. */
const char *code_sandbox_text(const struct mcp_call *call, enum code_sandbox_message message,
                              const char *first, const char *second,
                              char out[CODE_SANDBOX_TEXT_SIZE]);

/* The summary of a copy, in the language of the caller. `text` is empty, and has room for
 * COPY_NOTES_MAX bytes and four texts. Reasons for what was left out are English. */
struct buf;
struct copy_done;
const char *code_sandbox_copied(const struct mcp_call *call, const struct copy_done *done,
                                struct buf *text);

/* --- code_sandbox.c --- */

/* The argument, or NULL if it is absent or empty, which is the same in the original. */
const char *code_sandbox_given(const char *argument);
/* Finds the sandbox that the ids name, and writes the directory that relative paths are below.
 * Without workspace_id it is the workspace whose directory another argument names, if any. */
MUST_CHECK int code_sandbox_find(const struct mcp_call *call, const struct code_sandbox_args *a,
                                 struct sandbox **ret, char base[CODE_SANDBOX_BASE_SIZE],
                                 struct error *err);
/* profile_resolve() for a path in a workspace, which has no files of other workspaces: a path below
 * the directory of another one fails, instead of naming a file that the other one does not have. */
MUST_CHECK int code_sandbox_resolve(const char *base, const char *path, char **ret,
                                    struct error *err);
/* A handler: continues with the tool's begin() in that sandbox, or answers with the error. */
int code_sandbox_start(struct mcp_call *call, const void *args, struct error *err);

#define CODE_SANDBOX_TOOL(name_, ...)                                                              \
	PROFILE_RECORD(code_sandbox_##name_, struct code_sandbox_args, name_, __VA_ARGS__)
extern const struct profile_tool code_sandbox_write_file_sandbox, code_sandbox_copy_file,
        code_sandbox_copy_project, code_sandbox_copy_file_from_sandbox, code_sandbox_sandbox_exec,
        code_sandbox_get_container_logs;
