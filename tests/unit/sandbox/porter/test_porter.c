/* test_porter.c - directories of the host: which may be given away, and what the agents there can
 * reach. */
#include "sandbox/porter/porter.h"

#include <errno.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"
#include "unit/scratch.h"

enum { PATIENCE_MS = 10000 };

/* --- paths as texts --- */

static const struct {
	const char *path, *normal; /* NULL: refused, */
	const char *why;
} normals[] = {
	{ "/a/b", "/a/b", NULL },
	{ "//a///b//", "/a/b", NULL },
	{ "/./a/./b/.", "/a/b", NULL },
	{ "/", "/", NULL },
	{ "/..a/b..", "/..a/b..", NULL },
	{ "/a/../b", NULL, "'/a/../b': '..' cannot be used in paths of the host" },
	{ "/..", NULL, "'/..': '..' cannot be used in paths of the host" },
	{ "a/b", NULL, "'a/b': not an absolute path" },
	{ "", NULL, "'': not an absolute path" },
};

static void paths_are_made_normal(void **state)
{
	char normal[HOST_PATH_SIZE], path[HOST_PATH_SIZE + 8];
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(normals); i++)
		if (normals[i].normal != NULL) {
			CHECK_OK(host_path_normal(normals[i].path, normal, &err), err);
			assert_string_equal(normal, normals[i].normal);
		} else
			CHECK_ERROR(host_path_normal(normals[i].path, normal, &err), err,
			            ERR_INVALID, normals[i].why);
	memset(path, 'x', sizeof path);
	path[0] = '/';
	path[HOST_PATH_SIZE - 1] = '\0';
	CHECK_OK(host_path_normal(path, normal, &err), err);
	path[HOST_PATH_SIZE - 1] = 'x';
	path[HOST_PATH_SIZE] = '\0';
	assert_int_equal(host_path_normal(path, normal, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void what_is_below_is_decided_by_names(void **state)
{
	(void)state;
	assert_string_equal(host_path_below("/a", "/a/b/c"), "b/c");
	assert_string_equal(host_path_below("/a", "/a"), ".");
	assert_null(host_path_below("/a", "/ab"));
	assert_null(host_path_below("/a/b", "/a"));
}

/* --- which directories --- */

static const struct {
	const char *paths, *why;
} refused[] = {
	{ "/", "allow-path: '/': all of the host is too much: name a directory" },
	{ "//.", "allow-path: '/': all of the host is too much: name a directory" },
	{ "/proc", "allow-path: '/proc': no files are there, but what the kernel shows of itself" },
	{ "/sys/fs", "allow-path: '/sys/fs': no files are there, but what the kernel shows of "
	             "itself" },
	{ "/dev", "allow-path: '/dev': no files are there, but what the kernel shows of itself" },
	{ "to-root", "allow-path: '/': all of the host is too much: name a directory" },
	{ "missing", "allow-path: 'missing': No such file or directory" },
	{ "fine:file", "allow-path: 'file': is not a directory" },
};

static void what_must_not_be_given_away_is_refused(void **state)
{
	struct porter porter;
	struct error err;
	char why[600];

	(void)state;
	assert_int_equal(symlink("/", "to-root"), 0);
	assert_int_equal(mkdir("fine", 0755), 0);
	scratch_write("file", "x");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const struct porter_config config = { .paths = refused[i].paths };

		assert_int_equal(porter_start(&config, &porter, &err), -1);
		assert_string_equal(err.msg, refused[i].why);
	}
	for (int i = 0; i < 2; i++) {
		AUTO_FREE char *inner = mem_format("%s/fine/state", scratch_path);
		AUTO_FREE char *outer = mem_format("%s/fine", scratch_path);
		const struct porter_config config = { .paths = i == 0 ? outer : inner,
			                              .state = i == 0 ? inner : outer };

		(void)mkdir(inner, 0755);
		assert_int_equal(porter_start(&config, &porter, &err), -1);
		(void)snprintf(why, sizeof why,
		               "allow-path: '%s': belljar's own state directory is '%s': "
		               "sandboxes must not get at it",
		               config.paths, config.state);
		assert_string_equal(err.msg, why);
	}
}

static void nothing_is_started_if_nothing_is_allowed(void **state)
{
	const struct porter_config config = { 0 };
	struct porter porter;
	struct error err;

	(void)state;
	CHECK_OK(porter_start(&config, &porter, &err), err);
	assert_int_equal(porter.pid, 0);
	assert_int_equal(porter.socket, -1);
	porter_stop(&porter);
}

/* --- a porter, a host, a loop --- */

struct rig {
	struct porter porter;
	struct loop *loop;
	struct loop_timer *timer;
	struct host *host;
	unsigned opened, failed, answered;
	struct error why;
	struct buf bytes;
};

static void poke(void *ctx)
{
	loop_stop(((struct rig *)ctx)->loop);
}

#define UNTIL(rig, condition)                                                                      \
	do {                                                                                       \
		uint64_t end_ = clock_now_ms() + PATIENCE_MS;                                      \
		while (!(condition)) {                                                             \
			if (clock_now_ms() >= end_)                                                \
				fail_msg("not in time: %s (%s)", #condition, (rig)->why.msg);      \
			loop_timer_start((rig)->timer, 10);                                        \
			loop_run((rig)->loop);                                                     \
		}                                                                                  \
	} while (0)

static void rig_start(struct rig *rig, const char *paths, bool may_add)
{
	const struct porter_config config = { .paths = paths, .may_add = may_add };
	struct error err;

	*rig = (struct rig){ 0 };
	(void)signal(SIGPIPE, SIG_IGN);
	buf_init(&rig->bytes, 1024 * 1024);
	CHECK_OK(porter_start(&config, &rig->porter, &err), err);
	CHECK_OK(loop_new(&rig->loop, &err), err);
	rig->timer = loop_timer_new(rig->loop, poke, rig);
	CHECK_OK(host_new(rig->loop, TAKE_FD(rig->porter.socket),
	                  (const char *const *)rig->porter.directories, rig->porter.count, may_add,
	                  &rig->host, &err),
	         err);
}

static void rig_stop(struct rig *rig)
{
	rig->host = host_free(rig->host);
	porter_stop(&rig->porter);
	(void)loop_timer_free(rig->timer);
	loop_run_deferred(rig->loop);
	(void)loop_free(rig->loop);
	buf_done(&rig->bytes);
}

static void on_open(void *ctx, const struct error *why)
{
	struct rig *rig = ctx;

	if (why == NULL)
		rig->opened++;
	else {
		rig->failed++;
		rig->why = *why;
	}
	poke(rig);
}

static struct host_handle *open_use(struct rig *rig, const char *path)
{
	unsigned before = rig->opened;
	struct host_handle *use = NULL;
	struct error err;

	CHECK_OK(host_open(rig->host, path, on_open, rig, &use, &err), err);
	assert_int_equal(rig->opened, before); /* from the loop only */
	UNTIL(rig, rig->opened != before);
	assert_non_null(host_handle_channel(use));
	return use;
}

static void on_answer(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct rig *rig = ctx;
	struct error err;

	rig->answered++;
	buf_clear(&rig->bytes);
	rig->why = (struct error){ 0 };
	if (why != NULL)
		rig->why = *why;
	else
		CHECK_OK(buf_add(&rig->bytes, answer->bytes, &err), err);
	poke(rig);
}

static void ask(struct rig *rig, struct host_handle *use, const struct wire_message *request,
                struct view content)
{
	unsigned before = rig->answered;
	struct files_op *op;
	struct error err;

	CHECK_OK(files_start(host_handle_channel(use), request, content, 1024 * 1024, on_answer,
	                     rig, &op, &err),
	         err);
	UNTIL(rig, rig->answered != before);
}

static void read_path(struct rig *rig, struct host_handle *use, const char *path)
{
	ask(rig, use,
	    &(struct wire_message){ .type = WIRE_READ,
	                            .read = { .count = 4096, .max = 4096, .path = view_of(path) } },
	    (struct view){ 0 });
}

static void write_path(struct rig *rig, struct host_handle *use, const char *path)
{
	ask(rig, use,
	    &(struct wire_message){ .type = WIRE_WRITE,
	                            .write = { .perm = 0644, .max = 4096, .path = view_of(path) } },
	    VIEW("written"));
}

/* --- what an agent there does --- */

static void files_are_read_and_written_below(void **state)
{
	struct host_handle *use;
	struct stat st;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	scratch_write("allowed/a", "text");
	rig_start(&rig, "allowed", false);
	use = open_use(&rig, "a");
	assert_string_equal(host_handle_path(use), "a");
	assert_string_equal(host_handle_name(use), "a");
	read_path(&rig, use, host_handle_path(use));
	CHECK_VIEW(buf_view(&rig.bytes), "text");
	write_path(&rig, use, "b");
	assert_string_equal(rig.why.msg, "");
	assert_int_equal(stat("allowed/b", &st), 0);
	assert_int_equal(st.st_uid, getuid());
	assert_int_equal(st.st_size, 7);
	host_close(use);
	rig_stop(&rig);
}

/* Each of these is a way out that must lead nowhere, or back inside. */
static void no_link_leads_out(void **state)
{
	static const char *const ways[] = { "absolute/secret",
		                            "up/secret",
		                            "file",
		                            "../outside/secret",
		                            "/../outside/secret",
		                            "/etc/passwd",
		                            "kernel/self/root/etc/passwd" };
	AUTO_FREE char *outside = NULL;
	struct host_handle *use;
	struct stat st;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(mkdir("outside", 0777), 0);
	assert_int_equal(chmod("outside", 0777), 0);
	scratch_write("outside/secret", "secret");
	outside = mem_format("%s/outside", scratch_path);
	assert_int_equal(symlink(outside, "allowed/absolute"), 0);
	assert_int_equal(symlink("../outside", "allowed/up"), 0);
	assert_int_equal(symlink("/proc", "allowed/kernel"), 0);
	assert_int_equal(symlink("../outside/secret", "allowed/file"), 0);
	assert_int_equal(symlink("../outside/new", "allowed/dangling"), 0);
	rig_start(&rig, "allowed", false);
	use = open_use(&rig, ".");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		read_path(&rig, use, ways[i]);
		if (rig.why.kind != ERR_NOT_FOUND || rig.bytes.len != 0)
			fail_msg("%s: %s %s", ways[i], rig.why.msg, buf_text(&rig.bytes));
	}
	write_path(&rig, use, "dangling");
	write_path(&rig, use, "../outside/new");
	write_path(&rig, use, "up/new");
	assert_int_equal(lstat("outside/new", &st), -1);
	host_close(use);
	rig_stop(&rig);
}

static void on_exec_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct rig *rig = ctx;

	(void)failure;
	rig->why = *why;
	rig->answered++;
	poke(rig);
}

