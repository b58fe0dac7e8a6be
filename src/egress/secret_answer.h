/* secret_answer.h - the answer to a request that carried a secret: hostile input, on its way to the
 * program.
 *
 * The mask of net_secrets.h finds a value only if the bytes of the body stand one behind the other.
 * So the head of the answer is read as a whole, chunks are decoded, masked and written anew, and an
 * answer whose body has another form (compressed, an upgrade, lines that parsers read differently)
 * is refused. Interim answers (1xx) are left out. What follows the end of the answer is ignored.
 *
 *   secret_answer_init -> secret_answer_take ... until is_done, or secret_answer_end
 *                      -> secret_answer_done
 *
 * The caller owns the struct. `secrets` must live as long. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"
#include "egress/net_secrets.h"

struct error;

enum {
	SECRET_ANSWER_HEAD_MAX = 32 * 1024,
	/* Most bytes that one call appends beyond those it was given: the head, the bytes that
	 * were held back, and the frames of two chunks. */
	SECRET_ANSWER_MORE = 2 * SECRET_ANSWER_HEAD_MAX + NET_BASIC_MAX + 128,
};

enum secret_body { SECRET_BODY_TO_END, SECRET_BODY_NONE, SECRET_BODY_LENGTH, SECRET_BODY_CHUNKED };

struct secret_answer {
	const struct net_secrets *secrets;
	struct net_secret_mask mask; /* net_secrets_insert() fills in the credentials */
	bool is_to_head;             /* the request was HEAD: the answer has no body */
	bool has_head;               /* the program has got the head; before, it can get another */
	bool is_done;                /* the answer is complete */
	struct buf head;
	unsigned interim; /* answers that were left out */
	enum secret_body body;
	uint64_t left;    /* bytes of the body, or of the current chunk */
	uint8_t step;     /* within the frame of a chunk */
	uint8_t digits;   /* of the chunk's size */
	unsigned skipped; /* bytes left out: of this chunk's extensions, or of trailers */
};

void secret_answer_init(struct secret_answer *answer, const struct net_secrets *secrets);
void secret_answer_done(struct secret_answer *answer); /* erases the credentials */

/* Takes bytes of the host, and appends what the program gets to `out`. -1: the answer is refused,
 * and the rest must not be read. */
MUST_CHECK int secret_answer_take(struct secret_answer *answer, struct view bytes, struct buf *out,
                                  struct error *err);
/* The host has closed the connection. -1: it has sent no head. */
MUST_CHECK int secret_answer_end(struct secret_answer *answer, struct buf *out, struct error *err);
