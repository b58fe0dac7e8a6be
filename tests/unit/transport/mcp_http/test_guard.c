#include "unit/transport/mcp_http/fake_http_impl.h"
#include "unit/transport/mcp_http/mcp_rig.h"

static int status_of(struct rig *rig, const char *path, const char *fields)
{
	struct http_request *request = mcp_rig_send(rig, NULL, "GET %s\n%s", path, fields);

	return fake_response(request)->status;
}

static void only_names_of_the_server_are_served(void **state)
{
	static const char *const hosts[] = { "Tools.Example.com", NULL };
	static const struct {
		const char *host;
		int status;
	} cases[] = {
		{ "localhost", 200 },
		{ "LOCALHOST:8000", 200 },
		{ "localhost.", 200 },
		{ "127.0.0.1:8000", 200 },
		{ "127.8.9.10", 200 },
		{ "[::1]:8000", 200 },
		{ "[fe80::1]", 200 },
		{ "192.168.1.5:80", 200 },
		{ "tools.example.com:443", 200 },
		{ "evil.example.com", 403 },
		{ "evil.example.com:8000", 403 },
		{ "localhost.evil.example.com", 403 },
		{ "127.0.0.1.evil.example.com", 403 },
		{ "xtools.example.com", 403 },
		{ "[localhost]", 403 },
		{ "[tools.example.com]", 403 },
		{ "[::1", 403 },
		{ "::1", 403 },
		{ "[127.0.0.1]", 403 },
		{ "127.1", 403 },
		{ "0x7f.0.0.1", 403 },
		{ "localhost:80x", 403 },
		{ "localhost:80:80", 403 },
		{ "user@localhost", 403 },
		{ ":8000", 403 },
		{ "", 403 },
	};
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.hosts = hosts;
	mcp_rig_start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_request *request = mcp_rig_send(&rig, NULL, "GET /healthz\nHost: %s",
		                                            cases[i].host);

		if (fake_response(request)->status != cases[i].status)
			fail_msg("Host '%s': %d", cases[i].host, fake_response(request)->status);
	}
	check_http_error(mcp_rig_send(&rig, NULL, "GET /healthz\nHost: evil.example.com"), 403,
	                 -32000, "allowed hosts");
	mcp_rig_done(&rig);
}

static void any_name_is_served_on_a_unix_socket(void **state)
{
	struct http_request *request = fake_request("GET /healthz\nHost: any.example.com", NULL);
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	fake_set_peer(request, "unix");
	fake_send(rig.http, request);
	assert_int_equal(fake_response(request)->status, 200);
	fake_free(request);
	mcp_rig_done(&rig);
}

static void pages_of_other_origins_are_refused(void **state)
{
	static const char *const origins[] = { "https://app.example.com", NULL };
	static const struct {
		const char *origin;
		int status;
	} cases[] = {
		{ "https://app.example.com", 200 },
		{ "HTTPS://app.example.com", 200 },
		{ "http://localhost:8000", 200 },
		{ "https://localhost:8000", 200 },
		{ "http://localhost", 403 },
		{ "http://localhost:3000", 403 },
		{ "http://localhost:80000", 403 },
		{ "http://127.0.0.1:8000", 403 },
		{ "http://evil.example.com", 403 },
		{ "http://app.example.com", 403 },
		{ "https://app.example.com.evil.example", 403 },
		{ "https://app.example.com:8443", 403 },
		{ "file://localhost:8000", 403 },
		{ "localhost:8000", 403 },
		{ "null", 403 },
		{ "", 403 },
	};
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.origins = origins;
	mcp_rig_start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_request *request = mcp_rig_send(
		        &rig, NULL, "GET /healthz\nHost: localhost:8000\nOrigin: %s",
		        cases[i].origin);

		if (fake_response(request)->status != cases[i].status)
			fail_msg("Origin '%s': %d", cases[i].origin,
			         fake_response(request)->status);
		if (i > 1)
			assert_null(fake_field(request, "access-control-allow-origin"));
		else
			assert_string_equal(fake_field(request, "access-control-allow-origin"),
			                    cases[i].origin);
	}
	mcp_rig_done(&rig);
}

