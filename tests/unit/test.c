#include "unit/test.h"

#include <signal.h>

void stderr_capture_start(struct stderr_capture *c)
{
	int ends[2];

	(void)fflush(stderr);
	assert_int_equal(pipe(ends), 0);
	c->saved = dup(STDERR_FILENO);
	assert_true(c->saved >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	(void)close(ends[1]);
	c->reader = ends[0];
}

const char *stderr_capture_end(struct stderr_capture *c, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;

	(void)fflush(stderr);
	(void)dup2(c->saved, STDERR_FILENO);
	(void)close(c->saved);
	while (len < size - 1 && (n = read(c->reader, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(c->reader);
	out[len] = '\0';
	return out;
}

const char *must_abort(void (*fn)(void), char *out, size_t size)
{
	struct stderr_capture c;
	int status = 0;
	pid_t child;

	stderr_capture_start(&c);
	child = fork();
	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		fn();
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	(void)stderr_capture_end(&c, out, size);
	assert_true(child > 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		fail_msg("did not abort: status %#x, stderr: %s", (unsigned)status, out);
	return out;
}
