/* test_porter.c - directories of the host: which may be allowed, and what the agents there can
 * reach. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/porter/internal.h"
#include "unit/scratch.h"

enum { DEADLINE_MS = 60000 };

/* --- paths as text --- */

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

static void host_path_is_made_normal(void **state)
{
	char normal[HOST_PATH_SIZE], path[HOST_PATH_SIZE + 8];
	struct error err;

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

static void host_path_below_compares_whole_names(void **state)
{
	assert_string_equal(host_path_below("/a", "/a/b/c"), "b/c");
	assert_string_equal(host_path_below("/a", "/a"), ".");
	assert_null(host_path_below("/a", "/ab"));
	assert_null(host_path_below("/a/b", "/a"));
}

/* --- allowed directories --- */

static const struct {
	const char *paths, *why;
} refused[] = {
	{ "/", "allow-path: '/': the whole host cannot be allowed: name a directory" },
	{ "//.", "allow-path: '/': the whole host cannot be allowed: name a directory" },
	{ "/proc", "allow-path: '/proc': is an interface of the kernel, not a directory of files" },
	{ "/sys/fs",
	  "allow-path: '/sys/fs': is an interface of the kernel, not a directory of files" },
	{ "/dev", "allow-path: '/dev': is an interface of the kernel, not a directory of files" },
	{ "to-root", "allow-path: '/': the whole host cannot be allowed: name a directory" },
	{ "missing", "allow-path: 'missing': No such file or directory" },
	{ "fine:file", "allow-path: 'file': is not a directory" },
};

static void porter_refuses_dangerous_directories(void **state)
{
	struct porter porter;
	struct error err;
	char why[600];

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
		(void)snprintf(
		        why, sizeof why,
		        "allow-path: '%s': belljar's own state directory is '%s', which copies must not reach",
		        config.paths, config.state);
		assert_string_equal(err.msg, why);
	}
}

