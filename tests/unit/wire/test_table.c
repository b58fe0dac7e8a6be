/* test_table.c - properties that every row of the table has, so that code may rely on them. */
#include "unit/test.h"
#include "wire/table.h"

#define EACH_TYPE(type)                                                                            \
	for (unsigned type = 0; type <= UINT8_MAX; type++)                                         \
		if (wire_spec((uint8_t)type) != NULL)

static const struct wire_spec *spec_of(unsigned type)
{
	return wire_spec((uint8_t)type);
}

static void every_name_is_unique(void **state)
{
	EACH_TYPE(a)
	{
		assert_true(spec_of(a)->name[0] != '\0' && spec_of(a)->summary[0] != '\0');
		EACH_TYPE(b)
		{
			if (a != b)
				assert_string_not_equal(spec_of(a)->name, spec_of(b)->name);
		}
	}
	for (int a = 0; a < WIRE_KIND_COUNT; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(wire_kind((enum wire_kind)a)->name,
			                        wire_kind((enum wire_kind)b)->name);
	for (int i = 0; i < WIRE_PHASE_COUNT; i++)
		assert_non_null(wire_phase_name((enum wire_phase)i));
}

/* A message is for the channel itself, opens a stream, or is sent on one. */
static void every_message_has_one_place(void **state)
{
	unsigned channel = 0, openers = 0, others = 0;

	EACH_TYPE(type)
	{
		const struct wire_spec *spec = spec_of(type);
		bool control = spec->kinds == 1u << WIRE_KIND_NONE;

		if (control || spec->opens != WIRE_KIND_NONE)
			assert_int_not_equal(spec->from, WIRE_FROM_EITHER);
		if (control) {
			channel++;
			assert_int_equal(spec->opens, WIRE_KIND_NONE);
			assert_true(spec->phase <= WIRE_PHASE_OPEN);
		} else if (spec->opens != WIRE_KIND_NONE) {
			openers++;
			assert_true(spec->opens < WIRE_KIND_COUNT);
			assert_int_equal(spec->kinds, 0);
			assert_int_equal(spec->phase, WIRE_PHASE_OPEN);
			assert_int_equal(spec->from, WIRE_FROM_SERVER);
		} else {
			others++;
			assert_true(spec->kinds != 0 && spec->kinds < 1u << WIRE_KIND_COUNT);
			assert_int_equal(spec->kinds & 1u << WIRE_KIND_NONE, 0);
			assert_true(spec->phase >= WIRE_PHASE_STARTING);
		}
	}
	assert_int_equal(channel, 6);
	assert_int_equal(openers, 16);
	assert_int_equal(others, 15);
}

static void only_messages_on_streams_use_credit_or_are_sent_once(void **state)
{
	EACH_TYPE(type)
	{
		const struct wire_spec *spec = spec_of(type);
		bool on_stream = spec->opens == WIRE_KIND_NONE &&
		                 spec->kinds != 1u << WIRE_KIND_NONE;

		if (spec->uses_credit)
			assert_true(spec->on_channel);
		if (spec->uses_credit || spec->on_channel || spec->once)
			assert_true(on_stream);
		/* struct wire_stream has a mask of two words for them. */
		assert_true(type < 128);
	}
}

static void every_kind_can_be_opened_ended_and_carries_bytes(void **state)
{
	for (int kind = WIRE_KIND_RUN; kind < WIRE_KIND_COUNT; kind++) {
		unsigned openers = 0, ends = 0, starts = 0;

		EACH_TYPE(type)
		{
			openers += spec_of(type)->opens == (enum wire_kind)kind;
			if (spec_of(type)->kinds & 1u << kind) {
				starts += spec_of(type)->phase == WIRE_PHASE_STARTING;
				ends += type == WIRE_DONE || type == WIRE_FAILED ||
				        type == WIRE_CLOSE;
			}
		}
		assert_true(openers >= 1);
		assert_int_equal(ends, 3);
		assert_int_equal(starts, wire_kind((enum wire_kind)kind)->start != NULL);
		assert_true(wire_kind((enum wire_kind)kind)->channels != 0);
		assert_true(wire_kind((enum wire_kind)kind)->channels < 1u << WIRE_CHANNELS);
	}
	assert_int_equal(wire_kind(WIRE_KIND_NONE)->channels, 0);
}

/* The most a field takes on the wire; lists of texts have no limit of their own. */
static uint64_t largest(const struct wire_field *field)
{
	switch (field->kind) {
	case WIRE_U8:
	case WIRE_FLAGS:
	case WIRE_ENUM:
		return 1;
	case WIRE_U16:
		return 2;
	case WIRE_U32:
		return 4;
	case WIRE_U64:
		return 8;
	case WIRE_TEXT:
		return 2 + field->max + 1;
	case WIRE_BYTES:
		return 2 + field->max;
	case WIRE_TEXTS:
		return UINT32_MAX;
	case WIRE_NUMBERS:
		return 2 + 4 * field->max;
	case WIRE_LIMITS:
		return 2 + WIRE_LIMIT_SIZE * field->max;
	case WIRE_REST:
		return field->max;
	}
	return UINT64_MAX;
}

static uint64_t largest_record(const struct wire_record *record)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < record->count; i++)
		sum += largest(&record->fields[i]);
	return sum;
}

