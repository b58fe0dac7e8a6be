/* test_agent_image.c - the embedded program, its sealed copy, the fall-back to a file, and
 * executing it with any arrangement of descriptors. */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "engine/agent_image.h"
#include "unit/refuse.h"
#include "unit/test.h"
#include "wire/table.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum { TIMEOUT_MS = 30000 };

/* Each test runs in an empty directory of its own. */
static int make_directory(void **state)
{
	char *path = strdup("/tmp/belljar-test-agent-XXXXXX");

	*state = path;
	return path != NULL && mkdtemp(path) != NULL && chdir(path) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)unlink("3");
	(void)(chdir("/") + rmdir(*state));
	free(*state);
	return 0;
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count - 2;
}

/* --- the image --- */

static void image_is_a_static_program_for_this_architecture(void **state)
{
	struct view image = agent_image(AGENT_IN_SANDBOX);
	Elf64_Ehdr ours, theirs;
	AUTO_FD int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_in_range(image.len, sizeof theirs, 200 * 1024);
	memcpy(&theirs, image.ptr, sizeof theirs);
	assert_int_equal(read(self, &ours, sizeof ours), sizeof ours);
	assert_memory_equal(theirs.e_ident, ours.e_ident, EI_OSABI);
	assert_int_equal(theirs.e_machine, ours.e_machine);
	for (size_t i = 0; i < theirs.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, image.ptr + theirs.e_phoff + i * sizeof segment, sizeof segment);
		assert_int_not_equal(segment.p_type, PT_INTERP);
	}
}