static void porter_is_not_started_without_directories(void **state)
{
	const struct porter_config config = { 0 };
	struct porter porter;
	struct error err;

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

static void stop_loop(void *ctx)
{
	loop_stop(((struct rig *)ctx)->loop);
}

#define UNTIL(rig, condition)                                                                      \
	do {                                                                                       \
		uint64_t end_ = clock_now_ms() + DEADLINE_MS;                                      \
		while (!(condition)) {                                                             \
			if (clock_now_ms() >= end_)                                                \
				fail_msg("not in time: %s (%s)", #condition, (rig)->why.msg);      \
			loop_timer_start((rig)->timer, 10);                                        \
			loop_run((rig)->loop);                                                     \
		}                                                                                  \
	} while (0)

static void rig_start(struct rig *rig, const char *paths, bool accepts_roots)
{
	const struct porter_config config = { .paths = paths, .accepts_roots = accepts_roots };
	struct error err;

	*rig = (struct rig){ 0 };
	(void)signal(SIGPIPE, SIG_IGN);
	buf_init(&rig->bytes, 1024 * 1024);
	CHECK_OK(porter_start(&config, &rig->porter, &err), err);
	CHECK_OK(loop_new(&rig->loop, &err), err);
	rig->timer = loop_timer_new(rig->loop, stop_loop, rig);
	CHECK_OK(host_new(rig->loop, TAKE_FD(rig->porter.socket),
	                  (const char *const *)rig->porter.directories, rig->porter.count,
	                  accepts_roots ? HOST_ROOTS_ON : HOST_ROOTS_OFF, &rig->host, &err),
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
	stop_loop(rig);
}

static struct host_handle *open_handle(struct rig *rig, const char *path)
{
	unsigned before = rig->opened;
	struct host_handle *handle = NULL;
	struct error err;

	CHECK_OK(host_open(rig->host, HOST_ALL_DIRS, path, on_open, rig, &handle, &err), err);
	assert_int_equal(rig->opened, before); /* from the loop only */
	UNTIL(rig, rig->opened != before);
	assert_non_null(host_handle_channel(handle));
	return handle;
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
	stop_loop(rig);
}

static void run_operation(struct rig *rig, struct host_handle *handle,
                          const struct wire_message *request, struct view content)
{
	unsigned before = rig->answered;
	struct files_op *op;
	struct error err;

	CHECK_OK(files_start(host_handle_channel(handle), request, content, 1024 * 1024, on_answer,
	                     rig, &op, &err),
	         err);
	UNTIL(rig, rig->answered != before);
}

static void read_path(struct rig *rig, struct host_handle *handle, const char *path)
{
	run_operation(rig, handle,
	              &(struct wire_message){
	                      .type = WIRE_READ,
	                      .read = { .count = 4096, .max = 4096, .path = view_of(path) } },
	              (struct view){ 0 });
}

static void write_path(struct rig *rig, struct host_handle *handle, const char *path)
{
	run_operation(rig, handle,
	              &(struct wire_message){
	                      .type = WIRE_WRITE,
	                      .write = { .perm = 0644, .max = 4096, .path = view_of(path) } },
	              VIEW("written"));
}

/* --- what an agent can reach --- */

static void agent_reads_and_writes_below_its_directory(void **state)
{
	struct host_handle *handle;
	struct stat st;
	struct rig rig;

	assert_int_equal(mkdir("allowed", 0755), 0);
	scratch_write("allowed/a", "text");
	rig_start(&rig, "allowed", false);
	handle = open_handle(&rig, "a");
	assert_string_equal(host_handle_path(handle), "a");
	assert_string_equal(host_handle_name(handle), "a");
	read_path(&rig, handle, host_handle_path(handle));
	CHECK_VIEW(buf_view(&rig.bytes), "text");
	write_path(&rig, handle, "b");
	assert_string_equal(rig.why.msg, "");
	assert_int_equal(stat("allowed/b", &st), 0);
	assert_int_equal(st.st_uid, getuid());
	assert_int_equal(st.st_size, 7);
	host_close(handle);
	rig_stop(&rig);
}

/* Each of these ways out must lead nowhere, or back inside. */
static void no_path_or_link_leads_out_of_the_directory(void **state)
{
	static const char *const ways[] = { "absolute/secret",
		                            "up/secret",
		                            "file",
		                            "../outside/secret",
		                            "/../outside/secret",
		                            "/etc/passwd",
		                            "kernel/self/root/etc/passwd" };
	AUTO_FREE char *outside = NULL;
	struct host_handle *handle;
	struct stat st;
	struct rig rig;

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
	handle = open_handle(&rig, ".");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		read_path(&rig, handle, ways[i]);
		if (rig.why.kind != ERR_NOT_FOUND || rig.bytes.len != 0)
			fail_msg("%s: %s %s", ways[i], rig.why.msg, buf_text(&rig.bytes));
	}
	write_path(&rig, handle, "dangling");
	write_path(&rig, handle, "../outside/new");
	write_path(&rig, handle, "up/new");
	assert_int_equal(lstat("outside/new", &st), -1);
	host_close(handle);
	rig_stop(&rig);
}

/* --- handles and roots --- */

static void one_agent_serves_all_handles_of_a_directory(void **state)
{
	struct host_handle *first, *second, *nearer;
	AUTO_FREE char *path = NULL;
	struct rig rig;

	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(mkdir("allowed/inner", 0755), 0);
	rig_start(&rig, "allowed:allowed/inner", false);
	path = mem_format("%s/allowed//./x", scratch_path);
	first = open_handle(&rig, path);
	second = open_handle(&rig, ".");
	nearer = open_handle(&rig, "inner/y");
	assert_ptr_equal(host_handle_channel(first), host_handle_channel(second));
	assert_ptr_not_equal(host_handle_channel(first), host_handle_channel(nearer));
	assert_string_equal(host_handle_path(second), ".");
	assert_string_equal(host_handle_path(nearer), "y");
	host_close(first);
	host_close(second);
	host_close(nearer);
	host_close(open_handle(&rig, "z"));
	rig_stop(&rig);
}

static void error_says_how_to_allow_a_directory(void **state)
{
	struct host_handle *handle;
	struct error err;
	struct rig rig;
	char why[400];

	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	(void)snprintf(
	        why, sizeof why,
	        "'/etc/passwd' is not below an allowed directory of the host (%s/allowed): belljar's option --allow-path allows more",
	        scratch_path);
	CHECK_ERROR(host_open(rig.host, HOST_ALL_DIRS, "/etc/passwd", on_open, &rig, &handle, &err),
	            err, ERR_INVALID, why);
	CHECK_ERROR(host_open(rig.host, HOST_ALL_DIRS, "../x", on_open, &rig, &handle, &err), err,
	            ERR_INVALID,
	            (snprintf(why, sizeof why,
	                      "'%s/allowed/../x': '..' cannot be used in paths of the host",
	                      scratch_path),
	             why));
	rig_stop(&rig);
	rig_start(&rig, NULL, false);
	CHECK_ERROR(host_open(rig.host, HOST_ALL_DIRS, "x", on_open, &rig, &handle, &err), err,
	            ERR_INVALID,
	            "no directory of the host is allowed: start belljar with --allow-path DIR");
	rig_stop(&rig);
	rig_start(&rig, NULL, true);
	CHECK_ERROR(
	        host_open(rig.host, HOST_ALL_DIRS, "x", on_open, &rig, &handle, &err), err,
	        ERR_INVALID,
	        "no directory of the host is allowed: start belljar with --allow-path DIR, or use a client that declares roots in the handshake");
	rig_stop(&rig);
	rig_start(&rig, NULL, false);
	rig.host = host_free(rig.host);
	CHECK_OK(host_new(rig.loop, -1, NULL, 0, HOST_ROOTS_OFF_AS_ROOT, &rig.host, &err), err);
	CHECK_ERROR(
	        host_open(rig.host, HOST_ALL_DIRS, "x", on_open, &rig, &handle, &err), err,
	        ERR_INVALID,
	        "no directory of the host is allowed: start belljar with --allow-path DIR, or with --roots yes to use the client's roots, which are off because belljar runs as root");
	rig_stop(&rig);
}

static void error_says_why_the_only_root_is_refused(void **state)
{
	const char *const home = scratch_path;
	struct host_handle *handle;
	struct error err;
	struct rig rig;
	char why[400];

	rig_start(&rig, NULL, true);
	host_set_roots(rig.host, &home, 1);
	UNTIL(&rig, host_directory_count(rig.host) == 0);
	(void)snprintf(
	        why, sizeof why,
	        "no directory of the host is allowed: the client's root cannot be used: '%s' is, contains or is in '%s/.ssh' (keys, and who may log in), which a client cannot declare: allow what is needed with --allow-path",
	        home, home);
	CHECK_ERROR(host_open(rig.host, HOST_ALL_DIRS, "x", on_open, &rig, &handle, &err), err,
	            ERR_INVALID, why);
	rig_stop(&rig);
}

static void directory_replaced_by_a_link_is_refused(void **state)
{
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	assert_int_equal(rmdir("allowed"), 0);
	assert_int_equal(symlink("/etc", "allowed"), 0);
	CHECK_OK(host_open(rig.host, HOST_ALL_DIRS, ".", on_open, &rig, &handle, &err), err);
	UNTIL(&rig, rig.failed != 0);
	assert_non_null(strstr(rig.why.msg, "/allowed' that was allowed is '"));
	assert_non_null(strstr(rig.why.msg, "start belljar again to allow the present one"));
	host_close(handle);
	rig_stop(&rig);
}

static void client_roots_are_added_and_removed(void **state)
{
	AUTO_FREE char *one = mem_format("%s/one", scratch_path);
	AUTO_FREE char *two = mem_format("%s/two", scratch_path);
	const char *const both[] = { one, two, "/", "/etc/..", "relative" };
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("one", 0755), 0);
	assert_int_equal(mkdir("two", 0755), 0);
	scratch_write("two/f", "of two");
	rig_start(&rig, NULL, true);
	host_set_roots(rig.host, both, ARRAY_LEN(both));
	assert_int_equal(host_directory_count(rig.host), 2);
	handle = open_handle(&rig, two);
	host_set_roots(rig.host, both, 1);
	assert_int_equal(host_directory_count(rig.host), 1);
	read_path(&rig, handle, "f"); /* an open handle stays usable */
	CHECK_VIEW(buf_view(&rig.bytes), "of two");
	host_close(handle);
	assert_int_equal(host_open(rig.host, HOST_ALL_DIRS, two, on_open, &rig, &handle, &err), -1);
	rig_stop(&rig);
	rig_start(&rig, "one", false);
	host_set_roots(rig.host, both, 2);
	assert_int_equal(host_directory_count(rig.host), 1);
	rig_stop(&rig);
}

/* The path is opened before the porter has replied about the roots. */
static void path_below_a_refused_root_is_found_below_another_one(void **state)
{
	AUTO_FREE char *one = mem_format("%s/one", scratch_path);
	AUTO_FREE char *file = mem_format("%s/one/f", scratch_path);
	const char *const roots[] = { one, file };
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("one", 0755), 0);
	scratch_write("one/f", "of one");
	rig_start(&rig, NULL, true);
	host_set_roots(rig.host, roots, ARRAY_LEN(roots));
	CHECK_OK(host_open(rig.host, HOST_ALL_DIRS, file, on_open, &rig, &handle, &err), err);
	UNTIL(&rig, rig.failed == 1);
	assert_true(host_handle_is_withdrawn(handle));
	host_close(handle);
	handle = open_handle(&rig, file);
	assert_false(host_handle_is_withdrawn(handle));
	assert_string_equal(host_handle_directory(handle), one);
	host_close(handle);
	rig_stop(&rig);
}

