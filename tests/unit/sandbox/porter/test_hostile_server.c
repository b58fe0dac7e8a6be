/* test_hostile_server.c - plays a server that was taken over: drives the porter and its agents with
 * everything that their protocols allow, and more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rights/caps.h"
#include "base/rights/landlock.h"
#include "engine/agent_image.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/porter/internal.h"
#include "unit/scratch.h"
#include "unit/test.h"

enum { DEADLINE_MS = 30000, OWNER = 12345 };

static struct porter start_porter(const char *paths, bool accepts_roots)
{
	struct porter_config config = { .paths = paths, .accepts_roots = accepts_roots };
	struct porter porter;
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_OK(porter_start(&config, &porter, &err), err);
	return porter;
}

static struct porter_request make_request(uint32_t kind, uint32_t index, const char *path)
{
	struct porter_request request = { .kind = kind, .index = index };

	memcpy(request.path, path, strlen(path));
	return request;
}

/* Sends a request and returns the descriptor of the reply, or -1 with the reason. */
static int exchange(int socket, uint32_t kind, uint32_t index, const char *path, struct error *err)
{
	const struct porter_request request = make_request(kind, index, path);
	static struct porter_reply reply;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { &reply, sizeof reply };
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	int fd = -1;

	assert_int_equal(send(socket, &request, sizeof request, 0), sizeof request);
	assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), sizeof reply);
	*err = reply.err;
	if (message.msg_controllen != 0)
		memcpy(&fd, CMSG_DATA(&control.align), sizeof fd);
	assert_int_equal(reply.failed, kind == PORTER_OPEN ? fd < 0 : err->msg[0] != '\0');
	return fd;
}

/* --- malformed requests --- */

struct packet {
	struct porter_request request;
	size_t len;
	bool has_descriptor;
};

/* The porter must exit without a reply. */
static void check_ends(struct porter *porter, const struct packet *packet, const char *what)
{
	static char longer[2 * sizeof(struct porter_request)];
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .align = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { longer, packet->len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memset(longer, 0, sizeof longer);
	memcpy(longer, &packet->request, sizeof packet->request);
	if (packet->has_descriptor) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control; /* descriptor 0 */
	}
	if (sendmsg(porter->socket, &message, 0) != (ssize_t)packet->len)
		fail_msg("%s: not sent", what);
	if (recv(porter->socket, longer, sizeof longer, 0) > 0)
		fail_msg("%s: the porter has replied", what);
	porter_stop(porter);
}

