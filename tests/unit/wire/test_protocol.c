/* test_protocol.c - generates the reference section of PROTOCOL.md from the tables and compares it
 * with the file. `sh scripts/protocol.sh` rewrites the section. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/fd.h"
#include "unit/test.h"
#include "unit/wire/values.h"
#include "wire/stream_rules.h"

#define BEGIN_MARK "<!-- table: begin -->\n"
#define END_MARK   "<!-- table: end -->\n"

enum { PAGE_MAX = 1024 * 1024 };

/* --- rendering --------------------------------------------------------------------- */

static void say(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say(struct buf *out, const char *fmt, ...)
{
	char line[1000];
	struct error err;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof line);
	CHECK_OK(buf_add(out, (struct view){ line, (size_t)len }, &err), err);
}

static const struct {
	const char *name;
	uint64_t value;
	const char *what;
} constants[] = {
	{ "WIRE_MAGIC", WIRE_MAGIC, "\"BJAR\": the first four bytes of every HELLO's payload" },
	{ "WIRE_VERSION", WIRE_VERSION, "of this protocol" },
	{ "WIRE_HEADER", WIRE_HEADER, "bytes of a frame's header" },
	{ "WIRE_FRAME_MAX", WIRE_FRAME_MAX, "bytes of a frame, header included" },
	{ "WIRE_PAYLOAD_MAX", WIRE_PAYLOAD_MAX, "bytes of a payload" },
	{ "WIRE_STREAM_LAST", WIRE_STREAM_LAST, "highest number of a stream" },
	{ "WIRE_STREAMS_MAX", WIRE_STREAMS_MAX, "streams open at the same time" },
	{ "WIRE_WINDOW", WIRE_WINDOW, "credit every channel starts with, in bytes" },
	{ "WIRE_CREDIT_MAX", WIRE_CREDIT_MAX, "credit one channel may hold, in bytes" },
	{ "WIRE_RECORDS_MAX", WIRE_RECORDS_MAX, "bytes of one ENTRIES or MATCHES" },
	{ "WIRE_PATH_MAX", WIRE_PATH_MAX, "bytes of a path" },
	{ "WIRE_GROUPS_MAX", WIRE_GROUPS_MAX, "supplementary groups of a user" },
	{ "WIRE_LIMITS_MAX", WIRE_LIMITS_MAX, "resource limits of a program" },
	{ "WIRE_REASON_MAX", WIRE_REASON_MAX, "bytes of an error's text" },
	{ "WIRE_PATTERN_MAX", WIRE_PATTERN_MAX, "bytes of a pattern" },
	{ "WIRE_ARGS_MAX", WIRE_ARGS_MAX, "arguments, and variables, of a program" },
	{ "WIRE_ENTRIES_MAX", WIRE_ENTRIES_MAX, "entries or matches of one answer" },
	{ "WIRE_DEPTH_MAX", WIRE_DEPTH_MAX, "levels below a directory" },
};

static void say_constants(struct buf *out)
{
	say(out, "### Constants\n\n| name | value | what |\n|---|---:|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(constants); i++)
		say(out, "| %s | %" PRIu64 " | %s |\n", constants[i].name, constants[i].value,
		    constants[i].what);
}

static void say_kinds(struct buf *out)
{
	say(out, "\n### Kinds of streams\n\n| kind | opened by | channels | begins with |\n"
	         "|---|---|---|---|\n");
	for (int kind = WIRE_KIND_RUN; kind < WIRE_KIND_COUNT; kind++) {
		const struct wire_kind_spec *spec = wire_kind((enum wire_kind)kind);
		const char *comma = "";

		say(out, "| %s | ", spec->name);
		for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++)
			if (wire_spec((uint8_t)type) != NULL &&
			    wire_spec((uint8_t)type)->opens == (enum wire_kind)kind) {
				say(out, "%s%s", comma, wire_spec((uint8_t)type)->name);
				comma = ", ";
			}
		comma = " | ";
		for (unsigned c = 0; c < WIRE_CHANNELS; c++)
			if (spec->channels & 1u << c) {
				say(out, "%s%u", comma, c);
				comma = ", ";
			}
		say(out, " | %s |\n", spec->start != NULL ? spec->start : "nothing");
	}
}

static void say_place(struct buf *out, const struct wire_spec *spec)
{
	const char *comma = "";

	if (spec->opens != WIRE_KIND_NONE)
		return say(out, "opens a %s", wire_kind(spec->opens)->name);
	if (spec->kinds == 1u << WIRE_KIND_NONE)
		return say(out, "stream 0");
	for (int kind = WIRE_KIND_RUN; kind < WIRE_KIND_COUNT; kind++)
		if (spec->kinds & 1u << kind) {
			say(out, "%s%s", comma, wire_kind((enum wire_kind)kind)->name);
			comma = ", ";
		}
}

static const char *from_name(enum wire_from from)
{
	static const char *const names[WIRE_FROM_COUNT] = { "server", "agent", "either" };

	return names[from];
}

