/* fuzz_edit.c - edit_json() on arbitrary bytes. The text is refused, or the edited text is JSON
 * again (with comments if the old one had comments), holds everything the old one held, and a
 * second edit changes nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/connect/clients.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"
#include "cli/connect/jsonc.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

enum { ROOM = 1 << 20 };

static bool is_json(struct view text)
{
	static const struct json_limits limits = { .depth = 512, .values = 1000000 };
	AUTO_JSON json_t *value = NULL;
	struct error err;

	return json_read(text, &limits, &value, NULL, &err) == 0;
}

static bool is_json_with_comments(struct view text)
{
	AUTO_BUF struct buf plain;
	struct error err;

	buf_init(&plain, ROOM);
	return jsonc_blank(text, &plain, &err) == 0 && plain.len == text.len &&
	       is_json(buf_view(&plain));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* True if the text contains all of the old one in its order, blanks aside. */
static bool holds(struct view text, struct view old)
{
	size_t at = 0;

	for (size_t i = 0; i < old.len; i++) {
		if (is_blank(old.ptr[i]))
			continue;
		while (at < text.len && text.ptr[at] != old.ptr[i])
			at++;
		if (at++ >= text.len)
			return false;
	}
	return true;
}

static enum edit_result edit_once(struct view text, const struct entry *entry, struct buf *ret,
                                  struct error *err)
{
	json_t *kept;
	enum edit_result result = edit_json(text, entry, ret, &kept, err);

	json_decref(kept);
	return result;
}

static void edit_twice(struct view text, const struct entry *entry)
{
	AUTO_BUF struct buf once;
	AUTO_BUF struct buf twice;
	enum edit_result result;
	struct error err;

	buf_init(&once, ROOM);
	buf_init(&twice, ROOM);
	result = edit_once(text, entry, &once, &err);
	switch (result) {
	case EDIT_FAILED:
		if (err.msg[0] == '\0')
			abort();
		return;
	case EDIT_NOTHING:
		if (once.len != 0)
			abort();
		return;
	case EDIT_ADDED:
	case EDIT_REPLACED:
		break;
	}
	if (!is_json_with_comments(buf_view(&once)))
		abort();
	if (is_json(text) && !is_json(buf_view(&once)))
		abort();
	if (result == EDIT_ADDED && !holds(buf_view(&once), text))
		abort();
	if (edit_once(buf_view(&once), entry, &twice, &err) != EDIT_NOTHING)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = { (const char *)data, size };
	struct entry entry = { .name = "belljar", .program = "/opt/b \"q\"/belljar" };

	entry.client = client_find("cursor");
	edit_twice(text, &entry);
	entry.client = client_find("claude-code");
	edit_twice(text, &entry);
	return 0;
}
