/* test_live_inside.c - workers have only the user's rights and stay below the root, whatever
 * symbolic links there are, also if links are swapped at the same time. */
#include <linux/fs.h>

#include "unit/agent/live/live_files.h"

/* --- the user's rights; the test must be root to give some away --- */

static void worker_has_only_the_rights_of_the_user(void **state)
{
	struct live_stream *s;
	struct live live;
	struct stat st;

	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	files_begin(&live, state, (struct live_options){ .uid = live_user(), .gid = live_user() });
	files_put(&live, "secret", VIEW("root's"));
	assert_int_equal(chmod(files_at(&live, "secret"), 0600), 0);
	files_mkdir(&live, "roots");
	assert_int_equal(chmod(files_at(&live, "roots"), 0700), 0);
	LIVE_CHECK_FAILED(live_read_file(&live, "secret"), WIRE_FAILED_DENIED,
	                  "secret: Permission denied");
	LIVE_CHECK_FAILED(files_write(&live, "secret", WIRE_WRITE_REPLACE, "x"), WIRE_FAILED_DENIED,
	                  "secret: Permission denied");
	LIVE_CHECK_FAILED(files_write(&live, "secret", WIRE_WRITE_APPEND, "x"), WIRE_FAILED_DENIED,
	                  "secret: Permission denied");
	LIVE_CHECK_FAILED(files_write(&live, "roots/f", WIRE_WRITE_CREATE, "x"), WIRE_FAILED_DENIED,
	                  "roots/f: Permission denied");
	s = LIVE_QUERY(&live, .type = WIRE_LIST,
	               .list = { .limit = 1, .path = VIEW("roots"), .cursor = VIEW("") });
	LIVE_CHECK_FAILED(s, WIRE_FAILED_DENIED, "roots: Permission denied");
	LIVE_CHECK_FAILED(live_write_file(&live, "/x-bell/y", VIEW("x")), WIRE_FAILED_DENIED,
	                  "/x-bell/y: Permission denied");
	s = LIVE_QUERY(&live, .type = WIRE_PACK,
	               .pack = { .max = 1 << 20, .max_count = 10, .path = VIEW(".") });
	assert_int_equal(live_check(s)->done.skipped, 2);
	files_check(&live, "secret", "root's");
	(void)live_check(live_write_file(&live, "a/b", VIEW("mine")));
	assert_int_equal(lstat(files_at(&live, "a/b"), &st), 0);
	assert_true(st.st_uid == live_user() && st.st_gid == live_user());
	assert_int_equal(lstat(files_at(&live, "a"), &st), 0);
	assert_true(st.st_uid == live_user() && st.st_gid == live_user());
	live_stop(&live);
}

/* --- links; "/" is a directory of the test's with a secret beside it --- */

struct jail {
	char dir[64]; /* root, outside */
	char root[80], outside[80], secret[96];
	struct live live;
};

static const char secret_text[] = "SECRET";

static const char *below(const char *dir, const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % ARRAY_LEN(paths)];

	(void)snprintf(path, sizeof paths[0], "%s/%s", dir, name);
	return path;
}

static void jail_start(struct jail *jail, void **state)
{
	files_new_directory(jail->dir);
	(void)snprintf(jail->root, sizeof jail->root, "%s/root", jail->dir);
	(void)snprintf(jail->outside, sizeof jail->outside, "%s/outside", jail->dir);
	(void)snprintf(jail->secret, sizeof jail->secret, "%s/data", jail->outside);
	assert_int_equal(mkdir(jail->root, 0755), 0);
	assert_int_equal(mkdir(jail->outside, 0755), 0);
	assert_int_equal(mkdir(below(jail->root, "w"), 0755), 0);
	files_put_at(jail->secret, view_of(secret_text));
	files_begin(&jail->live, state,
	            (struct live_options){ .root = jail->root, .workspace = "/w" });
}

static void jail_stop(struct jail *jail)
{
	files_check_at(jail->secret, secret_text);
	assert_int_equal(files_count(jail->outside), 1);
	live_stop(&jail->live);
	files_remove(jail->dir);
}

static void jail_link(const struct jail *jail, const char *to, const char *name)
{
	assert_int_equal(symlink(to, below(jail->root, name)), 0);
}

static void make_links(const struct jail *jail)
{
	jail_link(jail, jail->secret, "w/file");
	jail_link(jail, jail->outside, "w/dir");
	jail_link(jail, "../../outside/data", "w/up");
	jail_link(jail, "../../../../../../../..", "w/top");
	jail_link(jail, "/proc/self/root", "w/magic");
	assert_int_equal(mkdir(below(jail->root, "w/sub"), 0755), 0);
	jail_link(jail, "../../../outside", "w/sub/out");
	jail_link(jail, "sub/../dir", "w/via");
}

static void links_do_not_lead_out_of_the_root(void **state)
{
	static const char *const paths[] = { "file",
		                             "dir/data",
		                             "up",
		                             "sub/out/data",
		                             "via/data",
		                             "../../outside/data",
		                             "magic/../outside/data",
		                             "top/../outside/data" };
	struct live_stream *s;
	struct jail jail;

	jail_start(&jail, state);
	make_links(&jail);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		s = live_read_file(&jail.live, paths[i]);
		assert_true(s->is_failed && s->failure == WIRE_FAILED_MISSING);
		assert_int_equal(s->bytes[WIRE_OUT], 0);
		s = LIVE_QUERY(&jail.live, .type = WIRE_STAT, .stat.path = view_of(paths[i]));
		assert_true(s->is_failed && s->failure == WIRE_FAILED_MISSING);
		s = files_write(&jail.live, paths[i], WIRE_WRITE_APPEND, "x");
		assert_true(s->is_failed);
		s = files_write(&jail.live, paths[i], WIRE_WRITE_REPLACE, "x");
		assert_true(s->is_failed);
	}
	jail_stop(&jail);
}

