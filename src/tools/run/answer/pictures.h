/* pictures.h - reads the pictures that a process displayed out of its sandbox, as content blocks.
 *
 * The files were written by untrusted code and may be anything: each one is read up to a maximum,
 * and sent only if it begins like a picture of its type. A client would otherwise decode a bomb.
 *
 *   pictures_start -> fn -> pictures_done, which also cancels
 *
 * The struct belongs to the caller; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"
#include "sandbox/process/process.h"
#include "json/json.h"

struct files_op;
struct sandbox;

struct pictures {
	struct sandbox *sandbox;
	struct process *process; /* has ended */
	uint64_t max, left;      /* bytes: of one picture, and left for all */
	size_t at;               /* index of the display that is being read */
	size_t count;            /* of blocks */
	struct files_op *op;
	json_t *blocks; /* NULL: pictures_start() was not called */
	/* For each display of the process: why its picture is not in blocks; NULL: it is, or the
	 * display is no picture. */
	const char *unshown[PROCESS_DISPLAYS_MAX];
	void (*fn)(void *ctx);
	void *ctx;
};

/* Whether a display is a picture in a file that clients can show. */
bool pictures_is_picture(const struct process_display *display);
bool pictures_has_any(struct process *process);
/* `max`: bytes of one picture. fn is called when all were read, perhaps from within, and not after
 * pictures_done(). */
void pictures_start(struct pictures *pictures, struct sandbox *sandbox, struct process *process,
                    uint64_t max, void (*fn)(void *ctx), void *ctx);
void pictures_done(struct pictures *pictures);

/* Whether the bytes begin like a picture of this type and, for PNG, have a reasonable size. */
bool pictures_is_valid(const char *mime, struct view bytes);
