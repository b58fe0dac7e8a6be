/* The HTTP server, with TLS, in a process that is confined as belljar's server is. A system call
 * that the filter lacks, or a file that OpenSSL opens late, fails here. */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "server/confine.h"
#include "transport/http/http.h"
#include "transport/http/http_listen.h"
#include "transport/http/http_tls.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"
#include "unit/transport/http/tls_rig.h"

static struct certificate first, second;
static struct http_tls *tls;

/* GET /replace replaces the certificate; GET /stream is a stream of one part. */
static void on_request(void *ctx, struct http_request *request)
{
	struct error err = { .msg = "replaced" };

	if (strcmp(http_path(request), "/stream") == 0) {
		http_stream_start(request, 200, NULL, NULL);
		http_stream_write(request, VIEW("part"));
		http_stream_end(request);
		return;
	}
	if (strcmp(http_path(request), "/replace") == 0)
		(void)!http_tls_replace(tls, view_of(second.certificate), view_of(second.key),
		                        &err);
	http_respond(request, 200, NULL, view_of(err.msg));
}

static int listen_at(struct http_server *server, struct http_tls *with, in_port_t *ret_port)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	struct sockaddr_in address;
	socklen_t len = sizeof address;
	struct error err;
	size_t count;

	if (http_listen_open("127.0.0.1:0", sockets, &count, &err) < 0 ||
	    getsockname(sockets[0].fd, (struct sockaddr *)&address, &len) < 0)
		return -1;
	*ret_port = address.sin_port;
	http_server_listen(server, sockets[0].fd, &(struct http_listener_options){ with });
	return 0;
}

/* The child: tells its ports, confines itself and serves until it is killed. */
static int serve_confined(int report)
{
	struct http_config config = { .limits = http_default_limits, .request = on_request };
	struct http_server *server;
	struct loop *loop;
	struct error err;
	in_port_t ports[2];

	if (loop_new(&loop, &err) < 0)
		return 1;
	server = http_server_new(loop, &config);
	if (http_tls_new(view_of(first.certificate), view_of(first.key), &tls, &err) < 0 ||
	    listen_at(server, NULL, &ports[0]) < 0 || listen_at(server, tls, &ports[1]) < 0)
		return 2;
	if (confine_process(&(struct confine_needs){ NULL }, &err) < 0)
		return 3;
	if (write(report, ports, sizeof ports) != sizeof ports)
		return 4;
	loop_run(loop);
	return 0;
}

static int connect_to(in_port_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = port,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* Reads to the end of the connection and checks how the answer ends. */
static void check_answer(const char *got, const char *want)
{
	size_t len = strlen(got), end = strlen(want);

	if (strncmp(got, "HTTP/1.1 200 OK\r\n", 17) != 0 || len < end ||
	    strcmp(got + len - end, want) != 0)
		fail_msg("not \"%s\": %s", want, got);
}

static void ask_plain(in_port_t port, const char *request, const char *want)
{
	AUTO_FD int fd = connect_to(port);
	char got[2048];
	size_t len = 0;
	ssize_t n;

	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	while ((n = read(fd, got + len, sizeof got - 1 - len)) > 0)
		len += (size_t)n;
	assert_int_equal(n, 0);
	got[len] = '\0';
	check_answer(got, want);
}

/* Writes the name of the server's certificate to `name`. */
static void ask_encrypted(in_port_t port, const char *request, const char *want, char name[64])
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	int fd = connect_to(port), n;
	struct tls_client peer = { .ssl = ssl };
	char got[2048];
	size_t len = 0;

	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	assert_int_equal(SSL_connect(ssl), 1);
	tls_client_server_name(&peer, name, 64);
	assert_int_equal(SSL_write(ssl, request, (int)strlen(request)), strlen(request));
	while ((n = SSL_read(ssl, got + len, (int)(sizeof got - 1 - len))) > 0)
		len += (size_t)n;
	assert_int_equal(SSL_get_error(ssl, n), SSL_ERROR_ZERO_RETURN); /* a proper end */
	got[len] = '\0';
	check_answer(got, want);
	SSL_free(ssl);
	SSL_CTX_free(context);
	(void)close(fd);
}

#define CLOSING(path) "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

static void confined_server_speaks_http_and_tls(void **state)
{
	int report[2], status = -1;
	in_port_t ports[2];
	char name[64];
	pid_t child;

	watchdog_start();
	certificate_make(&first, "first.example", 2000000000);
	certificate_make(&second, "second.example", 2000000000);
	assert_int_equal(pipe(report), 0);
	child = fork();
	if (child == 0)
		_exit(serve_confined(report[1]));
	(void)close(report[1]);
	assert_int_equal(read(report[0], ports, sizeof ports), sizeof ports);
	ask_plain(ports[0], CLOSING("/"), "replaced");
	ask_plain(ports[0], CLOSING("/stream"), "4\r\npart\r\n0\r\n\r\n");
	ask_plain(ports[0], "GET / HTTP/1.1\r\nHost: a\r\n\r\n" CLOSING("/"), "replaced");
	ask_encrypted(ports[1], CLOSING("/stream"), "4\r\npart\r\n0\r\n\r\n", name);
	assert_string_equal(name, "first.example");
	ask_encrypted(ports[1], CLOSING("/replace"), "replaced", name);
	ask_encrypted(ports[1], CLOSING("/"), "replaced", name);
	assert_string_equal(name, "second.example");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status)); /* it was still running */
	(void)close(report[0]);
	watchdog_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(confined_server_speaks_http_and_tls) };

	return RUN_TESTS("confined http", tests);
}