/* An absolute link starts at the agent's root. */
static void links_that_stay_inside_are_followed(void **state)
{
	struct live_stream *s;
	struct jail jail;

	jail_start(&jail, state);
	files_put_at(below(jail.root, "top.txt"), VIEW("at the top"));
	jail_link(&jail, "/top.txt", "w/absolute");
	jail_link(&jail, "../../../../top.txt", "w/up");
	jail_link(&jail, "/w/new", "w/dangling");
	s = live_check(live_read_file(&jail.live, "absolute"));
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "at the top");
	s = live_check(live_read_file(&jail.live, "up"));
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "at the top");
	s = live_check(live_read_file(&jail.live, "/../../top.txt"));
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "at the top");
	(void)live_check(files_write(&jail.live, "dangling", WIRE_WRITE_REPLACE, "new"));
	files_check_at(below(jail.root, "w/new"), "new");
	jail_stop(&jail);
}

static void walks_and_removals_do_not_follow_links(void **state)
{
	struct live_stream *s;
	struct jail jail;

	jail_start(&jail, state);
	make_links(&jail);
	s = LIVE_QUERY(&jail.live, .type = WIRE_GREP,
	               .grep = { .depth = 64,
	                         .limit = 100,
	                         .max = 1000,
	                         .path = VIEW("/"),
	                         .pattern = VIEW("SECRET"),
	                         .names = VIEW("") });
	assert_int_equal(live_check(s)->done.count, 0);
	s = LIVE_QUERY(
	        &jail.live, .type = WIRE_FIND,
	        .find = { .depth = 64, .limit = 100, .path = VIEW("/"), .pattern = VIEW("data") });
	assert_int_equal(live_check(s)->done.count, 0);
	s = LIVE_QUERY(&jail.live, .type = WIRE_REMOVE,
	               .remove = { .flags = WIRE_RECURSIVE, .path = VIEW("sub") });
	assert_int_equal(live_check(s)->done.count, 2);
	s = LIVE_QUERY(&jail.live, .type = WIRE_REMOVE,
	               .remove = { .flags = WIRE_RECURSIVE, .path = VIEW("dir") });
	assert_int_equal(live_check(s)->done.count, 1);
	jail_stop(&jail);
}

/* --- somebody swaps a directory and a link that leads out, as fast as he can --- */

static pid_t start_racer(const struct jail *jail)
{
	char a[256], b[256];
	pid_t pid;

	assert_int_equal(mkdir(below(jail->root, "w/swap"), 0755), 0);
	files_put_at(below(jail->root, "w/swap/data"), VIEW("inside"));
	jail_link(jail, "../../outside", "w/link");
	(void)snprintf(a, sizeof a, "%s", below(jail->root, "w/swap"));
	(void)snprintf(b, sizeof b, "%s", below(jail->root, "w/link"));
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		while (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
			;
		_exit(1);
	}
	assert_true(pid > 0);
	return pid;
}

static void stop_racer(pid_t pid)
{
	int status = 0;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* it was at it until now */
}

struct raced {
	unsigned inside, missing;
};

static void check_raced_read(struct live_stream *s, struct raced *raced)
{
	(void)live_wait(s);
	if (s->is_failed) {
		assert_int_equal(s->bytes[WIRE_OUT], 0);
		raced->missing++;
		return;
	}
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "inside");
	raced->inside++;
}

static void racing_links_never_lead_out_of_the_root(void **state)
{
	enum { ROUNDS = 60, AT_ONCE = 8 };
	struct live_stream *streams[AT_ONCE], *s;
	struct raced raced = { 0 };
	struct jail jail;
	pid_t racer;

	jail_start(&jail, state);
	racer = start_racer(&jail);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned j = 0; j < AT_ONCE; j++)
			streams[j] = files_open_read(&jail.live, "swap/data");
		s = live_wait(files_write(&jail.live, "swap/new", WIRE_WRITE_REPLACE, "x"));
		s = live_write_file(&jail.live, "swap/deep/er", VIEW("x"));
		s = LIVE_QUERY(&jail.live, .type = WIRE_REMOVE,
		               .remove = { .flags = WIRE_RECURSIVE, .path = VIEW("swap/deep") });
		(void)s;
		for (unsigned j = 0; j < AT_ONCE; j++)
			check_raced_read(streams[j], &raced);
	}
	stop_racer(racer);
	print_message("# %u reads found the file, %u nothing\n", raced.inside, raced.missing);
	assert_true(raced.inside != 0 && raced.missing != 0); /* it was a race */
	jail_stop(&jail);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(worker_has_only_the_rights_of_the_user),
		TWICE(links_do_not_lead_out_of_the_root),
		TWICE(links_that_stay_inside_are_followed),
		TWICE(walks_and_removals_do_not_follow_links),
		TWICE(racing_links_never_lead_out_of_the_root),
	};

	return RUN_TESTS("live inside", all);
}
