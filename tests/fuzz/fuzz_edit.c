/* fuzz_edit.c - a client's file may hold anything: it is refused, or edited so that the
 * result still is what it was (JSON stays JSON), and a second edit finds nothing to do. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/clients.h"
#include "cli/edit.h"
#include "json/json.h"

enum { ROOM = 1 << 20 };

typedef enum edit_result edit_fn(struct view text, const struct entry *entry, struct buf *ret,
                                 struct error *err);

static void must_be_json(struct view text)
{
	static const struct json_limits limits = { .depth = 512, .values = 1000000 };
	AUTO_JSON json_t *value = NULL;
	struct error err;

	if (json_read(text, &limits, &value, NULL, &err) < 0)
		abort();
}

static void edit_twice(edit_fn *edit, struct view text, const struct entry *entry)
{
	AUTO_BUF struct buf once;
	AUTO_BUF struct buf twice;
	struct error err;

	buf_init(&once, ROOM);
	buf_init(&twice, ROOM);
	switch (edit(text, entry, &once, &err)) {
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
	if (entry->client->servers_key != NULL)
		must_be_json(buf_view(&once));
	if (edit(buf_view(&once), entry, &twice, &err) != EDIT_NOTHING)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = { (const char *)data, size };
	struct entry entry = { .name = "belljar", .program = "/opt/b \"q\"/belljar" };

	entry.client = client_find("cursor");
	edit_twice(edit_json, text, &entry);
	entry.client = client_find("codex");
	edit_twice(edit_toml, text, &entry);
	return 0;
}
