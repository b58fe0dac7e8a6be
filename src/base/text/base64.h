/* base64.h - base64 of RFC 4648: standard alphabet, with padding. The caller frees all results. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct error;

/* Returns a C string. */
char *base64_encode(struct view bytes);
/* CR and LF are skipped anywhere, because MIME breaks base64 into lines. Any other character
 * outside the alphabet is ERR_SYNTAX with its position. A NUL that is not counted follows *ret. */
MUST_CHECK int base64_decode(struct view text, char **ret, size_t *ret_len, struct error *err);
