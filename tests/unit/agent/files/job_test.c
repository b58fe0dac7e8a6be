#include "unit/agent/files/job_test.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>

/* Collects one packet. */
static bool take_packet(struct job_test *t, struct view packet)
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

static void *collect_packets(void *ctx)
{
	static _Thread_local char packet[2 * WIRE_FRAME_MAX];
	struct job_test *t = ctx;
	ssize_t n;

	while ((n = recv(t->peer, packet, sizeof packet, 0)) > 0)
		if (!take_packet(t, (struct view){ packet, (size_t)n }))
			t->complaint = "a packet that is not one frame of bytes or records";
	return NULL;
}

void job_test_packet(struct job_test *t, uint8_t type, struct view payload)
{
	struct wire_frame frame = { .type = type, .channel = WIRE_IN, .payload = payload };
	char header[WIRE_HEADER];
	struct iovec parts[] = { { header, sizeof header },
		                 { (void *)(uintptr_t)payload.ptr, payload.len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	wire_frame_header(&frame, header);
	(void)sendmsg(t->peer, &message, MSG_NOSIGNAL);
}

static void *feed_input(void *ctx)
{
	struct job_test *t = ctx;

	while (t->input.len != 0) {
		size_t len = t->input.len < JOB_PACKET_MAX ? t->input.len : JOB_PACKET_MAX;

		job_test_packet(t, WIRE_DATA, (struct view){ t->input.ptr, len });
		t->input.ptr += len;
		t->input.len -= len;
	}
	if (t->with_end)
		job_test_packet(t, WIRE_END, (struct view){ "", 0 });
	else
		(void)shutdown(t->peer, SHUT_RDWR);
	return NULL;
}

void job_test_feed(struct job_test *t, struct view bytes)
{
	t->input = bytes;
	t->with_end = t->fed = true;
	assert_int_equal(pthread_create(&t->feeder, NULL, feed_input, t), 0);
}

void job_test_feed_and_close(struct job_test *t, struct view bytes)
{
	t->input = bytes;
	t->with_end = false;
	t->fed = true;
	assert_int_equal(pthread_create(&t->feeder, NULL, feed_input, t), 0);
}

/* Makes a new pair of sockets and starts the collecting thread. */
static void connect_socket(struct job_test *t)
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
	assert_int_equal(pthread_create(&t->collector, NULL, collect_packets, t), 0);
}

void job_test_start_in(struct job_test *t, const char *where)
{
	char workspace[128];

	*t = (struct job_test){ .job.workspace = "/workspace" };
	buf_init(&t->data, JOB_TEST_MAX);
	buf_init(&t->records, JOB_TEST_MAX);
	(void)snprintf(t->root, sizeof t->root, "%s/belljar-job-XXXXXX", where);
	assert_non_null(mkdtemp(t->root));
	/* Other users must get in, see job_test_as_nobody(). */
	assert_int_equal(chmod(t->root, 0755), 0);
	(void)snprintf(workspace, sizeof workspace, "%s/workspace", t->root);
	assert_int_equal(mkdir(workspace, 0777), 0);
	assert_int_equal(chmod(workspace, 0777), 0);
	t->job.root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->job.root >= 0);
	connect_socket(t);
}

void job_test_start(struct job_test *t)
{
	job_test_start_in(t, "/tmp");
}

void job_test_finish(struct job_test *t)
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

void job_test_again(struct job_test *t)
{
	job_test_finish(t);
	connect_socket(t);
}

void job_test_stop(struct job_test *t)
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

const char *job_test_path(const struct job_test *t, const char *path)
{
	static _Thread_local char out[4][512];
	static _Thread_local unsigned next;
	char *text = out[next++ % 4];

	(void)snprintf(text, sizeof out[0], "%s/%s", t->root, path);
	return text;
}

void job_test_file(const struct job_test *t, const char *path, struct view bytes)
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

void job_test_directory(const struct job_test *t, const char *path)
{
	assert_int_equal(mkdir(job_test_path(t, path), 0755), 0);
}

void job_test_link(const struct job_test *t, const char *target, const char *path)
{
	assert_int_equal(symlink(target, job_test_path(t, path)), 0);
}

bool job_test_exists(const struct job_test *t, const char *path)
{
	struct stat st;

	return lstat(job_test_path(t, path), &st) == 0;
}

mode_t job_test_mode(const struct job_test *t, const char *path)
{
	struct stat st;

	assert_int_equal(lstat(job_test_path(t, path), &st), 0);
	return st.st_mode;
}

void job_test_holds(const struct job_test *t, const char *path, const char *want)
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

size_t job_test_count(const struct job_test *t, const char *path)
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

void job_test_as_nobody(struct job_test *t, int (*fn)(struct job_test *t, struct error *err))
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