static void say_messages(struct buf *out)
{
	say(out, "\n### Messages\n\n| type | name | from | phase | where | rules |\n"
	         "|---|---|---|---|---|---|\n");
	for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++) {
		const struct wire_spec *spec = wire_spec((uint8_t)type);

		if (spec == NULL)
			continue;
		say(out, "| 0x%02x | %s | %s | %s | ", type, spec->name, from_name(spec->from),
		    wire_phase_name(spec->phase));
		say_place(out, spec);
		say(out, " |%s%s%s |\n", spec->on_channel ? " names a channel" : "",
		    spec->uses_credit ? ", uses credit" : "",
		    spec->once ? " once on a stream" : "");
	}
}

static const char *kind_name(enum wire_field_kind kind)
{
	static const char *const names[] = {
		[WIRE_U8] = "u8",           [WIRE_U16] = "u16",       [WIRE_U32] = "u32",
		[WIRE_U64] = "u64",         [WIRE_FLAGS] = "flags",   [WIRE_ENUM] = "enum",
		[WIRE_TEXT] = "text",       [WIRE_BYTES] = "bytes",   [WIRE_TEXTS] = "texts",
		[WIRE_NUMBERS] = "numbers", [WIRE_LIMITS] = "limits", [WIRE_REST] = "rest",
	};

	return names[kind];
}

static const char *layout(enum wire_field_kind kind)
{
	static const char *const layouts[] = {
		[WIRE_U8] = "1",
		[WIRE_U16] = "2",
		[WIRE_U32] = "4",
		[WIRE_U64] = "8",
		[WIRE_FLAGS] = "1",
		[WIRE_ENUM] = "1",
		[WIRE_TEXT] = "2 + n + 1",
		[WIRE_BYTES] = "2 + n",
		[WIRE_TEXTS] = "2 + each (2 + n + 1)",
		[WIRE_NUMBERS] = "2 + 4 n",
		[WIRE_LIMITS] = "2 + 17 n",
		[WIRE_REST] = "n",
	};

	return layouts[kind];
}

static bool is_number(enum wire_field_kind kind)
{
	return kind == WIRE_U8 || kind == WIRE_U16 || kind == WIRE_U32 || kind == WIRE_U64;
}

static bool is_list(enum wire_field_kind kind)
{
	return kind == WIRE_TEXTS || kind == WIRE_NUMBERS || kind == WIRE_LIMITS;
}

static uint64_t widest(enum wire_field_kind kind)
{
	return kind == WIRE_U8    ? UINT8_MAX
	       : kind == WIRE_U16 ? UINT16_MAX
	       : kind == WIRE_U32 ? UINT32_MAX
	                          : UINT64_MAX;
}

static void say_range(struct buf *out, const struct wire_field *field)
{
	if (field->kind == WIRE_FLAGS)
		return say(out, "bits 0x%02" PRIx64, field->max);
	if (is_number(field->kind) && field->min == field->max)
		return say(out, "always %#" PRIx64, field->max);
	if (is_number(field->kind) && field->min == 0 && field->max == widest(field->kind))
		return say(out, "any");
	say(out, "%" PRIu64 " to %" PRIu64 "%s", field->min, field->max,
	    is_list(field->kind)                                 ? " items"
	    : is_number(field->kind) || field->kind == WIRE_ENUM ? ""
	                                                         : " bytes");
}

static bool is_field(const char *message, const char *field, const char *name,
                     const struct wire_field *row)
{
	return strcmp(message, name) == 0 && strcmp(field, row->name) == 0;
}

static void say_meaning(struct buf *out, const char *name, const struct wire_field *field)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		if (is_field(notes[i].message, notes[i].field, name, field))
			say(out, "%s", notes[i].what);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (is_field(values[i].message, values[i].field, name, field)) {
			say(out, "%s%u: %s", comma, values[i].value, values[i].what);
			comma = "; ";
		}
}

static void say_record(struct buf *out, const char *name, const struct wire_record *record)
{
	if (record->count == 0)
		return say(out, "\nNo fields.\n");
	say(out, "\n| field | kind | bytes | allowed | meaning |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < record->count; i++) {
		const struct wire_field *field = &record->fields[i];

		say(out, "| %s | %s | %s | ", field->name, kind_name(field->kind),
		    layout(field->kind));
		say_range(out, field);
		say(out, " | ");
		say_meaning(out, name, field);
		say(out, " |\n");
	}
}

static void say_fields(struct buf *out)
{
	for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++) {
		const struct wire_spec *spec = wire_spec((uint8_t)type);

		if (spec == NULL)
			continue;
		say(out, "\n#### 0x%02x %s: %s\n", type, spec->name, spec->summary);
		say_record(out, spec->name, &spec->record);
	}
	say(out, "\n#### One entry, within ENTRIES\n");
	say_record(out, "entry", &wire_entry_record);
	say(out, "\n#### One match, within MATCHES\n");
	say_record(out, "match", &wire_match_record);
}

static void render(struct buf *out)
{
	say_constants(out);
	say_kinds(out);
	say_messages(out);
	say(out, "\n### Fields of each message\n");
	say_fields(out);
}