static void check_contents(int fd)
{
	struct view image = agent_image(AGENT_IN_SANDBOX);
	AUTO_FREE char *copy = malloc(image.len + 1);

	assert_non_null(copy);
	assert_int_equal(pread(fd, copy, image.len + 1, 0), (ssize_t)image.len);
	assert_memory_equal(copy, image.ptr, image.len);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void sealed_copy_cannot_be_changed(void **state)
{
	bool sealed = false;
	struct error err;
	AUTO_FD int fd = agent_image_open(AGENT_IN_SANDBOX, &sealed, &err);
	char path[64];
	int again;

	assert_true(fd >= 0);
	assert_true(sealed);
	check_contents(fd);
	assert_int_equal(fcntl(fd, F_GET_SEALS) &
	                         (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
	                 F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_true(mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(again >= 0 ? pwrite(again, "x", 1, 0) : -1, -1);
	if (again >= 0)
		(void)close(again);
}

static void open_accepts_null_for_sealed(void **state)
{
	struct error err;
	AUTO_FD int fd = agent_image_open(AGENT_IN_SANDBOX, NULL, &err);

	assert_true(fd >= 0);
}

/* --- kernels without memfds or without MFD_EXEC, simulated in a child --- */

/* A check in a child: exits with the line as the status if the condition does not hold. */
#define CHILD_CHECK(condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 251 + 1);                                                 \
	} while (0)

static void run_in_child(void (*fn)(const char *place), const char *place)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		fn(place);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void open_without_mfd_exec(const char *place)
{
	bool sealed = false;
	struct error err;

	(void)place;
	refuse_call_with(SYS_memfd_create, MFD_EXEC, EINVAL);
	CHILD_CHECK(agent_image_open(AGENT_IN_SANDBOX, &sealed, &err) >= 0);
	CHILD_CHECK(sealed);
}

static void open_works_on_kernels_without_mfd_exec(void **state)
{
	run_in_child(open_without_mfd_exec, *state);
}

static void file_in_runtime_directory(const char *place)
{
	bool sealed = true;
	struct error err;
	struct stat st, here;
	int fd;

	refuse_call(SYS_memfd_create, EACCES);
	CHILD_CHECK(setenv("XDG_RUNTIME_DIR", place, 1) == 0);
	fd = agent_image_open(AGENT_IN_SANDBOX, &sealed, &err);
	CHILD_CHECK(fd >= 0 && !sealed);
	CHILD_CHECK(fstat(fd, &st) == 0 && stat(place, &here) == 0);
	CHILD_CHECK(st.st_dev == here.st_dev && st.st_nlink == 0);
	CHILD_CHECK((st.st_mode & 07777) == 0555 &&
	            (size_t)st.st_size == agent_image(AGENT_IN_SANDBOX).len);
	CHILD_CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY &&
	            fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHILD_CHECK(write(fd, "x", 1) < 0);
}

static void unlinked_file_is_used_without_memfd(void **state)
{
	run_in_child(file_in_runtime_directory, *state);
	assert_int_equal(count_entries(*state), 0);
}

static void file_in_tmp(const char *place)
{
	bool sealed = true;
	struct error err;

	(void)place;
	refuse_call(SYS_memfd_create, ENOSYS);
	CHILD_CHECK(setenv("XDG_RUNTIME_DIR", "/proc", 1) == 0); /* nothing can be created there */
	CHILD_CHECK(agent_image_open(AGENT_IN_SANDBOX, &sealed, &err) >= 0 && !sealed);
	CHILD_CHECK(setenv("XDG_RUNTIME_DIR", "relative", 1) == 0);
	CHILD_CHECK(agent_image_open(AGENT_IN_SANDBOX, &sealed, &err) >= 0 && !sealed);
	CHILD_CHECK(unsetenv("XDG_RUNTIME_DIR") == 0);
	CHILD_CHECK(agent_image_open(AGENT_IN_SANDBOX, &sealed, &err) >= 0 && !sealed);
}

static void tmp_is_used_without_a_runtime_directory(void **state)
{
	run_in_child(file_in_tmp, *state);
}

static void fail_everywhere(const char *place)
{
	static const char start_of_message[] =
	        "store the agent's program (memfd: create a memfd: Permission denied): "
	        "make '/tmp/belljar-agent-";
	struct error err;

	(void)place;
	refuse_call(SYS_memfd_create, EACCES);
	refuse_call(SYS_fchmod, EPERM);
	(void)unsetenv("XDG_RUNTIME_DIR");
	CHILD_CHECK(agent_image_open(AGENT_IN_SANDBOX, NULL, &err) == -1);
	CHILD_CHECK(strncmp(err.msg, start_of_message, strlen(start_of_message)) == 0);
	CHILD_CHECK(strstr(err.msg, "' executable: Operation not permitted") != NULL);
	CHILD_CHECK(err.errnum == EPERM);
}

static void failed_open_reports_both_reasons(void **state)
{
	run_in_child(fail_everywhere, *state);
}

/* --- executing the agent --- */

struct arrangement {
	int image, channel;
	unsigned closed; /* mask of 1 << descriptor: standard streams that are closed */
};

static pid_t start_agent(int image, const struct arrangement *at, int ends[2])
{
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct error err;
		/* Move both out of the way first: each may get the other's number. */
		int from = fcntl(image, F_DUPFD, 50), to = fcntl(ends[1], F_DUPFD, 50);

		for (int fd = 3; fd < 12; fd++) /* descriptors that must not be inherited */
			CHILD_CHECK(dup2(STDIN_FILENO, fd) == fd);
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			if (at->closed & 1u << fd)
				(void)close(fd);
		CHILD_CHECK(dup2(from, at->image) == at->image);
		CHILD_CHECK(dup3(to, at->channel, O_CLOEXEC) == at->channel);
		(void)alarm(TIMEOUT_MS / 1000);
		(void)agent_image_exec(at->image, at->channel, 0, NULL, &err);
		_exit(err.errnum);
	}
	(void)close(ends[1]);
	return child;
}

/* Reads until the channel is closed or `enough` bytes have come. */
static size_t read_until(int fd, char *out, size_t size, size_t enough)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < enough && poll(&wanted, 1, TIMEOUT_MS) > 0) {
		n = read(fd, out + len, size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	return len;
}

static const struct arrangement arrangements[] = {
	{ 3, 4, 0 }, { 4, 3, 0 }, { 5, 3, 0 },   { 3, 5, 0 }, { 4, 5, 0 },
	{ 5, 4, 0 }, { 6, 7, 0 }, { 40, 41, 0 }, { 0, 1, 0 }, { 1, 0, 0 },
	{ 6, 7, 1 }, { 6, 7, 2 }, { 6, 7, 3 },   { 6, 7, 4 }, { 6, 7, 7 },
};

/* Executes a shell instead of the agent: `sh 3` runs the file "3" in the current directory. */
static void program_inherits_the_channel_and_nothing_else(void **state)
{
	static const char script[] = "streams=$(readlink /proc/$$/fd/0; readlink /proc/$$/fd/1)\n"
	                             "exec >&3\n"
	                             "echo $streams\n"
	                             "tr '\\0' ' ' </proc/$$/cmdline\n"
	                             "wc -c </proc/$$/environ\n"
	                             "for fd in 3 4 5 6 7 8 9 40 41 50 51; do\n"
	                             "  [ ! -e /proc/$$/fd/$fd ] || echo $fd\n"
	                             "done\n";
	FILE *file = fopen("3", "we");

	assert_non_null(file);
	assert_true(fputs(script, file) >= 0);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < ARRAY_LEN(arrangements); i++) {
		AUTO_FD int shell = open("/bin/sh", O_RDONLY | O_CLOEXEC);
		char said[256];
		int ends[2], status = -1;
		pid_t child = start_agent(shell, &arrangements[i], ends);

		said[read_until(ends[0], said, sizeof said - 1, sizeof said - 1)] = '\0';
		(void)close(ends[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_string_equal(said, "/dev/null /dev/null\nbelljar-agent 3 0\n3\n");
		assert_int_equal(status, 0);
	}
}

static bool is_hello(struct view said)
{
	struct wire_message message;
	struct wire_frame frame;
	struct error err;

	return wire_frame_cut(&said, &frame, &err) == 1 && frame.type == WIRE_HELLO &&
	       wire_decode(&frame, &message, &err) == 0 && message.hello.version == WIRE_VERSION;
}

/* Only root can read the descriptors of the agent, which is not dumpable. */
static void check_standard_streams(pid_t agent)
{
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO && geteuid() == 0; fd++) {
		char path[64], target[64] = "";

		(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)agent, fd);
		assert_true(readlink(path, target, sizeof target - 1) > 0);
		assert_string_equal(target, "/dev/null");
	}
}

static void agent_sends_hello_and_exits_with_its_channel(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(arrangements); i++) {
		struct error err;
		AUTO_FD int image = agent_image_open(AGENT_IN_SANDBOX, NULL, &err);
		char said[1024];
		int ends[2], status = -1;
		pid_t child = start_agent(image, &arrangements[i], ends);

		assert_true(
		        is_hello((struct view){ said, read_until(ends[0], said, sizeof said, 1) }));
		check_standard_streams(child);
		(void)close(ends[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status)); /* it was not killed by the alarm */
	}
}