static void malformed_request_ends_the_porter(void **state)
{
	static const struct {
		const char *what;
		uint32_t kind, index;
		const char *path;
		enum { PLAIN, SHORT, LONG, ONE_BYTE, DESCRIPTOR, GARBAGE, ENDLESS, NO_ROOTS } how;
	} cases[] = {
		{ "a kind that is not known", PORTER_REQUEST_KINDS, 0, "", PLAIN },
		{ "a large kind", UINT32_MAX, 0, "", PLAIN },
		{ "a large index", PORTER_OPEN, PORTER_DIRECTORIES_MAX, "", PLAIN },
		{ "a negative index", PORTER_OPEN, UINT32_MAX, "", PLAIN },
		{ "a path instead of an index", PORTER_OPEN, 0, "/etc", PLAIN },
		{ "a short packet", PORTER_OPEN, 0, "", SHORT },
		{ "a long packet", PORTER_OPEN, 0, "", LONG },
		{ "a packet of one byte", PORTER_OPEN, 0, "", ONE_BYTE },
		{ "a descriptor", PORTER_OPEN, 0, "", DESCRIPTOR },
		{ "the index of an option", PORTER_ADD_ROOT, 0, "/tmp", PLAIN },
		{ "the index of an option", PORTER_REMOVE_ROOT, 0, "", PLAIN },
		{ "no path", PORTER_ADD_ROOT, 9, "", PLAIN },
		{ "a relative path", PORTER_ADD_ROOT, 9, "tmp", PLAIN },
		{ "a path with ..", PORTER_ADD_ROOT, 9, "/tmp/../etc", PLAIN },
		{ "a path with //", PORTER_ADD_ROOT, 9, "/tmp//x", PLAIN },
		{ "bytes after the path", PORTER_ADD_ROOT, 9, "/tmp", GARBAGE },
		{ "a path without end", PORTER_ADD_ROOT, 9, "/tmp", ENDLESS },
		{ "a root that is off", PORTER_ADD_ROOT, 9, "/tmp", NO_ROOTS },
		{ "a root that is off", PORTER_REMOVE_ROOT, 9, "", NO_ROOTS },
	};

	static const size_t lengths[] = { [PLAIN] = sizeof(struct porter_request),
		                          [SHORT] = sizeof(struct porter_request) - 1,
		                          [LONG] = sizeof(struct porter_request) + 1,
		                          [ONE_BYTE] = 1 };

	assert_int_equal(mkdir("allowed", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct porter porter = start_porter("allowed", cases[i].how != NO_ROOTS);
		struct packet packet = { make_request(cases[i].kind, cases[i].index, cases[i].path),
			                 lengths[cases[i].how <= ONE_BYTE ? cases[i].how : PLAIN],
			                 cases[i].how == DESCRIPTOR };

		if (cases[i].how == GARBAGE)
			packet.request.path[HOST_PATH_SIZE - 1] = 'x';
		if (cases[i].how == ENDLESS)
			memset(packet.request.path + 4, 'x', HOST_PATH_SIZE - 4);
		check_ends(&porter, &packet, cases[i].what);
	}
}

/* --- directories that were not allowed --- */

static void check_root_refused(int socket, const char *path)
{
	struct error err;

	(void)exchange(socket, PORTER_ADD_ROOT, 9, path, &err);
	if (err.msg[0] == '\0')
		fail_msg("%s is not refused", path);
}

static void check_root_accepted(int socket, const char *path)
{
	struct error err;

	(void)exchange(socket, PORTER_ADD_ROOT, 9, path, &err);
	assert_string_equal(err.msg, "");
	(void)exchange(socket, PORTER_REMOVE_ROOT, 9, "", &err);
}

/* HOME is the scratch directory. */
static void places_with_keys_and_programs_cannot_be_roots(void **state)
{
	static const char *const absolute[] = { "/",        "/etc",     "/etc/ssl",        "/usr",
		                                "/usr/bin", "/run",     "/var/lib",        "/var",
		                                "/proc",    "/dev/shm", "/proc/self/root", "/sys",
		                                "/tmp",     "/root",    "/nonexistent" };
	static const char *const below[] = { "",           "/.ssh",     "/.ssh/inner",
		                             "/.config/x", "/.local/x", "/state",
		                             "/state/x",   "/link",     "/file" };
	static const char *const made[] = { ".ssh",      ".ssh/inner", ".config",
		                            ".config/x", ".local",     ".local/x",
		                            "state",     "state/x",    "project" };
	AUTO_FREE char *project = mem_format("%s/project", scratch_path);
	AUTO_FREE char *state_dir = mem_format("%s/state", scratch_path);
	const struct porter_config config = { .state = state_dir, .accepts_roots = true };
	struct porter porter;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		assert_int_equal(mkdir(made[i], 0755), 0);
	assert_int_equal(symlink("/etc", "link"), 0);
	scratch_write("file", "x");
	CHECK_OK(porter_start(&config, &porter, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(absolute); i++)
		check_root_refused(porter.socket, absolute[i]);
	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		AUTO_FREE char *path = mem_format("%s%s", scratch_path, below[i]);

		check_root_refused(porter.socket, path);
	}
	check_root_accepted(porter.socket, project);
	porter_stop(&porter);
}

static void check_open_refused(int socket, uint32_t index, const char *why)
{
	struct error err;

	assert_int_equal(exchange(socket, PORTER_OPEN, index, "", &err), -1);
	if (strstr(err.msg, why) == NULL)
		fail_msg("'%s' is not in: %s", why, err.msg);
}

static void root_is_usable_until_it_is_removed(void **state)
{
	AUTO_FREE char *path = mem_format("%s/one", scratch_path);
	struct porter porter;
	struct error err;

	assert_int_equal(mkdir("one", 0755), 0);
	porter = start_porter(NULL, true);
	check_open_refused(porter.socket, 9, "no directory of this index");
	(void)exchange(porter.socket, PORTER_ADD_ROOT, 9, path, &err);
	(void)close(exchange(porter.socket, PORTER_OPEN, 9, "", &err));
	assert_string_equal(err.msg, "");
	(void)exchange(porter.socket, PORTER_ADD_ROOT, 9, path, &err);
	assert_string_equal(err.msg, "the index 9 is in use");
	(void)exchange(porter.socket, PORTER_REMOVE_ROOT, 9, "", &err);
	check_open_refused(porter.socket, 9, "no directory of this index");
	(void)exchange(porter.socket, PORTER_REMOVE_ROOT, 9, "", &err);
	porter_stop(&porter);
}

static void directory_that_was_replaced_is_refused(void **state)
{
	AUTO_FREE char *path = mem_format("%s/root", scratch_path);
	struct porter porter;
	struct error err;

	assert_int_equal(mkdir("moved", 0755), 0);
	assert_int_equal(mkdir("removed", 0755), 0);
	assert_int_equal(mkdir("root", 0755), 0);
	assert_int_equal(mkdir("owned", 0755), 0);
	porter = start_porter("moved:removed:owned", true);
	(void)exchange(porter.socket, PORTER_ADD_ROOT, 9, path, &err);
	assert_string_equal(err.msg, "");
	assert_int_equal(rename("moved", "elsewhere"), 0);
	assert_int_equal(symlink("/etc", "moved"), 0);
	assert_int_equal(rmdir("removed"), 0);
	assert_int_equal(mkdir("removed", 0755), 0);
	check_open_refused(porter.socket, 0, "start belljar again to allow the present one");
	check_open_refused(porter.socket, 1, "(deleted)");
	if (getuid() == 0) {
		assert_int_equal(chown("owned", OWNER, OWNER), 0);
		check_open_refused(porter.socket, 2, "has another owner now");
	}
	assert_int_equal(rmdir("root"), 0);
	assert_int_equal(mkdir("root", 0755), 0); /* as a project that is cloned again */
	(void)close(exchange(porter.socket, PORTER_OPEN, 9, "", &err));
	assert_string_equal(err.msg, "");
	assert_int_equal(rmdir("root"), 0);
	assert_int_equal(symlink("/etc", "root"), 0);
	check_open_refused(porter.socket, 9, "leads to '/etc' now, which was not declared");
	porter_stop(&porter);
}

/* --- the process --- */

static uint64_t status_number(pid_t pid, const char *field, int base)
{
	char path[64], text[8192] = "";
	const char *at;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof text - 1, file) > 0);
	(void)fclose(file);
	at = strstr(text, field);
	assert_non_null(at);
	return strtoull(at + strlen(field), NULL, base);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[1024] = "";
	const char *at;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0; /* it has exited */
	(void)!fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	at = strrchr(text, ')');
	return at != NULL && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

