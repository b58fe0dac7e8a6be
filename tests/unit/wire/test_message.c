#include "unit/wire/sample.h"

enum { ROUNDS = 500, CORRUPTIONS = 60, EVERY_PREFIX = 300 };

static struct sample sample;

static char *body_of(struct wire_message *message)
{
	return (char *)&message->hello;
}

static struct wire_frame cut_whole(const struct buf *buf)
{
	struct view rest = buf_view(buf);
	struct wire_frame frame;
	struct error err;

	assert_int_equal(wire_frame_cut(&rest, &frame, &err), 1);
	assert_int_equal(rest.len, 0);
	return frame;
}

/* Each accepted payload has one meaning: encoding the decoded message gives the same bytes. */
static void check_same_bytes(const struct wire_message *message, struct view payload)
{
	AUTO_BUF struct buf again;
	struct error err;

	buf_init(&again, WIRE_FRAME_MAX);
	CHECK_OK(wire_encode(message, 7, 0, &again, &err), err);
	assert_int_equal(again.len, WIRE_HEADER + payload.len);
	if (payload.len != 0)
		assert_memory_equal(again.ptr + WIRE_HEADER, payload.ptr, payload.len);
}

static bool ends_in_rest(const struct wire_spec *spec)
{
	return spec->record.count != 0 &&
	       spec->record.fields[spec->record.count - 1].kind == WIRE_REST;
}

/* The prefix is in an allocation of exactly its size, so that ASan detects a read beyond it. */
static void check_prefix(const struct wire_frame *whole, size_t len)
{
	const struct wire_spec *spec = wire_spec(whole->type);
	struct wire_frame frame = *whole;
	struct wire_message message;
	struct error err = { .msg = "" };
	char *exact = malloc(len + (len == 0));

	assert_non_null(exact);
	memcpy(exact, whole->payload.ptr, len);
	frame.payload = (struct view){ exact, len };
	if (wire_decode(&frame, &message, &err) == 0) {
		if (!ends_in_rest(spec))
			fail_msg("%s: %zu of %zu bytes are accepted", spec->name, len,
			         whole->payload.len);
		check_same_bytes(&message, frame.payload);
	} else {
		assert_int_equal(strncmp(err.msg, spec->name, strlen(spec->name)), 0);
	}
	free(exact);
}

static void check_prefixes(const struct wire_frame *frame)
{
	size_t len = frame->payload.len;

	for (size_t i = 0; i < len && i < EVERY_PREFIX; i++)
		check_prefix(frame, i);
	for (size_t i = 0; i < 8 && len > EVERY_PREFIX; i++) {
		check_prefix(frame, sample_below(&sample, len));
		check_prefix(frame, len - 1 - i);
	}
}

static void check_corruptions(const struct wire_frame *whole)
{
	char *bytes = malloc(whole->payload.len + 1);

	assert_non_null(bytes);
	memcpy(bytes, whole->payload.ptr, whole->payload.len);
	for (int i = 0; i < CORRUPTIONS && whole->payload.len != 0; i++) {
		struct wire_frame frame = *whole;
		struct wire_message message;
		struct error err;
		/* Every other change is near the start, where most lengths and counts are. */
		size_t at = sample_below(
		        &sample, i % 2 == 0 || whole->payload.len < 64 ? whole->payload.len : 64);
		char saved = bytes[at];

		bytes[at] = (char)(bytes[at] ^ (1 + (int)sample_below(&sample, 255)));
		frame.payload = (struct view){ bytes, whole->payload.len };
		if (wire_decode(&frame, &message, &err) == 0)
			check_same_bytes(&message, frame.payload);
		bytes[at] = saved;
	}
	free(bytes);
}

static void check_fields(const struct wire_spec *spec, struct wire_message *sent,
                         struct wire_message *got)
{
	for (size_t i = 0; i < spec->record.count; i++) {
		const struct wire_field *field = &spec->record.fields[i];

		if (!sample_same(field, body_of(sent) + field->offset,
		                 body_of(got) + field->offset))
			fail_msg("%s: %s is another", spec->name, field->name);
	}
}

/* False: the random message does not fit into a frame. */
static bool round_trip(uint8_t type, uint64_t seed)
{
	const struct wire_spec *spec = wire_spec(type);
	AUTO_BUF struct buf out;
	struct wire_message sent = { .type = type };
	struct wire_message got;
	struct wire_frame frame;
	struct error err;

	sample_init(&sample, seed);
	sample_record(&sample, &spec->record, body_of(&sent));
	buf_init(&out, 4 * WIRE_FRAME_MAX);
	if (wire_encode(&sent, 0x01020304, 3, &out, &err) < 0) {
		assert_non_null(strstr(err.msg, "at most 65528 fit into a message"));
		assert_int_equal(out.len, 0);
		return false;
	}
	frame = cut_whole(&out);
	assert_int_equal(frame.type, type);
	assert_int_equal(frame.channel, 3);
	assert_int_equal(frame.stream, 0x01020304);
	CHECK_OK(wire_decode(&frame, &got, &err), err);
	assert_int_equal(got.type, type);
	check_fields(spec, &sent, &got);
	if (seed % 5 == 0) {
		check_prefixes(&frame);
		check_corruptions(&frame);
	}
	return true;
}