static void on_exec_done(void *ctx, const struct wire_done *done)
{
	struct rig *rig = ctx;

	(void)done;
	(void)snprintf(rig->why.msg, sizeof rig->why.msg, "it ran");
	rig->answered++;
	poke(rig);
}

static void on_channel_ready(void *ctx, const struct wire_hello *hello, uint16_t port)
{
	(void)hello;
	(void)port;
	on_open(ctx, NULL);
}

static void on_channel_failed(void *ctx, const struct error *why)
{
	on_open(ctx, why);
}

static int receive_channel(int socket)
{
	struct host_question question = { .kind = HOST_OPEN };
	struct host_answer answer;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { &answer, sizeof answer };
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	int fd = -1;

	(void)snprintf(question.path, sizeof question.path, "%s/allowed", scratch_path);
	assert_int_equal(send(socket, &question, sizeof question, 0), sizeof question);
	assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), sizeof answer);
	assert_int_equal(answer.failed, 0);
	memcpy(&fd, CMSG_DATA(&control.align), sizeof fd);
	return fd;
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 2;
}

/* A server that has been taken over must not get further than into the directory: whatever root it
 * names, and without filters of its own, the kernel says no. */
static void another_root_is_of_no_use(void **state)
{
	static const struct channel_stream_events exec_events = { .done = on_exec_done,
		                                                  .failed = on_exec_failed };
	AUTO_BUF struct buf argv = { 0 };
	struct wire_message exec = {
		.type = WIRE_EXEC,
		.exec = { .uid = WIRE_SAME_ID, .gid = WIRE_SAME_ID, .cwd = VIEW("") }
	};
	struct channel_stream *stream;
	static const struct channel_events events = { .ready = on_channel_ready,
		                                      .failed = on_channel_failed };
	const struct wire_welcome welcome = { .version = WIRE_VERSION,
		                              .uid = getuid(),
		                              .gid = getgid(),
		                              .root = VIEW("/"),
		                              .workspace = VIEW("/") };
	const struct wire_message read = {
		.type = WIRE_READ, .read = { .count = 9, .max = 9, .path = VIEW("/etc/passwd") }
	};
	struct channel *channel = NULL;
	struct files_op *op;
	struct error err;
	struct rig rig;
	int end;

	(void)state;
	if (!has_landlock() || getuid() != 0)
		SKIP_TEST("no Landlock, or groups to be told");
	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	rig.host = host_free(rig.host);
	porter_stop(&rig.porter);
	CHECK_OK(porter_start(&(struct porter_config){ .paths = "allowed" }, &rig.porter, &err),
	         err);
	end = receive_channel(rig.porter.socket);
	CHECK_OK(channel_new(rig.loop, end, &welcome, &events, &rig, &channel, &err), err);
	UNTIL(&rig, rig.opened + rig.failed != 0);
	if (rig.opened != 0) {
		CHECK_OK(files_start(channel, &read, (struct view){ 0 }, 9, on_answer, &rig, &op,
		                     &err),
		         err);
		UNTIL(&rig, rig.answered != 0);
	}
	assert_int_equal(rig.why.errnum, EACCES);
	if (rig.opened != 0) {
		buf_init(&argv, 1024);
		CHECK_OK(wire_texts_add(&exec.exec.argv, &argv, VIEW("/bin/true"), &err), err);
		CHECK_OK(channel_open(channel, &exec, &exec_events, &rig, &stream, &err), err);
		UNTIL(&rig, rig.answered != 1);
		assert_string_equal(rig.why.msg, "/bin/true: Operation not permitted");
	}
	(void)channel_free(channel);
	rig_stop(&rig);
}

