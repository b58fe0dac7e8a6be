/* kernel_wire.h - what the server and a waiting interpreter say to each other, over the
 * interpreter's descriptor 3.
 *
 * The interpreter may be Python or Node; the code it runs may speak in its place. So what comes
 * from it is hostile: bounded, decoded into a struct, and believed only as far as it concerns
 * this interpreter's own runs.
 *
 *   server                      interpreter
 *   BOOT source            ->   runs the source: it is the rest of the interpreter's side
 *                          <-   READY version
 *   RUN fresh or cell      ->   a new process of its own, or one more cell of a session
 *                          <-   SHOWN ... a figure, a table, a value; ERROR (cells only)
 *                          <-   ENDED
 *   MARK nonce             ->   writes the nonce to its descriptors 1 and 2, behind all output
 *
 * A frame is a type (1 byte), a length (4 bytes, the lowest first) and so many bytes. Those are
 * fields: a length (4 bytes) and so many bytes each. A number is decimal text. A list is a number
 * that says how many fields follow. BOOT and MARK are bytes without fields. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum kernel_type {
	KERNEL_BOOT = 'B',
	KERNEL_RUN = 'R',
	KERNEL_MARK = 'M',
	KERNEL_READY = 'r',
	KERNEL_SHOWN = 'v',
	KERNEL_ERROR = 'e',
	KERNEL_ENDED = 'x',
};

enum {
	KERNEL_HEADER = 5,
	KERNEL_SAID_MAX = 1024 * 1024, /* bytes of a frame from the interpreter */
	KERNEL_MARK_LEN = 24,
};

/* Fields in this order. */
struct kernel_run {
	bool is_cell;     /* "fresh" or "cell" */
	const char *name; /* fresh: the directory to make for its file; cell: for tracebacks */
	const char *cwd;  /* "": it stays where it is */
	struct view code;
	bool has_stdin;          /* "0": it is empty */
	struct view in;          /* all that can be read from it */
	uint64_t pixels, bytes;  /* the most of a picture */
	const char *const *args; /* list, behind the file's name; NULL ends it */
	/* List of NAME=value, over what it was started with; NULL ends it. A cell has it for
	 * itself: afterwards each is what it was, unless the code has set it meanwhile. */
	const char *const *env;
};

/* What an interpreter said, decoded. Views point into the frame. */
struct kernel_said {
	enum kernel_type type;
	union {
		struct {
			struct view version; /* "3.11.2" */
		} ready;
		/* Either `text` or the `path` of a file that was written; never both. A drawing
		 * (image/svg+xml) is shown as text and then as the file it was saved to. */
		struct {
			struct view mime, text, path;
		} shown;
		struct {
			struct view name, message, traceback;
		} error;
		/* fresh: how its process ended; a cell: code 0, or 1 if there was an ERROR,
		 * and is_exit if the code asked the whole session to end. */
		struct {
			uint8_t code, signal;
			bool is_exit;
			uint64_t user_us, system_us, max_rss_kib;
		} ended; /* fields: code, signal, is_exit, user_us, system_us, max_rss_kib */
	};
};

MUST_CHECK int kernel_put_boot(struct buf *out, struct view source, struct error *err);
MUST_CHECK int kernel_put_run(struct buf *out, const struct kernel_run *run, struct error *err);
MUST_CHECK int kernel_put_mark(struct buf *out, const char mark[KERNEL_MARK_LEN],
                               struct error *err);

/* Takes the first whole frame off the front of *bytes: 1 and *ret; 0: it is not whole yet; -1: it
 * breaks a rule, and the interpreter is not worth talking to any more. */
MUST_CHECK int kernel_take(struct view *bytes, struct kernel_said *ret, struct error *err);