/* --- comparing --------------------------------------------------------------------- */

static const char *page_path(void)
{
	const char *path = getenv("PROTOCOL_MD");

	return path != NULL ? path : "PROTOCOL.md";
}

/* The section begins after the first mark and ends before the second. */
static void find_section(const struct buf *page, size_t *start, size_t *end)
{
	const char *first = strstr(buf_text(page), BEGIN_MARK);
	const char *last = strstr(buf_text(page), END_MARK);

	if (first == NULL || last == NULL || last < first)
		fail_msg("%s has no section between \"%.21s\" and \"%.19s\"", page_path(),
		         BEGIN_MARK, END_MARK);
	*start = (size_t)(first - page->ptr) + strlen(BEGIN_MARK);
	*end = (size_t)(last - page->ptr);
}

static void rewrite(const struct buf *page, size_t start, size_t end, const struct buf *section)
{
	FILE *file = fopen(page_path(), "w");

	assert_non_null(file);
	(void)fwrite(page->ptr, 1, start, file);
	(void)fwrite(section->ptr, 1, section->len, file);
	(void)fwrite(page->ptr + end, 1, page->len - end, file);
	assert_int_equal(fclose(file), 0);
}

static void compare(struct view have, struct view want)
{
	struct view old = { NULL, 0 }, new = { NULL, 0 };
	bool more_old, more_new;

	do {
		more_old = view_next_line(&have, &old);
		more_new = view_next_line(&want, &new);
		if (!more_old)
			old = VIEW("(nothing)");
		if (!more_new)
			new = VIEW("(nothing)");
		if (old.len != new.len || memcmp(old.ptr, new.ptr, old.len) != 0)
			fail_msg("%s is not what the tables say. It has\n  %.*s\nwhere they say\n"
			         "  %.*s\nRefresh it: sh scripts/protocol.sh",
			         page_path(), (int)old.len, old.ptr, (int)new.len, new.ptr);
	} while (more_old || more_new);
}

static void page_matches_the_tables(void **state)
{
	AUTO_BUF struct buf page, section;
	size_t start = 0, end = 0;
	struct error err;

	buf_init(&page, PAGE_MAX);
	buf_init(&section, PAGE_MAX);
	CHECK_OK(fd_read_file(page_path(), &page, &err), err);
	find_section(&page, &start, &end);
	render(&section);
	if (getenv("PROTOCOL_REWRITE") != NULL)
		rewrite(&page, start, end, &section);
	else
		compare((struct view){ page.ptr + start, end - start }, buf_view(&section));
}

/* Every flag and every value that the table allows has a meaning on the page. */
static void check_values(const char *name, const struct wire_record *record)
{
	for (size_t f = 0; f < record->count; f++) {
		const struct wire_field *field = &record->fields[f];
		uint64_t bits = 0, count = 0;

		for (size_t i = 0; i < ARRAY_LEN(values); i++)
			if (is_field(values[i].message, values[i].field, name, field)) {
				bits |= values[i].value;
				count += values[i].value == count;
			}
		if (field->kind == WIRE_FLAGS && bits != field->max)
			fail_msg("%s: %s has bits 0x%" PRIx64 ", values.h knows 0x%" PRIx64, name,
			         field->name, field->max, bits);
		if (field->kind == WIRE_ENUM && count != field->max + 1)
			fail_msg("%s: %s has %" PRIu64 " values, values.h knows %" PRIu64, name,
			         field->name, field->max + 1, count);
	}
}

/* A note on a field that was renamed would disappear from the page without an error. */
static bool is_in(const char *message, const char *field, const char *name,
                  const struct wire_record *record)
{
	for (size_t i = 0; i < record->count; i++)
		if (is_field(message, field, name, &record->fields[i]))
			return true;
	return false;
}

static bool is_known(const char *message, const char *field)
{
	for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++)
		if (wire_spec((uint8_t)type) != NULL &&
		    is_in(message, field, wire_spec((uint8_t)type)->name,
		          &wire_spec((uint8_t)type)->record))
			return true;
	return is_in(message, field, "entry", &wire_entry_record) ||
	       is_in(message, field, "match", &wire_match_record);
}

static void every_note_has_its_field(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		if (!is_known(notes[i].message, notes[i].field))
			fail_msg("values.h: no %s in %s", notes[i].field, notes[i].message);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (!is_known(values[i].message, values[i].field))
			fail_msg("values.h: no %s in %s", values[i].field, values[i].message);
}

static void every_flag_and_value_has_a_meaning(void **state)
{
	for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++)
		if (wire_spec((uint8_t)type) != NULL)
			check_values(wire_spec((uint8_t)type)->name,
			             &wire_spec((uint8_t)type)->record);
	check_values("entry", &wire_entry_record);
	check_values("match", &wire_match_record);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(page_matches_the_tables),
		TEST(every_note_has_its_field),
		TEST(every_flag_and_value_has_a_meaning),
	};

	return RUN_TESTS("protocol", all);
}