static void preflight_is_answered_for_configured_origins_only(void **state)
{
	static const char *const origins[] = { "https://app.example.com", NULL };
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.origins = origins;
	rig.user = NULL; /* a preflight has no token */
	mcp_rig_start(&rig);
	request = mcp_rig_send(&rig, NULL,
	                       "OPTIONS /mcp\nHost: localhost\nOrigin: https://app.example.com\n"
	                       "Access-Control-Request-Method: POST\n"
	                       "Access-Control-Request-Headers: content-type,mcp-param-city, "
	                       "mcp-param-,x-evil,mcp-param-a b,mcp-param-<");
	assert_int_equal(fake_response(request)->status, 204);
	assert_string_equal(fake_field(request, "access-control-allow-origin"),
	                    "https://app.example.com");
	assert_string_equal(fake_field(request, "access-control-allow-methods"),
	                    "GET, POST, DELETE, OPTIONS");
	assert_string_equal(
	        fake_field(request, "access-control-allow-headers"),
	        "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, "
	        "Mcp-Method, Mcp-Name, Last-Event-ID, mcp-param-city, mcp-param-a");
	assert_string_equal(fake_field(request, "vary"), "Origin");
	assert_null(fake_field(request, "access-control-allow-credentials"));
	request = mcp_rig_send(&rig, NULL,
	                       "OPTIONS /mcp\nHost: localhost\nOrigin: http://localhost\n"
	                       "Access-Control-Request-Method: POST");
	assert_int_equal(fake_response(request)->status, 204);
	assert_null(fake_field(request, "access-control-allow-origin"));
	assert_null(fake_field(request, "access-control-allow-methods"));
	request = mcp_rig_send(&rig, NULL,
	                       "OPTIONS /mcp\nHost: localhost\nOrigin: http://evil.example\n"
	                       "Access-Control-Request-Method: POST");
	assert_int_equal(fake_response(request)->status, 403);
	mcp_rig_done(&rig);
}

static void paths_and_methods_are_a_table(void **state)
{
	static const struct {
		const char *line;
		int status;
		const char *allow; /* NULL: absent */
	} cases[] = {
		{ "GET /healthz", 200, NULL },
		{ "HEAD /healthz", 200, NULL },
		{ "GET /readyz", 200, NULL },
		{ "POST /healthz", 405, "GET, HEAD, OPTIONS" },
		{ "OPTIONS /healthz", 204, "GET, HEAD, OPTIONS" },
		{ "OPTIONS /mcp", 204, "GET, POST, DELETE, OPTIONS" },
		{ "PUT /mcp", 405, "GET, POST, DELETE, OPTIONS" },
		{ "HEAD /mcp", 405, "GET, POST, DELETE, OPTIONS" },
		{ "POST /sse", 405, "GET, OPTIONS" },
		{ "DELETE /sse", 405, "GET, OPTIONS" },
		{ "GET /messages/", 405, "POST, OPTIONS" },
		{ "GET /messages", 405, "POST, OPTIONS" },
		{ "PUT /p/other/mcp", 405, "GET, POST, DELETE, OPTIONS" },
		{ "GET /p/other/healthz", 404, NULL },
		{ "GET /p/othermcp", 404, NULL },
		{ "GET /p/unknown/mcp", 404, NULL },
		{ "GET /", 404, NULL },
		{ "GET /mcp/x", 404, NULL },
		{ "GET /MCP", 404, NULL },
		{ "GET /.well-known/oauth-protected-resource/mcp", 404, NULL },
		{ "OPTIONS *", 404, NULL },
	};
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_request *request = mcp_rig_send(&rig, NULL, "%s\nHost: localhost",
		                                            cases[i].line);

		if (fake_response(request)->status != cases[i].status)
			fail_msg("%s: %d", cases[i].line, fake_response(request)->status);
		if (cases[i].allow == NULL)
			assert_null(fake_field(request, "allow"));
		else
			assert_string_equal(fake_field(request, "allow"), cases[i].allow);
	}
	assert_int_equal(status_of(&rig, "/nowhere", "Host: localhost"), 404);
	mcp_rig_done(&rig);
}

static const char *why_not_ready(void *ctx)
{
	(void)ctx;
	return "no engine";
}

static void readiness_names_the_reason(void **state)
{
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.why_not_ready = why_not_ready;
	mcp_rig_start(&rig);
	request = mcp_rig_send(&rig, NULL, "GET /readyz\nHost: localhost");
	assert_int_equal(fake_response(request)->status, 503);
	assert_string_equal(fake_response(request)->body,
	                    "{\"status\":\"not ready\",\"reason\":\"no engine\"}");
	assert_int_equal(status_of(&rig, "/healthz", "Host: localhost"), 200);
	mcp_rig_done(&rig);
}

static void refused_caller_gets_a_challenge(void **state)
{
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	rig.user = NULL;
	mcp_rig_start(&rig);
	request = mcp_rig_post(&rig, NULL, "not read");
	assert_int_equal(fake_response(request)->status, 401);
	assert_string_equal(fake_field(request, "www-authenticate"), "Bearer realm=\"t\"");
	assert_string_equal(
	        fake_response(request)->body,
	        "{\"error\":\"invalid_token\",\"error_description\":\"no such token\"}");
	assert_int_equal(status_of(&rig, "/sse", "Host: localhost"), 401);
	assert_int_equal(status_of(&rig, "/mcp", "Host: localhost"), 401);
	mcp_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(only_names_of_the_server_are_served),
		TEST(any_name_is_served_on_a_unix_socket),
		TEST(pages_of_other_origins_are_refused),
		TEST(preflight_is_answered_for_configured_origins_only),
		TEST(paths_and_methods_are_a_table),
		TEST(readiness_names_the_reason),
		TEST(refused_caller_gets_a_challenge),
	};

	return RUN_TESTS("guard", all);
}