static void agent_from_file(const char *place)
{
	char said[1024];
	bool sealed;
	struct error err;
	int image, ends[2];
	pid_t child;

	(void)place;
	refuse_call(SYS_memfd_create, EACCES);
	image = agent_image_open(AGENT_IN_SANDBOX, &sealed, &err);
	CHILD_CHECK(image >= 0 && !sealed);
	child = start_agent(image, &(struct arrangement){ 8, 9, 0 }, ends);
	CHILD_CHECK(is_hello((struct view){ said, read_until(ends[0], said, sizeof said, 1) }));
	(void)close(ends[0]);
	CHILD_CHECK(waitpid(child, NULL, 0) == child);
}

static void agent_starts_from_a_file(void **state)
{
	run_in_child(agent_from_file, *state);
}

static void failed_exec_is_reported(void **state)
{
	static const struct {
		const char *path;
		int image, channel;
		const char *message;
	} cases[] = {
		{ "/dev/null", 8, 9, "execute the agent: Permission denied" },
		{ "/etc/passwd", 8, 9, "execute the agent: Permission denied" },
		{ "/dev/null", 8, 1000, "move the agent's channel: Bad file descriptor" },
		{ "/dev/null", 1000, 9, "move the agent's program: Bad file descriptor" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int ends[2], status = -1;
		char said[500];
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			struct error err;

			/* Only descriptor 2 stays open: report over it. */
			CHILD_CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
			CHILD_CHECK(dup2(open(cases[i].path, O_RDONLY), 8) == 8 && dup2(0, 9) == 9);
			CHILD_CHECK(agent_image_exec(cases[i].image, cases[i].channel, 0, NULL,
			                             &err) == -1);
			CHILD_CHECK(write(STDERR_FILENO, err.msg, strlen(err.msg)) > 0);
			_exit(0);
		}
		(void)close(ends[1]);
		said[read_until(ends[0], said, sizeof said - 1, sizeof said - 1)] = '\0';
		(void)close(ends[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_string_equal(said, cases[i].message);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(image_is_a_static_program_for_this_architecture),
		TEST(sealed_copy_cannot_be_changed),
		TEST(open_accepts_null_for_sealed),
		PLACED(open_works_on_kernels_without_mfd_exec),
		PLACED(unlinked_file_is_used_without_memfd),
		PLACED(tmp_is_used_without_a_runtime_directory),
		PLACED(failed_open_reports_both_reasons),
		PLACED(program_inherits_the_channel_and_nothing_else),
		TEST(agent_sends_hello_and_exits_with_its_channel),
		PLACED(agent_starts_from_a_file),
		TEST(failed_exec_is_reported),
	};

	return RUN_TESTS("engine/agent", tests);
}
