#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "transport/http/http_listen.h"
#include "transport/http/listen_address.h"
#include "unit/test.h"

#define LONG_PATH                                                                                  \
	"/0123456789012345678901234567890123456789012345678901234567890123456789"                  \
	"012345678901234567890123456789012345"

static const struct {
	const char *text;
	const char *names; /* of all addresses; or the error */
	bool is_local;
	bool is_valid;
} cases[] = {
	{ "127.0.0.1:8000", "127.0.0.1:8000 ", true, true },
	{ "127.1.2.3:1", "127.1.2.3:1 ", true, true },
	{ "0.0.0.0:65535", "0.0.0.0:65535 ", false, true },
	{ "192.168.1.2:0", "192.168.1.2:0 ", false, true },
	{ "[::1]:8000", "[::1]:8000 ", true, true },
	{ "[::]:8000", "[::]:8000 ", false, true },
	{ "[fd00::1]:8000", "[fd00::1]:8000 ", false, true },
	{ "[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80 ", false, true },
	{ "localhost:8000", "127.0.0.1:8000 [::1]:8000 ", true, true },
	{ ":8000", "[::]:8000 ", false, true },
	{ "unix:/run/belljar.sock", "unix:/run/belljar.sock ", true, true },
	{ "8000", "8000: an address is HOST:PORT, [IPV6]:PORT, :PORT or unix:PATH", false, false },
	{ "", ": an address is HOST:PORT, [IPV6]:PORT, :PORT or unix:PATH", false, false },
	{ "unix:x", "unix:x: the path of a socket must begin with /", false, false },
	{ "unix:", "unix:: the path of a socket must begin with /", false, false },
	{ "unix:" LONG_PATH "678", "the path of a socket has more than 107 bytes: " LONG_PATH "678",
	  false, false },
	{ "127.0.0.1:65536",
	  "127.0.0.1:65536: the port: expected a whole number from 0 to 65535, got '65536'", false,
	  false },
	{ "127.0.0.1:", "127.0.0.1:: the port: expected a whole number from 0 to 65535, got ''",
	  false, false },
	{ "127.0.0.1:http",
	  "127.0.0.1:http: the port: expected a whole number from 0 to 65535, got 'http'", false,
	  false },
	{ "::1:8000", "::1:8000: an IPv6 address stands in brackets: [::1]:8000", false, false },
	{ "[127.0.0.1]:80",
	  "[127.0.0.1]:80: the host is neither an IP address nor localhost; use an address of this "
	  "machine, or :80 for all of them",
	  false, false },
	{ "[]:80",
	  "[]:80: the host is neither an IP address nor localhost; use an address of this machine, "
	  "or :80 for all of them",
	  false, false },
	{ "example.com:80",
	  "example.com:80: the host is neither an IP address nor localhost; use an address of this "
	  "machine, or :80 for all of them",
	  false, false },
	{ "a-name-that-is-longer-than-any-address-of-ipv6.example:80",
	  "a-name-that-is-longer-than-any-address-of-ipv6.example:80: the host is too long", false,
	  false },
};

static void address_is_parsed_or_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct listen_address addresses[HTTP_LISTEN_OPEN_MAX];
		struct error err = { .msg = "" };
		char names[2 * HTTP_LISTEN_NAME_SIZE + 2] = "", name[HTTP_LISTEN_NAME_SIZE];
		size_t count = 0, at = 0;
		bool is_local = false;
		int rc = listen_address_parse(cases[i].text, addresses, &count, &err);

		assert_int_equal(http_listen_check(cases[i].text, &is_local, &err), rc);
		assert_int_equal(rc, cases[i].is_valid ? 0 : -1);
		assert_int_equal(is_local, cases[i].is_local);
		for (size_t j = 0; rc == 0 && j < count; j++) {
			at += (size_t)snprintf(
			        names + at, sizeof names - at, "%s ",
			        listen_address_name(&addresses[j].address, addresses[j].len, name));
			assert_int_equal(listen_address_is_local(&addresses[j].address),
			                 cases[i].is_local);
		}
		assert_string_equal(rc == 0 ? names : err.msg, cases[i].names);
	}
}

