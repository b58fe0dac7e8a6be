/* tar_pax.h - what extended headers say of an entry: pax records and GNU long names.
 *
 * The struct is the caller's; zero it to say nothing. It owns its texts. */
#pragma once
#include <stdbool.h>

#include "wire/tar.h"

struct tar_extra {
	bool has_name, has_link, has_size, has_mtime;
	bool sparse; /* the data is not what the file contains */
	uint64_t size;
	int64_t mtime;
	char name[TAR_NAME_MAX + 1];
	char link[TAR_NAME_MAX + 1];
};

/* Adds the records of a pax header ('x' or 'g'); later ones win, an empty value takes back
 * what was said. Records we have no use for are passed over. */
MUST_CHECK int tar_pax_read(struct view records, struct tar_extra *extra, struct error *err);

/* A GNU long name ('L') or long link ('K'). */
MUST_CHECK int tar_long_read(struct view bytes, bool is_link, struct tar_extra *extra,
                             struct error *err);
