/* params.h - rows for the parameter tables of tools (mcp/param/param.h), so that a table says only
 * what is special to its tool.
 *
 *   ARG(struct args, limit, INT, "How many.", .min = 1, .max = 100)     a row of an input table
 *   FIELD("size", INT, "Bytes.")                                        a row of an output table
 *
 * An argument has the name of the member that it is decoded into. A field of an answer is only
 * described here, and set by the tool. The type is an enum param_type without its PARAM_; further
 * members of struct param can follow the help text. */
#pragma once
#include <stddef.h>

#include "mcp/param/param.h"

#define ARG(args_, member_, type_, help_, ...)                                                     \
	{                                                                                          \
		.name = #member_, .type = PARAM_##type_, .offset = offsetof(args_, member_),       \
		.help = help_, __VA_ARGS__                                                         \
	}
#define ARG_REQUIRED(args_, member_, type_, help_, ...)                                            \
	ARG(args_, member_, type_, help_, .required = true, __VA_ARGS__)

/* A path in the sandbox. */
#define ARG_PATH(args_, member_, help_, ...)                                                       \
	ARG(args_, member_, STRING, help_, .more = "Absolute, or relative to /workspace.",         \
	    .also = PARAM_ALSO("file_path", "filename", "file", "directory", "dir"), .min = 1,     \
	    .max = TOOL_PATH_MAX, __VA_ARGS__)
/* The encoding of a file's bytes, or "base64" for bytes in the JSON. Decoding yields
 * encoding_names[i]. */
#define ARG_ENCODING(args_, member_, help_)                                                        \
	ARG(args_, member_, ENUM, help_, .values = encoding_names, .fallback.text = "utf-8")

#define FIELD(name_, type_, help_, ...)                                                            \
	{                                                                                          \
		.name = name_, .type = PARAM_##type_, .required = true, .help = help_, __VA_ARGS__ \
	}
#define FIELD_OPTIONAL(name_, type_, help_, ...)                                                   \
	{                                                                                          \
		.name = name_, .type = PARAM_##type_, .help = help_, __VA_ARGS__                   \
	}
#define FIELD_PATH FIELD("path", STRING, "The path as it was given.")

enum { TOOL_PATH_MAX = 4095 }; /* bytes of a path: PATH_MAX without its terminating zero */

enum { ENCODING_UTF8, ENCODING_BASE64, ENCODING_LATIN1, ENCODING_UTF16 };
extern const char *const encoding_names[];
/* The first two, the same pointers: for arguments that are either text or Base64. */
extern const char *const content_encoding_names[];
