/* job_test.h - a job without an agent: a root directory of its own, and this test at the
 * other end of the socket.
 *
 *   struct job_test t;
 *   job_test_start(&t);
 *   job_test_file(&t, "workspace/notes.txt", VIEW("..."));     paths are below the root
 *   job_test_feed(&t, VIEW("bytes for the operation"));       a thread sends DATA and END
 *   CHECK_OK(op_x(&t.job, &request, &done, &err), err);
 *   job_test_finish(&t);                 now t.data, t.records, t.packets are complete
 *   job_test_stop(&t);                   removes the directory
 *
 * A thread collects what the operation sends, so it never blocks; it checks that every
 * packet is one frame that may be said there. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent/files/job.h"
#include "base/buf.h"
#include "unit/test.h"
#include "wire/table.h"

enum { JOB_TEST_MAX = 64 * 1024 * 1024 };

struct job_test {
	struct job job;
	char root[64]; /* outside: where the job's "/" is */
	int peer;
	struct buf data;    /* of DATA */
	struct buf records; /* of ENTRIES and MATCHES */
	size_t packets;
	size_t largest; /* payload */
	const char *complaint;
	struct view food;
	bool with_end, fed, finished;
	pthread_t collector, feeder;
};

static inline bool job_test_take(struct job_test *t, struct view packet)
{
	struct wire_message message;
	struct wire_frame frame;
	struct error err;
	struct buf *into = &t->data;

	if (wire_frame_cut(&packet, &frame, &err) != 1 || packet.len != 0 || frame.stream != 0 ||
	    frame.channel != WIRE_OUT || wire_decode(&frame, &message, &err) < 0)
		return false;
	if (frame.type == WIRE_ENTRIES || frame.type == WIRE_MATCHES)
		into = &t->records;
	else if (frame.type != WIRE_DATA)
		return false;
	t->packets++;
	if (frame.payload.len > t->largest)
		t->largest = frame.payload.len;
	return buf_add(into, frame.payload, &err) == 0;
}

static inline void *job_test_collect(void *ctx)
{
	static _Thread_local char packet[2 * WIRE_FRAME_MAX];
	struct job_test *t = ctx;
	ssize_t n;

	while ((n = recv(t->peer, packet, sizeof packet, 0)) > 0)
		if (!job_test_take(t, (struct view){ packet, (size_t)n }))
			t->complaint = "a packet that is not one frame of bytes or records";
	return NULL;
}

static inline void job_test_packet(struct job_test *t, uint8_t type, struct view payload)
{
	struct wire_frame frame = { .type = type, .channel = WIRE_IN, .payload = payload };
	char header[WIRE_HEADER];
	struct iovec parts[] = { { header, sizeof header },
		                 { (void *)(uintptr_t)payload.ptr, payload.len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	wire_frame_header(&frame, header);
	(void)sendmsg(t->peer, &message, MSG_NOSIGNAL);
}

static inline void *job_test_feeding(void *ctx)
{
	struct job_test *t = ctx;

	while (t->food.len != 0) {
		size_t len = t->food.len < JOB_PACKET_MAX ? t->food.len : JOB_PACKET_MAX;

		job_test_packet(t, WIRE_DATA, (struct view){ t->food.ptr, len });
		t->food.ptr += len;
		t->food.len -= len;
	}
	if (t->with_end)
		job_test_packet(t, WIRE_END, (struct view){ "", 0 });
	else /* the agent goes away in the middle */
		(void)shutdown(t->peer, SHUT_RDWR);
	return NULL;
}

static inline void job_test_feed(struct job_test *t, struct view bytes)
{
	t->food = bytes;
	t->with_end = t->fed = true;
	assert_int_equal(pthread_create(&t->feeder, NULL, job_test_feeding, t), 0);
}

/* The same, but the agent leaves instead of saying END. */
static inline void job_test_feed_and_leave(struct job_test *t, struct view bytes)
{
	t->food = bytes;
	t->with_end = false;
	t->fed = true;
	assert_int_equal(pthread_create(&t->feeder, NULL, job_test_feeding, t), 0);
}

/* A fresh socket, so that one test can ask several things. */
static inline void job_test_connect(struct job_test *t)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	t->job.fd = ends[0];
	t->peer = ends[1];
	t->job.pending = 0;
	t->packets = t->largest = 0;
	t->complaint = NULL;
	t->fed = t->finished = false;
	buf_clear(&t->data);
	buf_clear(&t->records);
	assert_int_equal(pthread_create(&t->collector, NULL, job_test_collect, t), 0);
}

static inline void job_test_start_in(struct job_test *t, const char *where)
{
	char workspace[128];

	*t = (struct job_test){ .job.workspace = "/workspace" };
	buf_init(&t->data, JOB_TEST_MAX);
	buf_init(&t->records, JOB_TEST_MAX);
	(void)snprintf(t->root, sizeof t->root, "%s/belljar-job-XXXXXX", where);
	assert_non_null(mkdtemp(t->root));
	/* For tests that ask as another user. */
	assert_int_equal(chmod(t->root, 0755), 0);
	(void)snprintf(workspace, sizeof workspace, "%s/workspace", t->root);
	assert_int_equal(mkdir(workspace, 0777), 0);
	assert_int_equal(chmod(workspace, 0777), 0);
	t->job.root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->job.root >= 0);
	job_test_connect(t);
}

