/* left_out.h - what an archive does not carry, counted, and the first of it by name. */
#pragma once
#include "base/view.h"
#include "wire/message.h"

/* One more; done->cursor names the first, perhaps cut. The name is kept here, for one
 * operation at a time: a worker does one and ends. */
void left_out(struct wire_done *done, struct view name);
