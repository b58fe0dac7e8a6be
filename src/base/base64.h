/* base64.h - RFC 4648, standard alphabet, padded. */
#pragma once
#include "base/view.h"

/* Terminated; the caller frees. */
char *base64_encode(struct view bytes);