/* --- who is asked for what --- */

static void one_agent_serves_all_uses_of_a_directory(void **state)
{
	struct host_handle *first, *second, *nearer;
	AUTO_FREE char *path = NULL;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(mkdir("allowed/inner", 0755), 0);
	rig_start(&rig, "allowed:allowed/inner", false);
	path = mem_format("%s/allowed//./x", scratch_path);
	first = open_use(&rig, path);
	second = open_use(&rig, ".");
	nearer = open_use(&rig, "inner/y");
	assert_ptr_equal(host_handle_channel(first), host_handle_channel(second));
	assert_ptr_not_equal(host_handle_channel(first), host_handle_channel(nearer));
	assert_string_equal(host_handle_path(second), ".");
	assert_string_equal(host_handle_path(nearer), "y");
	host_close(first);
	host_close(second);
	host_close(nearer);
	host_close(open_use(&rig, "z"));
	rig_stop(&rig);
}

static void what_is_not_allowed_says_how_to_allow_it(void **state)
{
	struct host_handle *use;
	struct error err;
	struct rig rig;
	char why[400];

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	(void)snprintf(why, sizeof why,
	               "'/etc/passwd' is not below a directory of the host that is allowed "
	               "(%s/allowed): belljar's option --allow-path allows more",
	               scratch_path);
	CHECK_ERROR(host_open(rig.host, "/etc/passwd", on_open, &rig, &use, &err), err, ERR_INVALID,
	            why);
	CHECK_ERROR(host_open(rig.host, "../x", on_open, &rig, &use, &err), err, ERR_INVALID,
	            (snprintf(why, sizeof why,
	                      "'%s/allowed/../x': '..' cannot be used in paths of the host",
	                      scratch_path),
	             why));
	rig_stop(&rig);
	rig_start(&rig, NULL, false);
	CHECK_ERROR(host_open(rig.host, "x", on_open, &rig, &use, &err), err, ERR_INVALID,
	            "no directory of the host is allowed: start belljar with --allow-path DIR");
	rig_stop(&rig);
	rig_start(&rig, NULL, true);
	CHECK_ERROR(host_open(rig.host, "x", on_open, &rig, &use, &err), err, ERR_INVALID,
	            "no directory of the host is allowed: start belljar with --allow-path DIR, or "
	            "use a client that declares roots in the handshake");
	rig_stop(&rig);
}