static int option_of(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof value;

	assert_int_equal(getsockopt(fd, level, option, &value, &len), 0);
	return value;
}

static void check_listening(const struct http_listen *socket)
{
	assert_int_equal(option_of(socket->fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	assert_true(fcntl(socket->fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(socket->fd, F_GETFL) & O_NONBLOCK);
}

static void accepted_socket_has_the_options_of_its_listener(void **state)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	union socket_address address;
	socklen_t len = sizeof address;
	AUTO_FD int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_FD int accepted = -1;
	struct error err;
	size_t count;

	CHECK_OK(http_listen_open("127.0.0.1:0", sockets, &count, &err), err);
	assert_int_equal(count, 1);
	check_listening(&sockets[0]);
	assert_true(sockets[0].is_local && !sockets[0].is_unix);
	assert_string_not_equal(sockets[0].name, "127.0.0.1:0");
	assert_int_equal(getsockname(sockets[0].fd, &address.any, &len), 0);
	assert_int_equal(connect(client, &address.any, len), 0);
	accepted = accept(sockets[0].fd, NULL, NULL);
	assert_true(accepted >= 0);
	assert_int_equal(option_of(accepted, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(accepted, IPPROTO_TCP, TCP_KEEPIDLE), 60);
	(void)close(sockets[0].fd);
}

static void localhost_opens_both_kinds_with_one_port(void **state)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	struct error err;
	size_t count;

	CHECK_OK(http_listen_open("localhost:0", sockets, &count, &err), err);
	for (size_t i = 0; i < count; i++)
		check_listening(&sockets[i]);
	if (count == 2)
		assert_string_equal(strrchr(sockets[0].name, ':'), strrchr(sockets[1].name, ':'));
	for (size_t i = 0; i < count; i++)
		(void)close(sockets[i].fd);
}

static void port_in_use_is_named(void **state)
{
	struct http_listen first[HTTP_LISTEN_OPEN_MAX], second[HTTP_LISTEN_OPEN_MAX];
	char want[200];
	struct error err;
	size_t count;

	CHECK_OK(http_listen_open("127.0.0.1:0", first, &count, &err), err);
	(void)snprintf(want, sizeof want, "listen on %s: Address already in use", first[0].name);
	CHECK_ERROR(http_listen_open(first[0].name, second, &count, &err), err, ERR_SYSTEM, want);
	(void)close(first[0].fd);
}

static char directory[] = "/tmp/belljar-test-listen-XXXXXX";
static char path[64], address_text[80];

static int make_directory(void **state)
{
	(void)snprintf(directory, sizeof directory, "/tmp/belljar-test-listen-XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "%s/socket", directory);
	(void)snprintf(address_text, sizeof address_text, "unix:%s", path);
	return 0;
}

static int remove_directory(void **state)
{
	(void)unlink(path);
	return rmdir(directory);
}

static void unix_socket_is_for_its_user_only(void **state)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	mode_t mask = umask(0);
	struct error err;
	struct stat st;
	size_t count;

	CHECK_OK(http_listen_open(address_text, sockets, &count, &err), err);
	assert_int_equal(count, 1);
	check_listening(&sockets[0]);
	assert_true(sockets[0].is_local && sockets[0].is_unix);
	assert_string_equal(sockets[0].name, address_text);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_int_equal(umask(mask), 0); /* as it was */
	(void)close(sockets[0].fd);
}

static void stale_socket_is_replaced_and_a_live_one_is_not(void **state)
{
	struct http_listen first[HTTP_LISTEN_OPEN_MAX], second[HTTP_LISTEN_OPEN_MAX];
	char want[200];
	struct error err;
	size_t count;

	CHECK_OK(http_listen_open(address_text, first, &count, &err), err);
	(void)snprintf(want, sizeof want, "another process listens on %s", address_text);
	CHECK_ERROR(http_listen_open(address_text, second, &count, &err), err, ERR_INVALID, want);
	(void)close(first[0].fd);
	CHECK_OK(http_listen_open(address_text, second, &count, &err), err);
	check_listening(&second[0]);
	(void)close(second[0].fd);
}

static void other_files_are_not_replaced(void **state)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	char want[200];
	struct error err;
	size_t count;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
	(void)snprintf(want, sizeof want, "%s exists and is not a socket", path);
	CHECK_ERROR(http_listen_open(address_text, sockets, &count, &err), err, ERR_INVALID, want);
	assert_int_equal(access(path, F_OK), 0);
	(void)unlink(path);
	assert_int_equal(symlink("elsewhere", path), 0);
	CHECK_ERROR(http_listen_open(address_text, sockets, &count, &err), err, ERR_INVALID, want);
}

/* In a child process, as the sockets must have the descriptors 3 and 4. */
static int take_in_child(const char *pid, const char *count, int type, bool listens)
{
	char own_pid[16];
	struct http_listen sockets[4];
	struct error err;
	size_t got = 9;
	int fd;

	(void)close_range(3, ~0u, 0);
	for (int i = 0; i < 2; i++) {
		fd = socket(AF_INET, type, 0);
		if (fd != 3 + i || (listens && listen(fd, 5) < 0))
			return 100;
	}
	(void)snprintf(own_pid, sizeof own_pid, "%d", (int)getpid());
	(void)setenv("LISTEN_PID", strcmp(pid, "own") == 0 ? own_pid : pid, 1);
	(void)setenv("LISTEN_FDS", count, 1);
	if (http_listen_inherited(sockets, 4, &got, &err) < 0)
		return strstr(err.msg, "LISTEN_") != NULL ? 50 : 101;
	if (getenv("LISTEN_FDS") != NULL || getenv("LISTEN_PID") != NULL)
		return 102;
	for (size_t i = 0; i < got; i++)
		if (sockets[i].fd != 3 + (int)i || sockets[i].is_local ||
		    !(fcntl(sockets[i].fd, F_GETFD) & FD_CLOEXEC) ||
		    !(fcntl(sockets[i].fd, F_GETFL) & O_NONBLOCK))
			return 103;
	return (int)got;
}

static const struct {
	const char *pid, *count;
	int type;
	bool listens;
	int want; /* sockets, or 50: refused with a message */
} inherited[] = {
	{ "own", "2", SOCK_STREAM, true, 2 },   { "own", "1", SOCK_STREAM, true, 1 },
	{ "own", "0", SOCK_STREAM, true, 0 },   { "1", "2", SOCK_STREAM, true, 0 },
	{ "own", "2", SOCK_STREAM, false, 50 }, { "own", "2", SOCK_DGRAM, false, 50 },
	{ "own", "3", SOCK_STREAM, true, 50 },  { "own", "5", SOCK_STREAM, true, 50 },
	{ "own", "-1", SOCK_STREAM, true, 50 }, { "own", "", SOCK_STREAM, true, 50 },
	{ "x", "1", SOCK_STREAM, true, 50 },
};

static void sockets_of_systemd_are_taken_over(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0)
			_exit(take_in_child(inherited[i].pid, inherited[i].count, inherited[i].type,
			                    inherited[i].listens));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != inherited[i].want)
			fail_msg("case %zu: %d, not %d", i, WEXITSTATUS(status), inherited[i].want);
	}
}

static void without_systemd_there_are_no_sockets(void **state)
{
	struct http_listen sockets[1];
	struct error err;
	size_t count = 9;

	(void)unsetenv("LISTEN_PID");
	CHECK_OK(http_listen_inherited(sockets, 1, &count, &err), err);
	assert_int_equal(count, 0);
}

#define IN_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(address_is_parsed_or_refused),
		TEST(accepted_socket_has_the_options_of_its_listener),
		TEST(localhost_opens_both_kinds_with_one_port),
		TEST(port_in_use_is_named),
		IN_DIRECTORY(unix_socket_is_for_its_user_only),
		IN_DIRECTORY(stale_socket_is_replaced_and_a_live_one_is_not),
		IN_DIRECTORY(other_files_are_not_replaced),
		TEST(sockets_of_systemd_are_taken_over),
		TEST(without_systemd_there_are_no_sockets),
	};

	return RUN_TESTS("http listen", tests);
}
