/* fuzz_records.c - the records in ENTRIES and MATCHES: each has at least one byte, and an accepted
 * record is encoded again as the same bytes. The first byte chooses the message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/table.h"

union any_record {
	struct wire_entry entry;
	struct wire_match match;
};

static void check_entry(const struct wire_entry *entry)
{
	if (entry->type >= WIRE_FILE_TYPE_COUNT || entry->perm > 07777 || entry->path.len == 0 ||
	    strlen(entry->path.ptr) != entry->path.len ||
	    strlen(entry->target.ptr) != entry->target.len)
		abort();
}

static void check_match(const struct wire_match *match)
{
	if (match->line == 0 || match->column == 0 || match->text.len > 1024 ||
	    strlen(match->path.ptr) != match->path.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf again;
	const struct wire_record *record;
	union any_record value;
	struct view rest;
	struct error err;

	buf_init(&again, 1 << 20);
	if (size == 0 || size > WIRE_FRAME_MAX)
		return 0;
	record = data[0] % 2 == 0 ? &wire_entry_record : &wire_match_record;
	rest = (struct view){ (const char *)data + 1, size - 1 };
	while (rest.len != 0) {
		struct view before = rest;

		if (wire_record_decode(record, &rest, &value, &err) < 0) {
			if (rest.ptr != before.ptr || rest.len != before.len)
				abort();
			break;
		}
		if (rest.len >= before.len || rest.ptr + rest.len != before.ptr + before.len)
			abort();
		if (record == &wire_entry_record)
			check_entry(&value.entry);
		else
			check_match(&value.match);
		if (wire_record_encode(record, &value, &again, &err) < 0)
			abort();
	}
	if (again.len != size - 1 - rest.len ||
	    (again.len != 0 && memcmp(again.ptr, data + 1, again.len) != 0))
		abort();
	return 0;
}
