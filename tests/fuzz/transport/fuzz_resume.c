/* fuzz_resume.c - what a client says in the head of a request to MCP over HTTP. The lines are
 * Last-Event-ID, the query of /messages/, Host, Origin, Accept and Content-Type.
 *
 * An event id that is understood is written back the same. Host allows nothing but numeric
 * addresses and the two names that are configured, whatever the spelling. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "transport/mcp_http/internal.h"

static void check_event_id(const char *text)
{
	char again[EVENT_ID_SIZE];
	struct event_id id;

	if (!event_id_parse(text, &id))
		return;
	event_id_format(&id, again);
	fuzz_check(strcmp(text, again) == 0);
}

static void check_query(const char *query)
{
	char id[SESSION_ID_LEN + 1] = "";
	struct buf value = buf_fixed(id, sizeof id);

	if (http_query_get(query, "session_id", &value) > 0)
		fuzz_check(value.len <= SESSION_ID_LEN && strlen(id) == value.len);
}

static void check_host(const struct mcp_http_config *config, const char *host)
{
	bool is_bracketed = host[0] == '[';
	size_t len = strcspn(host + is_bracketed, is_bracketed ? "]" : ":");
	AUTO_FREE char *name = mem_dup_len(host + is_bracketed, len);
	unsigned char address[16];

	if (!guard_allows_host(config, host))
		return;
	if (len > 1 && name[len - 1] == '.')
		name[len - 1] = '\0';
	fuzz_check(inet_pton(is_bracketed ? AF_INET6 : AF_INET, name, address) == 1 ||
	           (!is_bracketed && (strcasecmp(name, "localhost") == 0 ||
	                              strcasecmp(name, "tools.example.com") == 0)));
}

static void check_origin(const struct mcp_http_config *config, const char *origin, const char *host)
{
	const char *authority = strstr(origin, "://");

	if (guard_allows_origin(config, origin, host))
		fuzz_check(authority != NULL &&
		           (strcasecmp(authority + 3, host) == 0 ||
		            strcasecmp(origin, "https://app.example.com") == 0));
}

static char *take_line(struct view *rest)
{
	struct view line = { "", 0 };

	(void)view_next_line(rest, &line);
	return mem_dup_len(line.ptr, line.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = { "tools.example.com", NULL };
	static const char *const origins[] = { "https://app.example.com", NULL };
	const struct mcp_http_config config = { .hosts = hosts, .origins = origins };
	struct view rest = { (const char *)data, size };
	AUTO_FREE char *last_id = take_line(&rest);
	AUTO_FREE char *query = take_line(&rest);
	AUTO_FREE char *host = take_line(&rest);
	AUTO_FREE char *origin = take_line(&rest);
	AUTO_FREE char *accept = take_line(&rest);
	AUTO_FREE char *type = take_line(&rest);

	check_event_id(last_id);
	check_query(query);
	check_host(&config, host);
	check_origin(&config, origin, host);
	if (media_accepts(accept, "text", "event-stream"))
		fuzz_check(strchr(accept, '/') != NULL);
	if (media_is_json(type))
		fuzz_check(strlen(type) >= strlen("application/json"));
	return 0;
}
