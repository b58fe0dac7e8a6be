/* job_test.h - a job without an agent: a temporary root directory, and the test at the other end of
 * the socket.
 *
 *   struct job_test t;
 *   job_test_start(&t);
 *   job_test_file(&t, "workspace/notes.txt", VIEW("..."));     paths are below the root
 *   job_test_feed(&t, VIEW("bytes for the operation"));       a thread sends DATA and END
 *   CHECK_OK(op_x(&t.job, &request, &done, &err), err);
 *   job_test_finish(&t);                 now t.data, t.records, t.packets are complete
 *   job_test_stop(&t);                   removes the directory
 *
 * A thread collects what the operation sends, so that it never blocks, and checks that every packet
 * is one frame of bytes or records. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/job.h"
#include "base/buf.h"
#include "unit/test.h"
#include "wire/table.h"

enum { JOB_TEST_MAX = 64 * 1024 * 1024 };

struct job_test {
	struct job job;
	char root[64]; /* the path of the job's "/" */
	int peer;
	struct buf data;    /* of DATA */
	struct buf records; /* of ENTRIES and MATCHES */
	size_t packets;
	size_t largest;        /* payload */
	const char *complaint; /* of the collecting thread */
	struct view input;     /* for the feeding thread */
	bool with_end, fed, finished;
	pthread_t collector, feeder;
};

void job_test_start(struct job_test *t);
void job_test_start_in(struct job_test *t, const char *where); /* not below /tmp */
void job_test_stop(struct job_test *t);

/* Sends bytes and END to the operation, from a thread. */
void job_test_feed(struct job_test *t, struct view bytes);
/* The same, but the socket is closed instead of END. */
void job_test_feed_and_close(struct job_test *t, struct view bytes);
/* Sends one packet, of any type, from this thread. */
void job_test_packet(struct job_test *t, uint8_t type, struct view payload);

/* Waits until everything that the operation sent has been collected. */
void job_test_finish(struct job_test *t);
/* The same, and a new socket for another operation. */
void job_test_again(struct job_test *t);

/* --- the tree below the root --- */

/* The full path, valid until the fourth call after this one. */
const char *job_test_path(const struct job_test *t, const char *path);
void job_test_file(const struct job_test *t, const char *path, struct view bytes);
void job_test_directory(const struct job_test *t, const char *path);
void job_test_link(const struct job_test *t, const char *target, const char *path);
bool job_test_exists(const struct job_test *t, const char *path);
mode_t job_test_mode(const struct job_test *t, const char *path);
/* Checks the contents of a small file. */
void job_test_holds(const struct job_test *t, const char *path, const char *want);
/* How many names a directory has, without "." and "..". */
size_t job_test_count(const struct job_test *t, const char *path);

/* --- fewer rights --- */

enum { JOB_TEST_NOBODY = 65534 };

/* Runs fn in a child as user nobody, if this process is root; fn returns 0 on success. */
void job_test_as_nobody(struct job_test *t, int (*fn)(struct job_test *t, struct error *err));
