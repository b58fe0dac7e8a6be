#include "server/reloader/reloader.h"

#include <errno.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "unit/scratch.h"

static struct error err;

/* The changes that the reloader has reported. */
struct seen {
	struct loop *loop;
	size_t count, index;
	int errnum;
	char text[64];
	const char *wanted; /* stops the loop; NULL: a file that cannot be opened */
};

static void on_changed(void *ctx, size_t index, int fd, int errnum)
{
	struct seen *seen = ctx;
	ssize_t len = fd >= 0 ? read(fd, seen->text, sizeof seen->text - 1) : 0;

	assert_true(len >= 0);
	seen->text[len] = '\0';
	seen->count++;
	seen->index = index;
	seen->errnum = errnum;
	if (seen->wanted == NULL ? fd < 0 : fd >= 0 && strcmp(seen->text, seen->wanted) == 0)
		loop_stop(seen->loop);
}

static void start(struct seen *seen, struct reloader *reloader, const char *const *paths,
                  size_t count)
{
	CHECK_OK(reloader_start(paths, count, reloader, &err), err);
	CHECK_OK(loop_new(&seen->loop, &err), err);
	reloader_watch(reloader, seen->loop, on_changed, seen);
}

static void stop(struct seen *seen, struct reloader *reloader)
{
	reloader_stop(reloader);
	(void)loop_free(seen->loop);
}

static void wait_for(struct seen *seen, const char *text)
{
	seen->wanted = text;
	loop_run(seen->loop);
}

static void replace(const char *path, const char *text)
{
	scratch_write("new", text);
	assert_int_equal(rename("new", path), 0);
}

static void changed_files_are_passed_by_index(void **state)
{
	static const char *const paths[] = { "a/tokens", "b/cert" };
	struct reloader reloader = { .socket = -1 };
	struct seen seen = { 0 };

	assert_int_equal(mkdir("a", 0700), 0);
	assert_int_equal(mkdir("b", 0700), 0);
	scratch_write("a/tokens", "one");
	scratch_write("b/cert", "two");
	start(&seen, &reloader, paths, 2);
	replace("b/cert", "three");
	wait_for(&seen, "three");
	assert_int_equal(seen.index, 1);
	scratch_write("a/tokens", "in place");
	wait_for(&seen, "in place");
	assert_int_equal(seen.index, 0);
	assert_int_equal(unlink("a/tokens"), 0);
	wait_for(&seen, NULL);
	assert_int_equal(seen.errnum, ENOENT);
	replace("a/tokens", "back");
	wait_for(&seen, "back");
	stop(&seen, &reloader);
}

/* As certificate tools do it: the path is a link, and the link or the file behind it changes. */
static void links_are_followed(void **state)
{
	static const char *const paths[] = { "live/cert" };
	struct reloader reloader = { .socket = -1 };
	struct seen seen = { 0 };

	assert_int_equal(mkdir("live", 0700), 0);
	assert_int_equal(mkdir("archive", 0700), 0);
	scratch_write("archive/cert1", "one");
	assert_int_equal(symlink("../archive/cert1", "live/cert"), 0);
	start(&seen, &reloader, paths, 1);
	replace("archive/cert1", "two");
	wait_for(&seen, "two");
	scratch_write("archive/cert2", "three");
	assert_int_equal(symlink("../archive/cert2", "live/next"), 0);
	assert_int_equal(rename("live/next", "live/cert"), 0);
	wait_for(&seen, "three");
	stop(&seen, &reloader);
}

static void directory_that_does_not_exist_is_an_error(void **state)
{
	static const char *const paths[] = { "nowhere/tokens" };
	struct reloader reloader = { .socket = -1 };

	assert_int_equal(reloader_start(paths, 1, &reloader, &err), -1);
	assert_memory_equal(err.msg, "start the reloader: ", 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(changed_files_are_passed_by_index),
		IN_SCRATCH(links_are_followed),
		IN_SCRATCH(directory_that_does_not_exist_is_an_error),
	};

	return RUN_TESTS("reloader", tests);
}