static void a_directory_that_leads_elsewhere_now_is_refused(void **state)
{
	struct host_handle *use;
	struct error err;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	assert_int_equal(rmdir("allowed"), 0);
	assert_int_equal(symlink("/etc", "allowed"), 0);
	CHECK_OK(host_open(rig.host, ".", on_open, &rig, &use, &err), err);
	UNTIL(&rig, rig.failed != 0);
	assert_non_null(strstr(rig.why.msg, "leads to '/etc' now, which was not allowed"));
	host_close(use);
	rig_stop(&rig);
}

static void roots_of_the_client_come_and_go(void **state)
{
	AUTO_FREE char *one = mem_format("%s/one", scratch_path);
	AUTO_FREE char *two = mem_format("%s/two", scratch_path);
	const char *const both[] = { one, two, "/", "/etc/..", "relative" };
	struct host_handle *use;
	struct error err;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("one", 0755), 0);
	assert_int_equal(mkdir("two", 0755), 0);
	scratch_write("two/f", "of two");
	rig_start(&rig, NULL, true);
	host_set_roots(rig.host, both, ARRAY_LEN(both));
	assert_int_equal(host_directory_count(rig.host), 2);
	use = open_use(&rig, two);
	host_set_roots(rig.host, both, 1);
	assert_int_equal(host_directory_count(rig.host), 1);
	read_path(&rig, use, "f"); /* what is open stays so */
	CHECK_VIEW(buf_view(&rig.bytes), "of two");
	host_close(use);
	assert_int_equal(host_open(rig.host, two, on_open, &rig, &use, &err), -1);
	rig_stop(&rig);
	rig_start(&rig, "one", false);
	host_set_roots(rig.host, both, 2);
	assert_int_equal(host_directory_count(rig.host), 1);
	rig_stop(&rig);
}

