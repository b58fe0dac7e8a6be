/* base64.h - RFC 4648, standard alphabet, padded. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct error;

/* Terminated; the caller frees. */
char *base64_encode(struct view bytes);
/* Line ends may stand anywhere, as mail has them; everything else that is not base64 is refused,
 * with its place. The caller frees *ret, which is terminated. */
MUST_CHECK int base64_decode(struct view text, char **ret, size_t *ret_len, struct error *err);
