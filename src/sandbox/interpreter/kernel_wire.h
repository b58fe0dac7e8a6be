/* kernel_wire.h - the protocol between the server and a waiting interpreter, over the interpreter's
 * descriptor 3.
 *
 * The code that the interpreter executes can write to the same descriptor. So every message from it
 * is hostile: its size is bounded, its fields are checked, and it can only affect the executions of
 * this one interpreter.
 *
 *   server                      interpreter
 *   BOOT source            ->   executes the source, which is the rest of the interpreter's side
 *                          <-   TEXT (Python, whose source is compiled code of another version)
 *   BOOT source            ->   the same as text
 *                          <-   READY version
 *   RUN fresh or cell      ->   executes code in a new process, or as one more cell of a session
 *                          <-   SHOWN ... a figure, a table, a value; CLEARED; ERROR (cells only)
 *                          <-   LEFT (fresh only, if processes were left running), ENDED
 *   MARK nonce             ->   writes the nonce to its descriptors 1 and 2, behind all output
 *
 * To a process that forks for each fresh run (Python) MARK is sent right behind RUN: that process
 * reads it only after ENDED, and the code does not have the socket.
 *
 * An interpreter that becomes its run (kernel_program.once) gets RUN right behind BOOT. It sends
 * READY, NAMES, SHOWN and CLEARED, and its exit is the end of the run.
 *
 * A message is a type (1 byte), a length (4 bytes, little endian) and so many bytes of fields. A
 * field is a length (4 bytes) and so many bytes. A number is decimal text. A list is a number that
 * says how many fields follow. The bytes of BOOT and MARK are not divided into fields. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum kernel_type {
	KERNEL_BOOT = 'B',
	KERNEL_RUN = 'R',
	KERNEL_MARK = 'M',
	KERNEL_TEXT = 't',
	KERNEL_READY = 'r',
	KERNEL_NAMES = 'n',
	KERNEL_SHOWN = 'v',
	KERNEL_CLEARED = 'c',
	KERNEL_ERROR = 'e',
	KERNEL_LEFT = 'l',
	KERNEL_ENDED = 'x',
};

enum {
	KERNEL_HEADER = 5,
	KERNEL_MESSAGE_MAX = 1024 * 1024, /* bytes of a message from the interpreter */
	KERNEL_MARK_LEN = 24,
	KERNEL_NAMES_MAX = 4096,
};

/* RUN; its fields are in this order. */
struct kernel_run {
	bool is_cell;     /* "fresh" or "cell" */
	const char *name; /* fresh: the directory to create for its file; cell: for tracebacks */
	const char *cwd;  /* "": unchanged */
	struct view code;
	bool has_stdin;          /* "0": stdin is empty */
	struct view in;          /* all of stdin */
	uint64_t pixels, bytes;  /* largest picture that is saved */
	const char *const *args; /* list: sys.argv[1:]; ends with NULL */
	/* List of NAME=value, ends with NULL; overrides the interpreter's environment. After a cell
	 * each variable gets its old value back, unless the code has changed it. */
	const char *const *env;
	/* RLIMIT_DATA, if it has changed since the interpreter was started; left out if not (0). */
	uint64_t data_limit;
};

/* A decoded message from the interpreter. Views point into the received bytes. */
struct kernel_message {
	enum kernel_type type;
	union {
		struct {
			struct view version; /* "3.11.2" */
		} ready;
		/* Names that the code assigns at its top level: ASCII, with spaces between. */
		struct {
			struct view names;
		} names;
		/* Either `text` or the `path` of a file with the content is set. A drawing
		 * (image/svg+xml) is sent twice: as text, and as the file it was saved to. The last
		 * field, `id`, is left out if the code gave the display no id. */
		struct {
			struct view mime, text, path, id;
		} shown;
		/* The code removed what it displayed and printed so far, or the display that has
		 * the id. A last field "wait" says: not before there is more output. */
		struct {
			struct view id; /* "": all */
			bool waits;
		} cleared;
		struct {
			struct view name, message, traceback;
		} error;
		/* fresh: processes were still running and are killed; before ENDED */
		struct {
			struct view commands;
		} left;
		/* fresh: how the process of the code ended. Cell: code 0, or 1 after an ERROR;
		 * is_exit if the code asked the whole session to end. */
		struct {
			uint8_t code, signal;
			bool is_exit;
			uint64_t user_us, system_us, max_rss_kib;
		} ended; /* fields: code, signal, is_exit, user_us, system_us, max_rss_kib */
	};
};

MUST_CHECK int kernel_encode_boot(struct buf *out, struct view source, struct error *err);
MUST_CHECK int kernel_encode_run(struct buf *out, const struct kernel_run *run, struct error *err);
MUST_CHECK int kernel_encode_mark(struct buf *out, const char mark[KERNEL_MARK_LEN],
                                  struct error *err);

/* Takes the first complete message off the front of *bytes. 1: *ret is set, and its views point
 * into the bytes. 0: the message is not complete yet. -1: it breaks a rule, and the interpreter is
 * to be killed. */
MUST_CHECK int kernel_decode(struct view *bytes, struct kernel_message *ret, struct error *err);