/* EXEC is the exception: its arguments and variables may be longer than a frame, and wire_encode()
 * refuses that. */
static void every_message_but_exec_fits_into_a_frame(void **state)
{
	EACH_TYPE(type)
	{
		uint64_t most = largest_record(&spec_of(type)->record);

		if (type == WIRE_EXEC ? most <= WIRE_PAYLOAD_MAX : most > WIRE_PAYLOAD_MAX)
			fail_msg("%s takes up to %lu bytes", spec_of(type)->name,
			         (unsigned long)most);
		/* A sender may wait for credit of 32 KiB; every window must reach that. */
		if (spec_of(type)->uses_credit)
			assert_true(most <= WIRE_WINDOW);
	}
	assert_true(largest_record(&wire_entry_record) <= WIRE_RECORDS_MAX);
	assert_true(largest_record(&wire_match_record) <= WIRE_RECORDS_MAX);
}

static uint64_t widest(enum wire_field_kind kind) /* what the bytes before it can say */
{
	return kind == WIRE_U8 || kind == WIRE_FLAGS || kind == WIRE_ENUM ? UINT8_MAX
	       : kind == WIRE_U32                                         ? UINT32_MAX
	       : kind == WIRE_U64                                         ? UINT64_MAX
	                                                                  : UINT16_MAX;
}

static size_t member_size(enum wire_field_kind kind)
{
	switch (kind) {
	case WIRE_U8:
	case WIRE_FLAGS:
	case WIRE_ENUM:
		return 1;
	case WIRE_U16:
		return 2;
	case WIRE_U32:
		return 4;
	case WIRE_U64:
		return 8;
	case WIRE_TEXT:
	case WIRE_BYTES:
	case WIRE_REST:
		return sizeof(struct view);
	case WIRE_TEXTS:
	case WIRE_NUMBERS:
	case WIRE_LIMITS:
		break;
	}
	return sizeof(struct wire_texts);
}

/* Members stand in the struct in the order of the table, so none is left out or hit twice. */
static void check_record(const char *name, const struct wire_record *record)
{
	size_t at = 0;

	for (size_t i = 0; i < record->count; i++) {
		const struct wire_field *field = &record->fields[i];
		size_t size = member_size(field->kind);

		if (field->min > field->max || field->max > widest(field->kind))
			fail_msg("%s: the limits of %s", name, field->name);
		if ((field->kind == WIRE_FLAGS || field->kind == WIRE_ENUM) && field->min != 0)
			fail_msg("%s: %s does not begin at 0", name, field->name);
		if (field->offset + size > record->size)
			fail_msg("%s: %s is not within its struct", name, field->name);
		if (field->kind == WIRE_REST && i != record->count - 1)
			fail_msg("%s: something behind %s", name, field->name);
		at += -at % (size < 8 ? size : 8); /* padding */
		if (field->offset != at)
			fail_msg("%s: %s is not the next member", name, field->name);
		at += size;
	}
	if (record->size - at >= 8)
		fail_msg("%s: a member behind the last field", name);
}

static void every_field_fits_its_member(void **state)
{
	EACH_TYPE(type)
	{
		check_record(spec_of(type)->name, &spec_of(type)->record);
		assert_true(spec_of(type)->record.size <=
		            sizeof(struct wire_message) - offsetof(struct wire_message, hello));
	}
	check_record("entry", &wire_entry_record);
	check_record("match", &wire_match_record);
	assert_true(wire_entry_record.count != 0 && wire_match_record.count != 0);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(every_name_is_unique),
		TEST(every_message_has_one_place),
		TEST(only_messages_on_streams_use_credit_or_are_sent_once),
		TEST(every_kind_can_be_opened_ended_and_carries_bytes),
		TEST(every_message_but_exec_fits_into_a_frame),
		TEST(every_field_fits_its_member),
	};

	return RUN_TESTS("table", all);
}