static void many_roots_come_at_once_and_again(void **state)
{
	char *paths[2][HOST_DIRECTORIES_MAX];
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < 2 * HOST_DIRECTORIES_MAX; i++) {
		char **path = &paths[i / HOST_DIRECTORIES_MAX][i % HOST_DIRECTORIES_MAX];

		*path = mem_format("%s/root%0200zu", scratch_path, i); /* packets take room */
		assert_int_equal(mkdir(*path, 0755), 0);
	}
	rig_start(&rig, NULL, true);
	assert_int_equal(kill(rig.porter.pid, SIGSTOP), 0);
	for (int i = 0; i < 5; i++) {
		host_set_roots(rig.host, (const char *const *)paths[i % 2], HOST_DIRECTORIES_MAX);
		assert_int_equal(host_directory_count(rig.host), HOST_DIRECTORIES_MAX);
		if (i < 2) /* more than the socket takes */
			continue;
		assert_int_equal(kill(rig.porter.pid, SIGCONT), 0);
		host_close(open_use(&rig, paths[i % 2][HOST_DIRECTORIES_MAX - 1]));
		assert_int_equal(host_directory_count(rig.host), HOST_DIRECTORIES_MAX);
	}
	rig_stop(&rig);
	for (size_t i = 0; i < 2 * HOST_DIRECTORIES_MAX; i++)
		free(paths[i / HOST_DIRECTORIES_MAX][i % HOST_DIRECTORIES_MAX]);
}

static bool is_refused(int socket, uint32_t kind, const char *path)
{
	struct host_question question = { .kind = kind };
	struct host_answer answer;

	(void)snprintf(question.path, sizeof question.path, "%s", path);
	assert_int_equal(send(socket, &question, sizeof question, 0), sizeof question);
	assert_int_equal(recv(socket, &answer, sizeof answer, 0), sizeof answer);
	return answer.failed != 0;
}