static void every_message_arrives_as_it_was_sent(void **state)
{
	unsigned messages = 0;

	for (unsigned type = 0; type <= UINT8_MAX; type++) {
		const struct wire_spec *spec = wire_spec((uint8_t)type);
		unsigned fit = 0;

		if (spec == NULL)
			continue;
		messages++;
		for (uint64_t i = 0; i < ROUNDS; i++)
			fit += round_trip((uint8_t)type, type * 1000 + i);
		/* Of all messages only EXEC can be larger than a frame. */
		if (type == WIRE_EXEC ? fit < ROUNDS / 2 : fit != ROUNDS)
			fail_msg("%s: %u of %d fit", spec->name, fit, ROUNDS);
	}
	assert_int_equal(messages, 37);
}

static void records_arrive_as_they_were_sent(void **state)
{
	static const struct wire_record *const records[] = { &wire_entry_record,
		                                             &wire_match_record };
	union {
		struct wire_entry entry;
		struct wire_match match;
	} sent, got;

	for (uint64_t i = 0; i < 2 * ROUNDS; i++) {
		const struct wire_record *record = records[i % 2];
		AUTO_BUF struct buf out;
		struct view rest;
		struct error err;

		sample_init(&sample, i);
		buf_init(&out, WIRE_RECORDS_MAX); /* the largest one fits into a frame of them */
		sample_record(&sample, record, &sent);
		CHECK_OK(wire_record_encode(record, &sent, &out, &err), err);
		rest = buf_view(&out);
		CHECK_OK(wire_record_decode(record, &rest, &got, &err), err);
		assert_int_equal(rest.len, 0);
		for (size_t f = 0; f < record->count; f++)
			assert_true(sample_same(&record->fields[f],
			                        (char *)&sent + record->fields[f].offset,
			                        (char *)&got + record->fields[f].offset));
		for (size_t len = 0; len < out.len && len < EVERY_PREFIX; len++) {
			rest = (struct view){ out.ptr, len };
			assert_int_equal(wire_record_decode(record, &rest, &got, &err), -1);
			assert_int_equal(rest.len, len);
		}
	}
}

static void bytes_after_the_last_field_are_refused(void **state)
{
	for (unsigned type = 0; type <= UINT8_MAX; type++) {
		const struct wire_spec *spec = wire_spec((uint8_t)type);
		struct wire_message message = { .type = type };
		AUTO_BUF struct buf out;
		struct wire_frame frame;
		struct error err;
		char want[80];

		buf_init(&out, 4 * WIRE_FRAME_MAX);
		if (spec == NULL || ends_in_rest(spec))
			continue;
		do {
			sample.used = 0;
			sample_record(&sample, &spec->record, body_of(&message));
		} while (wire_encode(&message, 0, 0, &out, &err) < 0);
		CHECK_OK(buf_add(&out, VIEW("abc"), &err), err);
		frame = (struct wire_frame){ .type = (uint8_t)type,
			                     .payload = { out.ptr + WIRE_HEADER,
			                                  out.len - WIRE_HEADER } };
		(void)snprintf(want, sizeof want, "%s: 3 bytes too many", spec->name);
		CHECK_ERROR(wire_decode(&frame, &message, &err), err, ERR_SYNTAX, want);
	}
}

/* Type 0x110 must not be encoded as 0x10, which is DATA. */
static void unknown_types_are_refused(void **state)
{
	for (unsigned type = 0; type <= 0x110; type++) {
		struct wire_frame frame = { .type = (uint8_t)type };
		struct wire_message message = { .type = type };
		AUTO_BUF struct buf out;
		struct error err;
		char want[80];

		buf_init(&out, 100);
		if (type <= UINT8_MAX && wire_spec((uint8_t)type) != NULL)
			continue;
		(void)snprintf(want, sizeof want, "message %#x is unknown", type);
		if (type <= UINT8_MAX)
			CHECK_ERROR(wire_decode(&frame, &message, &err), err, ERR_SYNTAX, want);
		CHECK_ERROR(wire_encode(&message, 0, 0, &out, &err), err, ERR_INVALID, want);
		assert_int_equal(out.len, 0);
	}
}