static inline void job_test_start(struct job_test *t)
{
	job_test_start_in(t, "/tmp");
}

/* The operation is over: everything it sent has been collected. */
static inline void job_test_finish(struct job_test *t)
{
	if (t->finished)
		return;
	t->finished = true;
	(void)shutdown(t->job.fd, SHUT_RDWR);
	if (t->fed)
		assert_int_equal(pthread_join(t->feeder, NULL), 0);
	assert_int_equal(pthread_join(t->collector, NULL), 0);
	(void)close(t->job.fd);
	(void)close(t->peer);
	if (t->complaint != NULL)
		fail_msg("%s", t->complaint);
}

static inline void job_test_again(struct job_test *t)
{
	job_test_finish(t);
	job_test_connect(t);
}

static inline void job_test_stop(struct job_test *t)
{
	char rm[] = "rm", force[] = "-rf", end[] = "--";
	char *argv[] = { rm, force, end, t->root, NULL };
	char *env[] = { NULL };
	int status = -1;
	pid_t child;

	job_test_finish(t);
	(void)close(t->job.root);
	buf_done(&t->data);
	buf_done(&t->records);
	assert_int_equal(posix_spawn(&child, "/bin/rm", NULL, NULL, argv, env), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* --- the tree below the root, seen from outside --------------------------------------- */

static inline const char *job_test_path(const struct job_test *t, const char *path)
{
	static _Thread_local char out[4][512];
	static _Thread_local unsigned next;
	char *text = out[next++ % 4];

	(void)snprintf(text, sizeof out[0], "%s/%s", t->root, path);
	return text;
}

static inline void job_test_file(const struct job_test *t, const char *path, struct view bytes)
{
	int fd = open(job_test_path(t, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		assert_true(n > 0);
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	(void)close(fd);
}

static inline void job_test_directory(const struct job_test *t, const char *path)
{
	assert_int_equal(mkdir(job_test_path(t, path), 0755), 0);
}

static inline void job_test_link(const struct job_test *t, const char *target, const char *path)
{
	assert_int_equal(symlink(target, job_test_path(t, path)), 0);
}

static inline bool job_test_exists(const struct job_test *t, const char *path)
{
	struct stat st;

	return lstat(job_test_path(t, path), &st) == 0;
}

static inline mode_t job_test_mode(const struct job_test *t, const char *path)
{
	struct stat st;

	assert_int_equal(lstat(job_test_path(t, path), &st), 0);
	return st.st_mode;
}

/* The whole file, which is small, is this. */
static inline void job_test_holds(const struct job_test *t, const char *path, const char *want)
{
	char got[4096];
	int fd = open(job_test_path(t, path), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	n = read(fd, got, sizeof got - 1);
	(void)close(fd);
	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, want);
	assert_int_equal(n, strlen(want)); /* no NUL hides the rest */
}

/* What a directory has in it, "." and ".." aside. */
static inline size_t job_test_count(const struct job_test *t, const char *path)
{
	DIR *dir = opendir(job_test_path(t, path));
	size_t count = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count++;
	(void)closedir(dir);
	return count;
}

/* --- with fewer rights ------------------------------------------------------------------ */

enum { JOB_TEST_NOBODY = 65534 };

/* Runs fn in a child without any rights but those of everybody; it returns 0 if all is
 * well. Not for roots of a machine without one: then there is nothing to give up. */
static inline void job_test_as_nobody(struct job_test *t,
                                      int (*fn)(struct job_test *t, struct error *err))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		struct error err = { .msg = "(no error)" };
		int failed = geteuid() == 0 &&
		             (setresgid(JOB_TEST_NOBODY, JOB_TEST_NOBODY, JOB_TEST_NOBODY) < 0 ||
		              setresuid(JOB_TEST_NOBODY, JOB_TEST_NOBODY, JOB_TEST_NOBODY) < 0);

		failed = failed || fn(t, &err) != 0;
		if (failed)
			(void)dprintf(STDERR_FILENO, "as nobody: %s\n", err.msg);
		_exit(failed);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