/* Other clients of the server must not use a client's roots, nor learn their names. */
static void roots_are_beyond_the_reach_of_other_clients(void **state)
{
	AUTO_FREE char *one = mem_format("%s/one", scratch_path);
	AUTO_FREE char *two = mem_format("%s/two", scratch_path);
	AUTO_FREE char *three = mem_format("%s/three", scratch_path);
	const char *const root = two;
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("one", 0755), 0);
	assert_int_equal(mkdir("two", 0755), 0);
	assert_int_equal(mkdir("three", 0755), 0);
	rig_start(&rig, "one", true);
	host_set_roots(rig.host, &root, 1);
	CHECK_OK(host_check_path(rig.host, HOST_ALL_DIRS, root, &err), err);
	CHECK_OK(host_check_path(rig.host, HOST_FIXED_DIRS, one, &err), err);
	assert_int_equal(host_check_path(rig.host, HOST_FIXED_DIRS, root, &err), -1);
	assert_non_null(strstr(err.msg, one));
	assert_null(strstr(strstr(err.msg, "of the host ("), root));
	assert_int_equal(host_open(rig.host, HOST_FIXED_DIRS, root, on_open, &rig, &handle, &err),
	                 -1);
	host_add_directory(rig.host, three);
	host_set_roots(rig.host, &root, 0); /* does not withdraw what the user has accepted */
	CHECK_OK(host_check_path(rig.host, HOST_ALL_DIRS, three, &err), err);
	assert_int_equal(host_check_path(rig.host, HOST_ALL_DIRS, root, &err), -1);
	rig_stop(&rig);
}

