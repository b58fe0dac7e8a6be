/* fuzz_http_query.c - values of a query are decoded within their limit. The bytes are a name, a NUL
 * and a query. Encoded again, a value gives the same value. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "transport/http/head.h"
#include "transport/http/http.h"

enum { VALUE_MAX = 100, TEXT_MAX = 4096 };

static void check_round_trip(const struct buf *value)
{
	AUTO_BUF struct buf query;
	AUTO_BUF struct buf again;
	struct error err;

	buf_init(&query, VALUE_MAX * 3 + 10);
	buf_init(&again, VALUE_MAX);
	fuzz_check(buf_printf(&query, &err, "x=") == 0);
	for (size_t i = 0; i < value->len; i++)
		fuzz_check(buf_printf(&query, &err, "%%%02x", (unsigned char)value->ptr[i]) == 0);
	fuzz_check(http_query_get(buf_text(&query), "x", &again) == 1);
	fuzz_check(again.len == value->len);
	fuzz_check(again.len == 0 || memcmp(again.ptr, value->ptr, again.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf value;
	char text[TEXT_MAX + 1];
	const char *query;
	int rc;

	buf_init(&value, VALUE_MAX);
	size = size < TEXT_MAX ? size : TEXT_MAX;
	memcpy(text, data, size);
	text[size] = '\0';
	query = strlen(text) < size ? text + strlen(text) + 1 : "";
	rc = http_query_get(query, text, &value);
	fuzz_check(rc >= -1 && rc <= 1 && value.len <= VALUE_MAX);
	fuzz_check(rc != 0 || value.len == 0);
	if (rc == 1) {
		fuzz_check(memchr(buf_text(&value), '\0', value.len) == NULL);
		check_round_trip(&value);
	}
	if (target_decode_path(text) == 0)
		fuzz_check(strlen(text) <= size);
	return 0;
}
