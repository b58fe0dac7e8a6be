/* dialer_serve.c - the dialer's process: confines itself, then forks a child for each request. */
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/helper.h"
#include "base/process/packet.h"
#include "base/rights/caps.h"
#include "base/rights/landlock.h"
#include "egress/dialer/dialer.h"
#include "egress/dialer/internal.h"
#include "egress/net_policy.h"
#include "engine/filter/filter.h"

enum {
	SERVED_MAX = 128, /* connections to a service at a time */
	SERVED_MIB = 512, /* memory of the child process of one */
	SERVED_CPU_S = 300,
	REAP_MS = 1000, /* between two looks for children that have exited */
};

/* The alarm of a child: a second more than the time after which the server gives up. */
static unsigned child_seconds(const struct net_limits *limits)
{
	return (unsigned)((limits->dial_ms != 0 ? limits->dial_ms : DIAL_TIMEOUT_MS) / 1000 + 1);
}

/* --- requests --- */

/* Replies to a request for which no child is forked. */
static void refuse_request(int socket, const struct dialer_request *request, bool is_refused,
                           const struct error *why)
{
	struct dialer_reply reply = {
		.id = request->id, .failed = true, .is_refused = is_refused, .err = *why
	};

	(void)packet_send(socket, &reply, sizeof reply, -1);
}

static NORETURN void run_child(const struct dialer_config *config, const struct upstream *upstream,
                               const struct net_host *host, const struct dialer_request *request,
                               int socket)
{
	struct dialer_reply reply = { .id = request->id };
	int fd;

	/* getaddrinfo(3) has no time-out of its own: SIGALRM ends a child that still resolves. */
	(void)alarm(child_seconds(&config->ceiling->limits));
	fd = dialer_connect(config->ceiling, upstream, host, request, &reply);
	reply.failed = fd < 0;
	(void)packet_send(socket, &reply, sizeof reply, fd);
	_exit(0);
}

/* The child parses bytes of sandboxes and hosts outside of every sandbox's cgroup: code that took
 * it over, or a body that expands, meets these limits. */
static int limit_child(struct error *err)
{
	static const struct rlimit time = { SERVED_CPU_S, SERVED_CPU_S };

	if (setrlimit(RLIMIT_CPU, &time) < 0)
		return error_sys(err, "limit the processor time of the connection");
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory reserves terabytes of addresses */
	static const struct rlimit memory = { (rlim_t)SERVED_MIB << 20, (rlim_t)SERVED_MIB << 20 };

	if (setrlimit(RLIMIT_DATA, &memory) < 0)
		return error_sys(err, "limit the memory of the connection");
#endif
	return 0;
}

/* The child process is the other end of the connection. */
static NORETURN void serve_child(const struct dialer_config *config,
                                 const struct upstream *upstream, const struct net_host *host,
                                 const struct dialer_request *request, int socket)
{
	const struct dialer_service *service = config->service;
	struct dialer_reply reply = { .id = request->id };
	int ends[2] = { -1, -1 };

	(void)alarm(child_seconds(&config->ceiling->limits));
	reply.failed = limit_child(&reply.err) < 0 ||
	               (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 &&
	                error_sys(&reply.err, "make a pair of sockets") < 0) ||
	               fd_set_nonblocking(ends[0], &reply.err) < 0 ||
	               (service->open != NULL &&
	                service->open(service, upstream, host, request, &reply) < 0);
	(void)alarm(0);
	if (!packet_send(socket, &reply, sizeof reply, ends[0]) || reply.failed)
		_exit(1);
	(void)close(ends[0]);
	/* The socket for requests stays with the dialer alone: a copy in this process would keep it
	 * open after the dialer's death, and the server would not learn of that. */
	(void)close(socket);
	service->serve(service, upstream, ends[1]);
	_exit(0);
}

static unsigned children; /* that were forked and not yet reaped */

static void reap_children(bool must_wait)
{
	while (children != 0 && waitpid(-1, NULL, must_wait ? 0 : WNOHANG) > 0) {
		children--;
		must_wait = false;
	}
}

/* While no request arrives, children that exit are reaped, so that none stays a zombie. */
static bool receive_request(int socket, struct dialer_request *ret)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };

	while (poll(&ready, 1, children != 0 ? REAP_MS : -1) <= 0)
		reap_children(false);
	return packet_receive(socket, ret, sizeof *ret);
}

