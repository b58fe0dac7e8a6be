/* tar_parser.h - takes a tar stream apart, piece by piece, as its bytes arrive.
 *
 * The dialect is the one that wire/tar.h writes; whatever differs from it is refused with
 * ERR_SYNTAX. The bytes are hostile: code in a sandbox may have taken over the agent that packs. An
 * entry that was handed out has been checked for its form, not for its meaning: a name may still be
 * "../../etc". The parser allocates nothing and touches no file.
 *
 *   tar_parser_init -> tar_parse until 0, for each chunk of bytes -> tar_parser_check_end
 *
 * The struct is the caller's and needs no release. */
#pragma once
#include <stdbool.h>

#include "wire/tar.h"

enum tar_piece_kind {
	TAR_PIECE_ENTRY,   /* bytes: the entry's head; parser->entry describes it */
	TAR_PIECE_DATA,    /* bytes: the next ones of the file */
	TAR_PIECE_PADDING, /* bytes: zeros behind the data */
	TAR_PIECE_END,     /* bytes: the trailer; nothing may follow */
};

struct tar_piece {
	enum tar_piece_kind kind;
	struct view bytes; /* as they came; valid until the next call */
};

struct tar_parser {
	enum tar_state {
		TAR_AT_HEAD,
		TAR_IN_DATA,
		TAR_IN_PADDING,
		TAR_AT_TRAILER,
		TAR_ENDED
	} state;
	uint64_t left;   /* bytes of the head, data, padding or trailer that have not arrived */
	uint64_t number; /* of the entry under way, from 1 */
	char where[128]; /* "entry 3 ('a/b')", for errors */
	size_t records;  /* bytes of pax records in the head; 0: it has none */
	size_t head_len; /* bytes of head[] */
	struct tar_entry entry;
	char name[TAR_NAME_MAX + 1], link[TAR_NAME_MAX + 1];
	char head[TAR_HEAD_MAX];
};

void tar_parser_init(struct tar_parser *parser);

/* Takes bytes off the front of *bytes. 1: *ret is the next piece; 0: all bytes were used. */
MUST_CHECK int tar_parse(struct tar_parser *parser, struct view *bytes, struct tar_piece *ret,
                         struct error *err);

/* Fails if the stream must not end here: the trailer has not arrived. */
MUST_CHECK int tar_parser_check_end(const struct tar_parser *parser, struct error *err);