/* The children of a process, zombies included. */
static size_t find_children(pid_t parent, pid_t *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc)) != NULL && count < max) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && parent_of(pid) == parent)
			ret[count++] = pid;
	}
	(void)closedir(proc);
	return count;
}

static void check_confined(pid_t pid, uint64_t capabilities)
{
	assert_int_equal(status_number(pid, "NoNewPrivs:", 10), 1);
	assert_int_equal(status_number(pid, "\nSeccomp:", 10), 2);
	assert_int_equal(status_number(pid, "CapEff:", 16), capabilities);
	assert_int_equal(status_number(pid, "CapPrm:", 16), capabilities);
	assert_int_equal(status_number(pid, "CapInh:", 16), 0);
	assert_int_equal(status_number(pid, "CapAmb:", 16), 0);
	if (getuid() == 0)
		assert_int_equal(status_number(pid, "CapBnd:", 16), 0);
}

static void porter_and_agents_keep_no_right_that_they_do_not_need(void **state)
{
	const uint64_t become = CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID);
	struct porter porter;
	struct error err;
	pid_t agent = 0;
	int channel;

	assert_int_equal(mkdir("allowed", 0755), 0);
	if (getuid() == 0)
		assert_int_equal(chown("allowed", OWNER, OWNER) | chmod(".", 0755), 0);
	for (int roots = 0; roots <= 1; roots++) {
		porter = start_porter("allowed", roots);
		check_confined(porter.pid, getuid() != 0 ? 0
		                           : roots       ? become | CAPS_BIT(CAP_DAC_READ_SEARCH)
		                                         : become);
		channel = exchange(porter.socket, PORTER_OPEN, 0, "", &err);
		assert_string_equal(err.msg, "");
		assert_int_equal(find_children(porter.pid, &agent, 1), 1);
		check_confined(agent, 0);
		assert_int_equal(status_number(agent, "Uid:", 10),
		                 getuid() == 0 ? OWNER : getuid());
		(void)close(channel);
		porter_stop(&porter);
	}
}

