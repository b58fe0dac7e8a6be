/* internal.h - the profiles' records, and what their handlers share: one struct for a call that
 * runs programs and uses files of one sandbox, with plain values as results.
 *
 *   profile_work_start -> begin() (the sandbox is awake) -> profile_run() or file_work_...() ...
 *       -> profile_answer() or work_fail()
 *
 * Each answer ends the call, as work.h describes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "sandbox/run/code_dir.h"
#include "sandbox/sandbox.h"
#include "tools/files/file_work.h"
#include "tools/packages/package_spec.h"
#include "tools/packages/package_step.h"
#include "tools/profiles/profiles.h"
#include "tools/run/module_help.h"
#include "tools/run/run_step.h"
#include "json/json.h"

extern const struct profile profile_code_executor, profile_sandbox_interpreter,
        profile_code_sandbox, profile_execution_client, profile_python_executor;
extern const struct mcp_prompt execution_client_prompt; /* execution_prompt.c */

enum {
	PROFILE_TEXT_MAX = 8 * 1024 * 1024,    /* bytes of code and of file contents */
	PROFILE_OUTPUT_MAX = 1024 * 1024,      /* bytes of each output stream in an answer */
	PROFILE_ID_MAX = 1024,                 /* bytes of an id; no sandbox has such a long one */
	PROFILE_WORDS_MAX = PACKAGE_SPECS_MAX, /* of profile_split() */
};

struct profile_work;
typedef void profile_begin_fn(struct profile_work *w);

/* How a program ended. The views are valid until the callback returns. */
struct profile_run {
	int exit_code;   /* 128 and the signal, if one killed the program */
	bool timed_out;  /* exit_code has no meaning then */
	struct view out; /* a note about a limit that was met stands at the end of `errors` */
	struct view errors;
	uint64_t elapsed_ms;
};
typedef void profile_ran_fn(struct profile_work *w, const struct profile_run *run);

struct profile_work {
	struct file_work file;
	const void *args;
	profile_begin_fn *begin;
	profile_ran_fn *ran;
	file_work_fn *read;
	struct run_step step;
	struct module_help help;
	struct package_step packages;
	struct code_dir code;    /* of code that is saved to a file; removed with the work */
	profile_begin_fn *after; /* continues after the preparations of the profile */
	char *path;              /* what file.path points to, if profile_set_path() made it */
	char base[128];          /* the directory that relative paths are below */
	char *words;             /* of profile_split(), one behind the other */
	const char *items[PROFILE_WORDS_MAX];
	json_t *answer; /* results so far, of a handler with several steps; or NULL */
	json_t *extra;  /* one more member of the answer; or NULL */
	size_t index;   /* of the next step */
	size_t room;    /* bytes that `answer` may still grow by */
};

/* The sandbox is woken, then begin() is called. */
struct profile_work *profile_work_start(struct mcp_call *call, struct sandbox *sandbox,
                                        profile_begin_fn *begin, const void *args);
/* Runs a program with PROFILE_OUTPUT_MAX bytes of output and calls ran() after its end. A program
 * that cannot be started fails the call. */
void profile_run(struct profile_work *w, const struct process_options *options,
                 profile_ran_fn *ran);