/* The server may have been taken over by code of a client or of a sandbox, so the request is
 * checked as if it came from outside, and against the dialer's own copy of the ceiling. */
static void handle_request(const struct dialer_config *config, const struct upstream *upstream,
                           const struct dialer_request *request, int socket)
{
	struct net_host host;
	struct error err;
	pid_t pid;

	if (memchr(request->host, '\0', sizeof request->host) == NULL || request->port == 0 ||
	    net_host_parse(view_of(request->host), &host, &err) < 0) {
		(void)error_set(&err, ERR_INVALID, "the host is malformed");
		return refuse_request(socket, request, true, &err);
	}
	if ((config->service == NULL || config->service->open != NULL) &&
	    net_ceiling_decide(config->ceiling, &host, request->port, &err) < 0)
		return refuse_request(socket, request, true, &err);
	/* At the limit the dialer waits for a child to exit, which its alarm(2) bounds. */
	reap_children(config->service == NULL && children >= DIAL_PENDING_MAX);
	if (config->service != NULL && children >= SERVED_MAX) {
		(void)error_set(&err, ERR_LIMIT, "%u connections are %s: try again later", children,
		                config->service->uses);
		return refuse_request(socket, request, false, &err);
	}
	pid = fork();
	if (pid == 0 && config->service != NULL)
		serve_child(config, upstream, &host, request, socket);
	if (pid == 0)
		run_child(config, upstream, &host, request, socket);
	if (pid < 0) {
		(void)error_sys(&err, "start a process for the connection");
		return refuse_request(socket, request, false, &err);
	}
	children++;
}

/* --- the process --- */

/* getaddrinfo() loads its modules at the first call, which the filter would not let it do later. */
static void load_resolver(void)
{
	struct addrinfo *list = NULL;

	if (getaddrinfo("localhost", NULL, NULL, &list) == 0)
		freeaddrinfo(list);
}

/* getaddrinfo(3) reads its configuration again for each name, and may talk to a name service below
 * /run. No path can be written but the cache of a service. */
static int confine_files(const struct dialer_service *service, struct error *err)
{
	static const char *const readable[] = { "/etc", "/usr", "/lib", "/lib64", "/run", "/dev" };
	static const uint64_t reads = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR;
	AUTO_LANDLOCK struct landlock landlock = { .ruleset = -1 };

	if (landlock_open(&landlock, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(readable); i++)
		if (access(readable[i], F_OK) == 0 &&
		    landlock_allow_path(&landlock, readable[i], reads, err) < 0)
			return -1;
	if (service != NULL && service->dir != NULL &&
	    landlock_allow_path(&landlock, service->dir,
	                        reads | LANDLOCK_WRITE_FILE | LANDLOCK_MAKE_REG |
	                                LANDLOCK_REMOVE_FILE,
	                        err) < 0)
		return -1;
	return landlock_enforce(&landlock, err);
}

/* The order: ids while the process may change them, capabilities, then the filter, which forbids
 * the system calls of the other steps. Not dumpable: the proxy's password is in this memory, and
 * with a single id programs of sandboxes have the same user. */
static int confine_dialer(const struct dialer_config *config, struct error *err)
{
	uid_t id = config->id;

	if (geteuid() == 0 && id != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
		return error_sys(err, "change to user %u", id);
	if (caps_drop(err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	if (confine_files(config->service, err) < 0)
		return -1;
	return filter_load(config->service != NULL && config->service->dir != NULL
	                           ? filter_for_mirror()
	                           : filter_for_dialer()) < 0
	               ? error_sys(err, "filter system calls")
	               : 0;
}

static int prepare_process(const struct dialer_config *config, int socket, struct error *err)
{
	if (helper_begin(config->service != NULL ? config->service->name : "belljar-dialer",
	                 &socket, 1, err) < 0)
		return -1;
	load_resolver();
	if (config->service != NULL && config->service->prepare != NULL &&
	    config->service->prepare(config->service, err) < 0)
		return -1;
	return confine_dialer(config, err);
}

void dialer_serve(void *ctx, int socket)
{
	static struct dialer_request request;
	const struct dialer_start *start = ctx;
	struct error err;

	helper_report(socket, prepare_process(start->config, socket, &err) < 0 ? &err : NULL);
	while (receive_request(socket, &request))
		handle_request(start->config, start->upstream, &request, socket);
	/* The children end by themselves, because their alarm is set. */
	_exit(0);
}