static void many_roots_fill_the_socket_and_arrive(void **state)
{
	char *paths[2][PORTER_DIRECTORIES_MAX];
	struct rig rig;

	for (size_t i = 0; i < 2 * PORTER_DIRECTORIES_MAX; i++) {
		char **path = &paths[i / PORTER_DIRECTORIES_MAX][i % PORTER_DIRECTORIES_MAX];

		*path = mem_format("%s/root%0200zu", scratch_path, i); /* packets take room */
		assert_int_equal(mkdir(*path, 0755), 0);
	}
	rig_start(&rig, NULL, true);
	assert_int_equal(kill(rig.porter.pid, SIGSTOP), 0);
	for (int i = 0; i < 5; i++) {
		host_set_roots(rig.host, (const char *const *)paths[i % 2], PORTER_DIRECTORIES_MAX);
		assert_int_equal(host_directory_count(rig.host), PORTER_DIRECTORIES_MAX);
		if (i < 2) /* more than the socket takes */
			continue;
		assert_int_equal(kill(rig.porter.pid, SIGCONT), 0);
		host_close(open_handle(&rig, paths[i % 2][PORTER_DIRECTORIES_MAX - 1]));
		assert_int_equal(host_directory_count(rig.host), PORTER_DIRECTORIES_MAX);
	}
	rig_stop(&rig);
	for (size_t i = 0; i < 2 * PORTER_DIRECTORIES_MAX; i++)
		free(paths[i / PORTER_DIRECTORIES_MAX][i % PORTER_DIRECTORIES_MAX]);
}

