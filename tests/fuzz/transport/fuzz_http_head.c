/* fuzz_http_head.c - a head gets the same verdict however it is split, and a valid one has only
 * parts that no other program reads differently. The first byte chooses the size of the pieces. */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"
#include "transport/http/head.h"

enum { MAX_HEAD = 2048, MAX_FIELDS = 16 };

struct outcome {
	enum head_verdict verdict;
	bool is_complete;
	size_t used;
	char text[MAX_HEAD];
	size_t len;
	struct head_field fields[MAX_FIELDS];
	struct head head;
};

static void scan_pieces(struct view bytes, size_t piece, struct outcome *ret)
{
	struct head_scan scan = { 0 };

	*ret = (struct outcome){ .head.fields = ret->fields };
	while (bytes.len != 0 && !scan.is_complete) {
		struct view part = { bytes.ptr, piece < bytes.len ? piece : bytes.len };
		size_t before = part.len;
		struct view head;

		ret->verdict = head_scan(&scan, MAX_HEAD, &part, &head);
		if (ret->verdict != HEAD_VALID)
			return;
		fuzz_check(head.len == before - part.len && ret->len + head.len <= MAX_HEAD);
		memcpy(ret->text + ret->len, head.ptr, head.len);
		ret->len += head.len;
		ret->used += head.len;
		bytes.ptr += head.len;
		bytes.len -= head.len;
	}
	ret->is_complete = scan.is_complete;
}

static void check_text(const struct outcome *outcome, uint32_t offset)
{
	fuzz_check(offset < outcome->len);
	fuzz_check(memchr(outcome->text + offset, '\0', outcome->len - offset) != NULL);
}

static void check_field(const struct outcome *outcome, const struct head_field *field)
{
	const char *name = outcome->text + field->name, *value = outcome->text + field->value;

	check_text(outcome, field->name);
	check_text(outcome, field->value);
	fuzz_check(name[0] != '\0' && strpbrk(name, " \t\r\n:(),/;<=>?@[\\]{}\"") == NULL);
	for (; *name != '\0'; name++)
		fuzz_check(!isupper((unsigned char)*name));
	fuzz_check(strpbrk(value, "\r\n") == NULL);
	fuzz_check(value[0] != ' ' && value[0] != '\t');
}

static void check_valid(const struct outcome *outcome)
{
	const struct head *head = &outcome->head;
	const char *path = outcome->text + head->path;
	size_t hosts = 0;

	check_text(outcome, head->method_text);
	check_text(outcome, head->path);
	check_text(outcome, head->query);
	fuzz_check(path[0] == '/' || (strcmp(path, "*") == 0 && head->method == HTTP_OPTIONS));
	fuzz_check(utf8_is_valid(view_of(path)) && strstr(path, "/../") == NULL);
	fuzz_check(head->field_count <= MAX_FIELDS);
	fuzz_check(!head->is_chunked || (head->length == 0 && !head->is_1_0));
	for (size_t i = 0; i < head->field_count; i++) {
		check_field(outcome, &head->fields[i]);
		if (strcmp(outcome->text + head->fields[i].name, "host") == 0)
			hosts++;
	}
	fuzz_check(hosts == 1 || (hosts == 0 && head->is_1_0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const single[] = { "x-single", "x-any-*", NULL };
	static const struct head_rules rules = { MAX_FIELDS, single };
	static struct outcome whole, pieces;
	struct view bytes;

	if (size == 0)
		return 0;
	bytes = (struct view){ (const char *)data + 1, size - 1 };
	scan_pieces(bytes, bytes.len + 1, &whole);
	scan_pieces(bytes, (size_t)data[0] % 32 + 1, &pieces);
	fuzz_check(whole.verdict == pieces.verdict && whole.is_complete == pieces.is_complete);
	if (whole.verdict != HEAD_VALID || !whole.is_complete)
		return 0;
	fuzz_check(whole.len == pieces.len && memcmp(whole.text, pieces.text, whole.len) == 0);
	whole.verdict = head_parse(&rules, whole.text, whole.len, &whole.head);
	if (whole.verdict == HEAD_VALID)
		check_valid(&whole);
	return 0;
}