/* Answers with the object, as text and as structured content. */
void profile_answer(struct profile_work *w, json_t *object);
/* Bytes that the object takes in the text of an answer. */
size_t profile_answer_len(json_t *object);
void profile_answer_text(struct profile_work *w, struct view text);
/* Answers a call without work with a text. */
void profile_respond_text(struct mcp_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Responds with *err in the profile's shape. Returns 0, for handlers. */
int profile_refuse(struct mcp_call *call, const struct error *err);

/* {"success": ..., key: text} */
json_t *profile_result(bool success, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Sets file.path to the absolute path of `path`, which is relative to `base`. A relative path that
 * leaves `base`, or an absolute one that goes above the root, fails. */
MUST_CHECK int profile_set_path(struct profile_work *w, const char *base, const char *path,
                                struct error *err);
/* The path alone; the caller frees *ret. */
MUST_CHECK int profile_resolve(const char *base, const char *path, char **ret, struct error *err);

/* Reads file.path, whole or some lines of it, and continues with `next`; a longer text than
 * PROFILE_TEXT_MAX fails. Lines count from 1. */
void profile_read(struct profile_work *w, file_work_fn *next);
void profile_read_lines(struct profile_work *w, uint64_t from, uint64_t count, file_work_fn *next);

/* The words of a text, which has spaces between them; the list lives as long as the work. */
MUST_CHECK int profile_split(struct profile_work *w, const char *text, struct param_strings *ret,
                             struct error *err);

/* --- sandboxes --- */

/* The options of a new sandbox of the caller: see tools_sandbox_options(). */
struct sandbox_options profile_options(const struct mcp_call *call);
/* Finds a sandbox of the caller by id or name. ERR_NOT_FOUND: there is none, or the profile has not
 * made it: a call of a profile never reaches the caller's other sandboxes. */
MUST_CHECK int profile_find_sandbox(const struct mcp_call *call, const char *id,
                                    struct sandbox **ret, struct error *err);
/* Finds or creates the sandbox of this name; `options` describes a new one. A sandbox of this name
 * that the profile has not made is an error. */
MUST_CHECK int profile_get_sandbox(const struct tools_context *context,
                                   const struct sandbox_options *options, struct sandbox **ret,
                                   struct error *err);
/* Sets the image of a new sandbox. If the caller has named none, so that `image` is the profile's
 * `usual` one, an image that the operator has chosen (--image) is used. An engine without images is
 * no error: see profile_image_note(). */
MUST_CHECK int profile_set_image(const struct mcp_call *call, const char *image, const char *usual,
                                 struct spec *spec, struct error *err);
/* Where the programs of such a sandbox come from. */
enum profile_image {
	PROFILE_IMAGE_NAMED,    /* the image that the caller has named */
	PROFILE_IMAGE_NONE,     /* the engine has no images: from the server's machine */
	PROFILE_IMAGE_OPERATOR, /* the operator's image, in place of the usual one */
};
enum profile_image profile_image_of(const struct mcp_call *call, const char *image,
                                    const char *usual);
/* Why programs do not come from the image that the caller has named, as a sentence with a space in
 * front; "" if they do. */
enum { PROFILE_IMAGE_NOTE_SIZE = 640 };
const char *profile_image_note(const struct mcp_call *call, const char *image, const char *usual,
                               char out[PROFILE_IMAGE_NOTE_SIZE]);

/* Finds a language by its name. A language that is not known fails with the names of all. */
struct language;
MUST_CHECK int profile_find_language(const char *name, const struct language **ret,
                                     struct error *err);

/* --- the records --- */

/* struct profile.no_network of a profile that cannot install packages. */
#define PROFILE_NO_PACKAGES                                                                        \
	"packages cannot be installed in it either, so use what it has, or ask the operator of "   \
	"the server for --network"

/* A tool that does its work in a sandbox. Its handler finds the sandbox, and is the same for all
 * such tools of a profile. */
struct profile_tool {
	struct mcp_tool record;
	profile_begin_fn *begin;
};
/* begin() of the tool that was called. */
profile_begin_fn *profile_tool_begin(const struct mcp_call *call);

/* The record of a tool, as `symbol_`; begin_ NULL: its handler does the work. The text for models
 * comes last, with further members behind it. */
#define PROFILE_RECORD(symbol_, args_, name_, handler_, begin_, params_, scope_, hints_, ...)      \
	const struct profile_tool symbol_ = { .record = { .name = #name_,                          \
		                                          .hints = hints_,                         \
		                                          .scope = scope_,                         \
		                                          .params = params_,                       \
		                                          .args_size = sizeof(args_),              \
		                                          .call = handler_,                        \
		                                          .help = __VA_ARGS__ },                   \
		                              .begin = begin_ }
#define PROFILE_TOOL(args_, name_, ...)                                                            \
	static PROFILE_RECORD(record_##name_, args_, name_, __VA_ARGS__)

/* Rows for parameter tables. */
#define PROFILE_ID(args_, member_, ...)                                                            \
	ARG(args_, member_, STRING, "", .max = PROFILE_ID_MAX, __VA_ARGS__)
#define PROFILE_TEXT(args_, member_, help_, ...)                                                   \
	ARG(args_, member_, TEXT, help_, .max = PROFILE_TEXT_MAX, __VA_ARGS__)
#define PROFILE_PATH(args_, member_, help_, ...)                                                   \
	ARG(args_, member_, STRING, help_, .min = 1, .max = TOOL_PATH_MAX, __VA_ARGS__)
