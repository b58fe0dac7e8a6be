/* fuzz_port_answer.c - any bytes are the head of an answer of a program in a sandbox. What is accepted
 * becomes a head of one answer, which ends the connection, with the policy that gives its page an
 * origin of its own and without the fields that act on this server's. */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "server/ports/internal.h"

static void check_line(struct view line)
{
	static const char *const banned[] = { "set-cookie:", "clear-site-data:", "alt-svc:",
		                              "strict-transport-security:", "nel:" };

	for (size_t i = 0; i < sizeof banned / sizeof banned[0]; i++)
		fuzz_check(line.len < strlen(banned[i]) ||
		           strncasecmp(line.ptr, banned[i], strlen(banned[i])) != 0);
	if (line.len > 9 && strncasecmp(line.ptr, "location:", 9) == 0) {
		size_t end = 0;

		while (end < line.len && strchr("?#\r", line.ptr[end]) == NULL)
			end++;
		fuzz_check(memmem(line.ptr, end, "/../", 4) == NULL);
		fuzz_check(memmem(line.ptr, end, "//localhost", 11) != line.ptr + 10);
	}
	for (size_t i = 0; i < line.len; i++)
		fuzz_check(line.ptr[i] != '\0' && (line.ptr[i] != '\r' || i + 1 == line.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct port_path path = { .port = 8000, .prefix = "/ports/s/8000", .rest = "/" };
	struct port_answer_options options = { .path = &path,
		                               .host = "localhost:8443",
		                               .url = "https://box.example" };
	struct view head = { (const char *)data, size }, line;
	struct buf out;
	struct error err;
	int status;

	if (size == 0 || size > PORT_ANSWER_HEAD_MAX)
		return 0;
	options.upgrades = data[size - 1] & 1;
	options.is_link = data[size - 1] & 2;
	buf_init(&out, 2 * PORT_ANSWER_HEAD_MAX);
	status = port_answer_head(head, &options, &out, &err);
	if (status >= 0) {
		struct view rest = buf_view(&out);

		fuzz_check(status >= 100 && status <= 599 && (status != 101 || options.upgrades));
		fuzz_check(memmem(rest.ptr, rest.len, "\r\n\r\n", 4) == rest.ptr + rest.len - 4);
		fuzz_check(memmem(rest.ptr, rest.len, "\r\nContent-Security-Policy: sandbox ",
		                  34) != NULL);
		while (view_next_line(&rest, &line))
			check_line(line);
	}
	buf_done(&out);
	return 0;
}
