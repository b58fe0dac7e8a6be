#include "egress/intercept/intercept.h"

#include "base/clock.h"
#include "base/fd.h"
#include "egress/dialer/dialer.h"
#include "egress/intercept/internal.h"
#include "egress/net_policy.h"
#include "egress/net_secrets.h"

enum { ACCEPT_MS = 10000 };

/* The process, and in a child process its connection. */
struct interceptor {
	const struct intercept_config *config;
	struct authority authority;
	SSL_CTX *to_hosts, *to_programs;
	struct net_host name;
	uint16_t port;
	struct side host;
};

static int prepare_process(const struct dialer_service *service, struct error *err)
{
	struct interceptor *interceptor = service->ctx;

	interceptor->to_programs = side_program_context();
	return side_host_context(interceptor->config->roots, &interceptor->to_hosts, err);
}

/* The program's CONNECT is answered only when the TLS connection to the host is complete and its
 * certificate verified: a program never sends a request for a host that was not proved. */
static int open_host(const struct dialer_service *service, const struct upstream *upstream,
                     const struct net_host *host, const struct dialer_request *request,
                     struct dialer_reply *reply)
{
	struct interceptor *interceptor = service->ctx;
	const struct net_ceiling *ceiling = interceptor->config->ceiling;
	uint64_t limit_ms = ceiling->limits.dial_ms != 0 ? ceiling->limits.dial_ms
	                                                 : DIAL_TIMEOUT_MS;
	uint64_t end_ms = clock_now_ms() + limit_ms;
	char target[NET_HOST_SIZE];
	int fd;

	if (authority_sign(&interceptor->authority, host, interceptor->to_programs, &reply->err) <
	    0)
		return -1;
	/* The child frees its copy of the CA's key before it reads a byte of the host or of the
	 * program: code that took the child over could otherwise sign for any host. */
	authority_done(&interceptor->authority);
	/* The server has decided the same, but is not trusted: without this check a server that was
	 * taken over could read TLS connections of programs to every host. */
	if (!net_secrets_has_tls(interceptor->config->secrets, host, request->port))
		return error_set(&reply->err, ERR_INVALID, "there is no secret for this host");
	fd = dialer_connect(ceiling, upstream, host, request, reply);
	if (fd < 0)
		return -1;
	interceptor->name = *host;
	interceptor->port = request->port;
	if (side_connect(&interceptor->host, interceptor->to_hosts, fd, host, end_ms,
	                 &reply->is_refused, &reply->err) == 0)
		return 0;
	return error_wrap(&reply->err, "%s", net_host_text(host, request->port, target));
}

static void serve_connection(const struct dialer_service *service, const struct upstream *upstream,
                             int fd)
{
	struct interceptor *interceptor = service->ctx;
	struct side program;
	struct error ignored;

	(void)upstream;
	if (fd_set_nonblocking(fd, &ignored) == 0 &&
	    side_accept(&program, interceptor->to_programs, fd, &interceptor->name,
	                clock_now_ms() + ACCEPT_MS) == 0)
		exchange_run(&program, &interceptor->host, &interceptor->name, interceptor->port,
		             interceptor->config->secrets);
}

int intercept_start(const struct intercept_config *config, struct dialer *ret,
                    char **ret_certificate, struct error *err)
{
	struct interceptor interceptor = { .config = config };
	const struct dialer_service service = { .name = "belljar-tls",
		                                .uses = "to hosts with a secret",
		                                .prepare = prepare_process,
		                                .open = open_host,
		                                .serve = serve_connection,
		                                .ctx = &interceptor };
	const struct dialer_config dialer = { .ceiling = config->ceiling,
		                              .id = config->id,
		                              .service = &service };
	int r;

	if (authority_make(&interceptor.authority, err) < 0)
		return -1;
	r = authority_pem(&interceptor.authority, ret_certificate, err);
	/* The child process has a copy of the stack, so that the structs live as long as it. */
	if (r == 0)
		r = dialer_start(&dialer, ret, err);
	authority_done(&interceptor.authority);
	return r < 0 ? error_wrap(err, "the interceptor of TLS") : 0;
}