/* Whatever the server says later: the porter itself does not open it any more. */
static void a_root_that_was_taken_away_is_not_opened(void **state)
{
	const struct porter_config config = { .paths = "kept", .may_add = true };
	AUTO_FREE char *one = mem_format("%s/one", scratch_path);
	AUTO_FREE char *link = mem_format("%s/link", scratch_path);
	AUTO_FREE char *kept = mem_format("%s/kept", scratch_path);
	struct porter porter;
	struct error err;

	(void)state;
	assert_int_equal(mkdir("one", 0755), 0);
	assert_int_equal(mkdir("kept", 0755), 0);
	assert_int_equal(symlink("one", "link"), 0);
	CHECK_OK(porter_start(&config, &porter, &err), err);
	assert_false(is_refused(porter.socket, HOST_ADD, one));
	assert_false(is_refused(porter.socket, HOST_ADD, link));
	assert_false(is_refused(porter.socket, HOST_ADD, kept));
	assert_false(is_refused(porter.socket, HOST_OPEN, one));
	assert_false(is_refused(porter.socket, HOST_REMOVE, one));
	assert_false(is_refused(porter.socket, HOST_OPEN, one)); /* where the link leads */
	assert_false(is_refused(porter.socket, HOST_REMOVE, link));
	assert_true(is_refused(porter.socket, HOST_OPEN, one));
	assert_true(is_refused(porter.socket, HOST_OPEN, link));
	assert_false(is_refused(porter.socket, HOST_REMOVE, kept));
	assert_false(is_refused(porter.socket, HOST_OPEN, kept));
	porter_stop(&porter);
}

/* Root works there as whoever it belongs to, in that user's own group. */
static void a_users_directory_is_not_worked_in_with_roots_group(void **state)
{
	struct host_handle *use;
	struct stat st;
	struct rig rig;

	(void)state;
	if (getuid() != 0)
		SKIP_TEST("not root");
	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(chown("allowed", 12345, 0), 0);
	assert_int_equal(chmod(".", 0755), 0);
	rig_start(&rig, "allowed", false);
	use = open_use(&rig, "a");
	write_path(&rig, use, "b");
	assert_string_equal(rig.why.msg, "");
	assert_int_equal(stat("allowed/b", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12345);
	host_close(use);
	rig_stop(&rig);
}

static void a_porter_that_is_gone_is_told(void **state)
{
	struct host_handle *use;
	struct error err;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	assert_int_equal(kill(rig.porter.pid, SIGSTOP), 0);
	CHECK_OK(host_open(rig.host, ".", on_open, &rig, &use, &err), err);
	assert_int_equal(kill(rig.porter.pid, SIGKILL), 0);
	UNTIL(&rig, rig.failed == 1);
	assert_non_null(strstr(rig.why.msg, "is gone: start belljar again"));
	host_close(use);
	assert_int_equal(host_open(rig.host, ".", on_open, &rig, &use, &err), -1);
	rig_stop(&rig);
}

static void a_use_may_be_closed_before_it_is_told(void **state)
{
	struct host_handle *use;
	struct error err;
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	CHECK_OK(host_open(rig.host, ".", on_open, &rig, &use, &err), err);
	host_close(use);
	host_close(open_use(&rig, "."));
	assert_int_equal(rig.opened, 1);
	CHECK_OK(host_open(rig.host, ".", on_open, &rig, &use, &err), err);
	host_close(use);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(paths_are_made_normal),
		cmocka_unit_test(what_is_below_is_decided_by_names),
		IN_SCRATCH(what_must_not_be_given_away_is_refused),
		IN_SCRATCH(nothing_is_started_if_nothing_is_allowed),
		IN_SCRATCH(files_are_read_and_written_below),
		IN_SCRATCH(no_link_leads_out),
		IN_SCRATCH(another_root_is_of_no_use),
		IN_SCRATCH(one_agent_serves_all_uses_of_a_directory),
		IN_SCRATCH(what_is_not_allowed_says_how_to_allow_it),
		IN_SCRATCH(a_directory_that_leads_elsewhere_now_is_refused),
		IN_SCRATCH(roots_of_the_client_come_and_go),
		IN_SCRATCH(many_roots_come_at_once_and_again),
		IN_SCRATCH(a_root_that_was_taken_away_is_not_opened),
		IN_SCRATCH(a_users_directory_is_not_worked_in_with_roots_group),
		IN_SCRATCH(a_porter_that_is_gone_is_told),
		IN_SCRATCH(a_use_may_be_closed_before_it_is_told),
	};

	return RUN_TESTS("porter", all);
}
