/* tar.h - the archives that PACK writes and UNPACK reads.
 *
 * Both ends of a copy are Belljar's agents, so one dialect is enough: ustar, with one pax extended
 * header ('x') in front of an entry whose path, link target, size or time does not fit into the
 * ustar fields. Every tar program reads such an archive; tar_parser.h reads nothing else. Times
 * are whole seconds from 1970 to the year 9999. Owners are not recorded: UNPACK creates every file
 * as the user of the sandbox or of the host directory. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum {
	TAR_BLOCK = 512,
	TAR_NAME_MAX = 4095,
	/* One pax header block, its records (two names, two numbers), one ustar header block. */
	TAR_HEAD_MAX = 20 * TAR_BLOCK,
	TAR_TRAILER = 2 * TAR_BLOCK, /* zeros that end an archive */
};
#define TAR_TIME_MAX INT64_C(253402300799)
#define TAR_SIZE_MAX (UINT64_MAX >> 2) /* rounding it up to a block cannot overflow */

/* Zeros that follow `size` bytes of data, up to the next block. */
static inline uint64_t tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

enum tar_type { TAR_FILE, TAR_DIRECTORY, TAR_SYMLINK };

struct tar_entry {
	enum tar_type type;
	unsigned mode; /* permissions only: 0777 */
	uint64_t size; /* of the data that follows; 0 unless it is a file */
	int64_t mtime;
	const char *name; /* at most TAR_NAME_MAX bytes; a directory's has no slash at its end */
	const char *link; /* the target of a symbolic link; "" otherwise */
};

/* The ustar header as it stands in the archive. */
struct tar_block {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[8]; /* with the version */
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char rest[12];
};
_Static_assert(sizeof(struct tar_block) == TAR_BLOCK, "a header is one block");

#define TAR_MAGIC                                                                                  \
	"ustar\0"                                                                                  \
	"00"

/* The letter of a type in a header; 'x' is the pax header in front of an entry. */
extern const char tar_type_letters[TAR_SYMLINK + 1];
enum { TAR_PAX_LETTER = 'x' };

/* Computes the checksum and writes it into the block. */
void tar_set_checksum(struct tar_block *block);

/* Appends the entry's head, at most TAR_HEAD_MAX bytes; the caller appends data and padding. */
MUST_CHECK int tar_encode(const struct tar_entry *entry, struct buf *out, struct error *err);