static const struct {
	uint8_t type;
	struct view payload;
	const char *msg;
	enum error_kind error;
} refused[] = {
	{ WIRE_HELLO, VIEW_INIT("BJAS"), "HELLO: magic is 1112162643, not 1112162642", ERR_LIMIT },
	{ WIRE_HELLO, VIEW_INIT("BJAR\x00\x03"), "HELLO: version is 3, not 2", ERR_LIMIT },
	{ WIRE_PING, VIEW_INIT("1234567"), "PING: token is cut off", ERR_SYNTAX },
	{ WIRE_DATA, VIEW_INIT(""), "DATA: bytes has 0 bytes, not 1 to 65528", ERR_INVALID },
	{ WIRE_CREDIT, VIEW_INIT("\0\0\0\0"), "CREDIT: bytes is 0, not 1 to 16777216",
	  ERR_INVALID },
	{ WIRE_CREDIT, VIEW_INIT("\x01\x00\x00\x01"),
	  "CREDIT: bytes is 16777217, not 1 to 16777216", ERR_LIMIT },
	{ WIRE_END, VIEW_INIT("x"), "END: 1 bytes too many", ERR_SYNTAX },
	{ WIRE_SIGNAL, VIEW_INIT("\x41"), "SIGNAL: number is 65, not 1 to 64", ERR_LIMIT },
	{ WIRE_READ, VIEW_INIT("\x02"), "READ: unit is 2, not 0 to 1", ERR_LIMIT },
	{ WIRE_STAT, VIEW_INIT("\x02\x00\x01/\0"), "STAT: flags has unknown bits: 0x2",
	  ERR_INVALID },
	{ WIRE_STAT, VIEW_INIT("\x00\x00\x00\0"), "STAT: path has 0 bytes, not 1 to 4095",
	  ERR_INVALID },
	{ WIRE_STAT,
	  VIEW_INIT("\x00\x00\x03"
	            "a\0b"
	            "\0"),
	  "STAT: path has a NUL within", ERR_INVALID },
	{ WIRE_STAT,
	  VIEW_INIT("\x00\x00\x03"
	            "abcd"),
	  "STAT: path does not end in a NUL", ERR_SYNTAX },
};

static void error_names_message_and_field(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct wire_frame frame = { .type = refused[i].type,
			                    .payload = refused[i].payload };
		struct wire_message message;
		struct error err;

		CHECK_ERROR(wire_decode(&frame, &message, &err), err, refused[i].error,
		            refused[i].msg);
	}
}

static void message_larger_than_a_frame_is_refused(void **state)
{
	static const char text[40000] = { [0 ... 39999] = 'x' };
	AUTO_BUF struct buf argv, env, out;
	struct wire_message exec = { .type = WIRE_EXEC };
	struct wire_message stat = { .type = WIRE_STAT };
	struct error err;

	buf_init(&argv, 100000);
	buf_init(&env, 100000);
	buf_init(&out, 200000);
	CHECK_OK(buf_add(&out, VIEW("before"), &err), err);
	CHECK_OK(wire_texts_add(&exec.exec.argv, &argv, (struct view){ text, 40000 }, &err), err);
	CHECK_OK(wire_texts_add(&exec.exec.env, &env, (struct view){ text, 40000 }, &err), err);
	CHECK_ERROR(wire_encode(&exec, 1, 0, &out, &err), err, ERR_LIMIT,
	            "EXEC: 80030 bytes, at most 65528 fit into a message");
	CHECK_VIEW(buf_view(&out), "before");
	CHECK_ERROR(wire_encode(&stat, 1, 0, &out, &err), err, ERR_INVALID,
	            "STAT: path has 0 bytes, not 1 to 4095");
	CHECK_VIEW(buf_view(&out), "before");
}

static void full_buffer_holds_no_partial_message(void **state)
{
	const struct wire_message ping = { .type = WIRE_PING };
	struct error err;

	for (size_t max = 1; max < WIRE_HEADER + 8; max++) {
		AUTO_BUF struct buf out;
		char want[40];

		buf_init(&out, max);
		(void)snprintf(want, sizeof want, "%smore than %zu bytes",
		               max < WIRE_HEADER ? "" : "PING: ", max);
		CHECK_ERROR(wire_encode(&ping, 0, 0, &out, &err), err, ERR_LIMIT, want);
		assert_int_equal(out.len, 0);
	}
}

static void version_of_any_hello_is_found(void **state)
{
	static const struct {
		struct view payload;
		int want;
	} cases[] = {
		{ VIEW_INIT("BJAR\x00\x01"), 1 },
		{ VIEW_INIT("BJAR\xff\xffwhatever came to be"), 65535 },
		{ VIEW_INIT("BJAR\x00"), -1 },
		{ VIEW_INIT("BJAS\x00\x01"), -1 },
		{ VIEW_INIT(""), -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(wire_hello_version(cases[i].payload), cases[i].want);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(every_message_arrives_as_it_was_sent),
		TEST(records_arrive_as_they_were_sent),
		TEST(bytes_after_the_last_field_are_refused),
		TEST(unknown_types_are_refused),
		TEST(error_names_message_and_field),
		TEST(message_larger_than_a_frame_is_refused),
		TEST(full_buffer_holds_no_partial_message),
		TEST(version_of_any_hello_is_found),
	};

	return RUN_TESTS("message", all);
}
