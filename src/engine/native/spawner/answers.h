/* answers.h - what waits to be told to the server.
 *
 * It may be slow to read: nothing here waits for it. While much waits, no further requests are
 * read, which bounds it. */
#pragma once
#include "base/list.h"
#include "engine/native/spawner/request.h"

struct answers {
	int socket;
	struct list waiting;
	size_t count;
};

void answers_init(struct answers *answers, int socket);
/* Takes over the descriptors. */
void answers_add(struct answers *answers, const struct answer *answer, const int *fds,
                 size_t count);
/* Sends what the socket takes. False: the server is gone. */
bool answers_flush(struct answers *answers);