static int try_exec(const char *path)
{
	char name[] = "x";
	char *const argv[] = { name, NULL };

	(void)execve(path, argv, &argv[1]);
	return errno;
}

static int try_exec_open(const char *path)
{
	char name[] = "x";
	char *const argv[] = { name, NULL };
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		(void)syscall(SYS_execveat, fd, "", argv, &argv[1], AT_EMPTY_PATH);
	return errno;
}

#define TRY(call, want)                                                                            \
	do {                                                                                       \
		errno = 0;                                                                         \
		int r_ = (int)(call);                                                              \
		if ((want) == 0 ? r_ < 0 : r_ >= 0 || errno != (want)) {                           \
			(void)fprintf(stderr, "%s: %d, errno %d\n", #call, r_, errno);             \
			failed = 1;                                                                \
		}                                                                                  \
	} while (0)

/* Tries what code in a porter that was taken over could do. */
static int attack_as_porter(void)
{
	struct porter_slots slots = { 0 };
	struct porter_image image;
	struct error err;
	int failed = 0;

	image.fd = agent_image_open(AGENT_ON_HOST, &image.is_sealed, &err);
	if (image.fd < 0 || porter_slots_allow(&slots, "allowed", &err) < 0 ||
	    porter_confine(&slots, &image, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	TRY(open("allowed/f", O_RDWR), 0);
	TRY(open("beside/f", O_RDONLY), EACCES);
	TRY(open("beside/new", O_CREAT | O_WRONLY, 0600), EACCES);
	TRY(open("/etc/passwd", O_RDONLY), EACCES);
	TRY(open("/proc/self/root/etc/passwd", O_RDONLY), EACCES);
	TRY(open("allowed/link", O_RDONLY), EACCES);
	TRY(unlink("beside/f"), EPERM);
	TRY(syscall(SYS_unlinkat, AT_FDCWD, "beside/f", 0), EACCES);
	TRY(syscall(SYS_renameat2, AT_FDCWD, "beside/f", AT_FDCWD, "allowed/g", 0), EACCES);
	TRY(syscall(SYS_mknodat, AT_FDCWD, "allowed/fifo", S_IFIFO | 0600, 0), EPERM);
	TRY(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	TRY(socket(AF_INET, SOCK_STREAM, 0), EPERM);
	TRY(syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
	TRY(syscall(SYS_unshare, 0), EPERM);
	TRY(syscall(SYS_bpf, 0, NULL, 0), EPERM);
	TRY(-(try_exec("/bin/true") == EPERM), EPERM);
	TRY(-(try_exec_open("/bin/true") == EACCES), EACCES);
	TRY(-(try_exec_open("allowed/f") == EACCES), EACCES);
	return failed;
}

static void porter_itself_reaches_nothing_else(void **state)
{
	int status;
	pid_t pid;

	if (landlock_version() < 3)
		SKIP_TEST("no Landlock");
	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(mkdir("beside", 0755), 0);
	scratch_write("allowed/f", "#!/bin/sh\n");
	scratch_write("beside/f", "x");
	assert_int_equal(chmod("allowed/f", 0755), 0);
	assert_int_equal(symlink("../beside/f", "allowed/link"), 0);
	pid = fork();
	if (pid == 0)
		_exit(attack_as_porter());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- floods and ends --- */

static void number_of_agents_is_bounded(void **state)
{
	uint64_t end = clock_now_ms() + DEADLINE_MS;
	int channels[PORTER_DIRECTORIES_MAX], fd;
	struct porter porter;
	struct error err;
	pid_t pids[100];

	assert_int_equal(mkdir("allowed", 0755), 0);
	porter = start_porter("allowed", false);
	for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
		channels[i] = exchange(porter.socket, PORTER_OPEN, 0, "", &err);
		assert_true(channels[i] >= 0);
	}
	for (int i = 0; i < 1000; i++)
		check_open_refused(porter.socket, 0, "64 directories of the host are open");
	assert_int_equal(find_children(porter.pid, pids, ARRAY_LEN(pids)), ARRAY_LEN(channels));
	(void)close(channels[0]);
	while ((fd = exchange(porter.socket, PORTER_OPEN, 0, "", &err)) < 0)
		if (clock_now_ms() > end)
			fail_msg("%s", err.msg);
		else
			(void)usleep(10000);
	(void)close(fd);
	for (size_t i = 1; i < ARRAY_LEN(channels); i++)
		(void)close(channels[i]);
	while (find_children(porter.pid, pids, 1) != 0) /* zombies included */
		if (clock_now_ms() > end)
			fail_msg("an agent is left");
		else
			(void)usleep(10000);
	porter_stop(&porter);
}

static void thousands_of_requests_are_answered(void **state)
{
	AUTO_FREE char *path = mem_format("%s/root", scratch_path);
	struct porter porter;
	struct error err;

	assert_int_equal(mkdir("root", 0755), 0);
	porter = start_porter(NULL, true);
	for (uint32_t i = 0; i < 3000; i++) {
		(void)exchange(porter.socket, PORTER_ADD_ROOT, i % PORTER_DIRECTORIES_MAX, path,
		               &err);
		assert_string_equal(err.msg, "");
		check_root_refused(porter.socket, "/etc");
		(void)exchange(porter.socket, PORTER_REMOVE_ROOT, i % PORTER_DIRECTORIES_MAX, "",
		               &err);
	}
	assert_int_equal(find_children(porter.pid, &(pid_t){ 0 }, 1), 0);
	porter_stop(&porter);
}

/* Replies that the server does not read fill the socket, with the descriptors of channels in
 * them. */
static void server_that_reads_no_reply_blocks_only_itself(void **state)
{
	const struct porter_request request = make_request(PORTER_OPEN, 0, "");
	uint64_t end = clock_now_ms() + DEADLINE_MS;
	struct porter porter;
	pid_t pids[100];
	size_t count;

	assert_int_equal(mkdir("allowed", 0755), 0);
	porter = start_porter("allowed", false);
	for (int refused = 0; refused < 100 && clock_now_ms() < end;) {
		if (send(porter.socket, &request, sizeof request, MSG_DONTWAIT) >= 0)
			continue;
		assert_int_equal(errno, EAGAIN);
		refused++;
		(void)usleep(1000);
	}
	count = find_children(porter.pid, pids, ARRAY_LEN(pids));
	assert_in_range(count, 1, PORTER_DIRECTORIES_MAX);
	porter_stop(&porter); /* returns when the porter and its agents have exited */
}

/* The server of this test is a child: it starts the porter and an agent, and is killed. */
static void killed_server_leaves_no_process(void **state)
{
	uint64_t end = clock_now_ms() + DEADLINE_MS;
	pid_t server;
	int ready[2];

	assert_int_equal(mkdir("allowed", 0755), 0);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	server = fork();
	if (server == 0) {
		struct porter porter = start_porter("allowed", false);
		struct error err;

		if (exchange(porter.socket, PORTER_OPEN, 0, "", &err) >= 0)
			(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &(char){ 0 }, 1), 1);
	assert_int_equal(kill(server, SIGKILL), 0);
	/* The porter and a reparented agent become children of this process. */
	while (waitpid(-1, NULL, WNOHANG) >= 0) {
		if (clock_now_ms() > end)
			fail_msg("a process is left");
		(void)usleep(10000);
	}
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* --- the agent --- */

struct talk {
	struct porter porter;
	struct loop *loop;
	struct loop_timer *timer;
	struct channel *channel;
	bool is_ready, has_failed, is_answered;
	struct error why;
};

static void stop_loop(void *ctx)
{
	loop_stop(((struct talk *)ctx)->loop);
}

static void on_ready(void *ctx)
{
	((struct talk *)ctx)->is_ready = true;
	stop_loop(ctx);
}

static void on_failed(void *ctx, const struct error *why)
{
	((struct talk *)ctx)->has_failed = true;
	((struct talk *)ctx)->why = *why;
	stop_loop(ctx);
}

static void on_answer(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct talk *talk = ctx;

	(void)answer;
	talk->is_answered = true;
	talk->why = why != NULL ? *why : (struct error){ 0 };
	stop_loop(talk);
}

static void on_exec_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	on_answer(ctx, NULL, why);
}

static void on_exec_done(void *ctx, const struct wire_done *done)
{
	(void)done;
	on_answer(ctx, NULL, &(struct error){ .msg = "it ran" });
}

static void wait_for(struct talk *talk, const bool *what)
{
	uint64_t end = clock_now_ms() + DEADLINE_MS;

	while (!*what && !talk->has_failed) {
		if (clock_now_ms() >= end)
			fail_msg("not in time");
		loop_timer_start(talk->timer, 10);
		loop_run(talk->loop);
	}
}

/* Opens an agent in the directory "allowed" and greets it with this root and user. */
static void talk_start(struct talk *talk, const char *root, uint32_t uid, uint32_t gid)
{
	static const struct channel_events events = { .ready = on_ready, .failed = on_failed };
	const struct wire_welcome welcome = { .version = WIRE_VERSION,
		                              .uid = uid,
		                              .gid = gid,
		                              .root = view_of(root),
		                              .workspace = VIEW("/") };
	struct error err;
	int fd;

	*talk = (struct talk){ .porter = start_porter("allowed", false) };
	CHECK_OK(loop_new(&talk->loop, &err), err);
	talk->timer = loop_timer_new(talk->loop, stop_loop, talk);
	fd = exchange(talk->porter.socket, PORTER_OPEN, 0, "", &err);
	assert_true(fd >= 0);
	CHECK_OK(channel_new(talk->loop, fd, &welcome, &events, talk, &talk->channel, &err), err);
	wait_for(talk, &talk->is_ready);
}

static void talk_stop(struct talk *talk)
{
	(void)channel_free(talk->channel);
	porter_stop(&talk->porter);
	(void)loop_timer_free(talk->timer);
	loop_run_deferred(talk->loop);
	(void)loop_free(talk->loop);
}

static void agent_serves_no_other_root_and_no_other_user(void **state)
{
	const uint32_t owner = getuid() == 0 ? OWNER : getuid();
	const struct {
		const char *root;
		uint32_t uid;
		const char *why;
	} cases[] = { { "/", owner, "the root must be '.'" },
		      { "/etc", owner, "the root must be '.'" },
		      { "/proc", owner, "the root must be '.'" },
		      { "..", owner, "the root must be '.'" },
		      { ".", 0, "Operation not permitted" },
		      { ".", owner + 1, "Operation not permitted" } };
	struct talk talk;

	assert_int_equal(mkdir("allowed", 0755), 0);
	if (getuid() == 0)
		assert_int_equal(chown("allowed", OWNER, OWNER) | chmod(".", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		talk_start(&talk, cases[i].root, cases[i].uid, cases[i].uid);
		if (!talk.has_failed || strstr(talk.why.msg, cases[i].why) == NULL)
			fail_msg("root %s, user %u: %s", cases[i].root, cases[i].uid, talk.why.msg);
		talk_stop(&talk);
	}
}

static void agent_runs_no_program(void **state)
{
	static const struct channel_stream_events events = { .done = on_exec_done,
		                                             .failed = on_exec_failed };
	struct wire_message exec = { .type = WIRE_EXEC, .exec.cwd = VIEW("") };
	AUTO_BUF struct buf argv = { 0 };
	struct channel_stream *stream;
	struct error err;
	struct talk talk;

	if (getuid() != 0)
		SKIP_TEST("not root");
	assert_int_equal(mkdir("allowed", 0755), 0);
	talk_start(&talk, ".", 0, 0);
	assert_true(talk.is_ready);
	buf_init(&argv, 1024);
	CHECK_OK(wire_texts_add(&exec.exec.argv, &argv, VIEW("/bin/true"), &err), err);
	CHECK_OK(channel_open(talk.channel, &exec, &events, &talk, &stream, &err), err);
	wait_for(&talk, &talk.is_answered);
	assert_string_equal(talk.why.msg, "/bin/true: Operation not permitted");
	talk_stop(&talk);
}

static void request_files(struct talk *talk, const struct wire_message *request)
{
	struct files_op *op;
	struct error err;

	talk->is_answered = false;
	CHECK_OK(
	        files_start(talk->channel, request, VIEW("evil"), 4096, on_answer, talk, &op, &err),
	        err);
	wait_for(talk, &talk->is_answered);
}

/* Neither a name nor an operation gets a file to a place where programs of the host trust it. */
static void agent_places_no_trusted_file(void **state)
{
	const uint32_t owner = getuid() == 0 ? OWNER : getuid();
	const struct wire_message refused[] = {
		{ .type = WIRE_RENAME, .rename = { 0, VIEW("harmless"), VIEW(".git/config") } },
		{ .type = WIRE_REMOVE, .remove = { WIRE_RECURSIVE, VIEW(".git") } },
		{ .type = WIRE_CHANGES, .changes = { .limit = 1 } },
		{ .type = WIRE_WRITE,
		  .write = { .mode = WIRE_WRITE_APPEND, .max = 9, .path = VIEW(".git/config") } },
	};
	static const char *const paths[] = { ".git/config", "/.git/hooks/x", "way/x",
		                             "none/../.git/config", ".bashrc" };
	struct talk talk;

	assert_int_equal(mkdir("allowed", 0777) | mkdir("allowed/.git", 0777) |
	                         mkdir("allowed/.git/hooks", 0777) |
	                         symlink(".git/hooks", "allowed/way"),
	                 0);
	if (getuid() == 0)
		assert_int_equal(
		        chown("allowed", OWNER, OWNER) | chown("allowed/.git", OWNER, OWNER) |
		                chown("allowed/.git/hooks", OWNER, OWNER) | chmod(".", 0755),
		        0);
	talk_start(&talk, ".", owner, owner);
	assert_true(talk.is_ready);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		request_files(&talk, &refused[i]);
		assert_string_equal(talk.why.msg,
		                    "the agent on the host performs only the operations of copies");
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const struct wire_message write = { .type = WIRE_WRITE,
			                            .write = { .flags = WIRE_PARENTS,
			                                       .perm = 0777,
			                                       .max = 100,
			                                       .path = view_of(paths[i]) } };

		request_files(&talk, &write);
	}
	talk_stop(&talk);
	assert_int_equal(access("allowed/.git/config", F_OK), -1);
	assert_int_equal(access("allowed/.bashrc", F_OK), -1);
	assert_int_equal(rmdir("allowed/.git/hooks"), 0);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		IN_SCRATCH(malformed_request_ends_the_porter),
		IN_SCRATCH(places_with_keys_and_programs_cannot_be_roots),
		IN_SCRATCH(root_is_usable_until_it_is_removed),
		IN_SCRATCH(directory_that_was_replaced_is_refused),
		IN_SCRATCH(porter_and_agents_keep_no_right_that_they_do_not_need),
		IN_SCRATCH(porter_itself_reaches_nothing_else),
		IN_SCRATCH(number_of_agents_is_bounded),
		IN_SCRATCH(thousands_of_requests_are_answered),
		IN_SCRATCH(server_that_reads_no_reply_blocks_only_itself),
		IN_SCRATCH(killed_server_leaves_no_process),
		IN_SCRATCH(agent_serves_no_other_root_and_no_other_user),
		IN_SCRATCH(agent_runs_no_program),
		IN_SCRATCH(agent_places_no_trusted_file),
	};

	return RUN_TESTS("hostile server", all);
}