/* Run as root, file operations have the rights of the directory's owner and that user's own group. */
static void agent_of_root_has_the_owners_user_and_group(void **state)
{
	struct host_handle *handle;
	struct stat st;
	struct rig rig;

	if (getuid() != 0)
		SKIP_TEST("not root");
	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(chown("allowed", 12345, 0), 0);
	assert_int_equal(chmod(".", 0755), 0);
	rig_start(&rig, "allowed", false);
	handle = open_handle(&rig, "a");
	write_path(&rig, handle, "b");
	assert_string_equal(rig.why.msg, "");
	assert_int_equal(stat("allowed/b", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12345);
	host_close(handle);
	rig_stop(&rig);
}

static void dead_porter_fails_the_request(void **state)
{
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	assert_int_equal(kill(rig.porter.pid, SIGSTOP), 0);
	CHECK_OK(host_open(rig.host, HOST_ALL_DIRS, ".", on_open, &rig, &handle, &err), err);
	assert_int_equal(kill(rig.porter.pid, SIGKILL), 0);
	UNTIL(&rig, rig.failed == 1);
	assert_non_null(strstr(rig.why.msg, "has ended: start belljar again"));
	host_close(handle);
	assert_int_equal(host_open(rig.host, HOST_ALL_DIRS, ".", on_open, &rig, &handle, &err), -1);
	rig_stop(&rig);
}

static void handle_may_be_closed_before_its_callback(void **state)
{
	struct host_handle *handle;
	struct error err;
	struct rig rig;

	assert_int_equal(mkdir("allowed", 0755), 0);
	rig_start(&rig, "allowed", false);
	CHECK_OK(host_open(rig.host, HOST_ALL_DIRS, ".", on_open, &rig, &handle, &err), err);
	host_close(handle);
	host_close(open_handle(&rig, "."));
	assert_int_equal(rig.opened, 1);
	CHECK_OK(host_open(rig.host, HOST_ALL_DIRS, ".", on_open, &rig, &handle, &err), err);
	host_close(handle);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(host_path_is_made_normal),
		TEST(host_path_below_compares_whole_names),
		IN_SCRATCH(porter_refuses_dangerous_directories),
		IN_SCRATCH(porter_is_not_started_without_directories),
		IN_SCRATCH(agent_reads_and_writes_below_its_directory),
		IN_SCRATCH(no_path_or_link_leads_out_of_the_directory),
		IN_SCRATCH(one_agent_serves_all_handles_of_a_directory),
		IN_SCRATCH(error_says_how_to_allow_a_directory),
		IN_SCRATCH(error_says_why_the_only_root_is_refused),
		IN_SCRATCH(directory_replaced_by_a_link_is_refused),
		IN_SCRATCH(client_roots_are_added_and_removed),
		IN_SCRATCH(path_below_a_refused_root_is_found_below_another_one),
		IN_SCRATCH(roots_are_beyond_the_reach_of_other_clients),
		IN_SCRATCH(many_roots_fill_the_socket_and_arrive),
		IN_SCRATCH(agent_of_root_has_the_owners_user_and_group),
		IN_SCRATCH(dead_porter_fails_the_request),
		IN_SCRATCH(handle_may_be_closed_before_its_callback),
	};

	return RUN_TESTS("porter", all);
}
