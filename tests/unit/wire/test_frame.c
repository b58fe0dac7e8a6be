#include "unit/test.h"
#include "wire/frame.h"

static const struct {
	struct view bytes;
	struct wire_frame want;
	size_t left;
} whole[] = {
	{ VIEW_INIT("\x05\x00\x00\x00\x00\x00\x00\x00"), { 5, 0, 0, { "", 0 } }, 0 },
	{ VIEW_INIT("\x10\x02\x00\x03\x00\x00\x00\x07"
	            "abc"),
	  { 0x10, 2, 7, { "abc", 3 } },
	  0 },
	{ VIEW_INIT("\x10\x02\x00\x03\x00\x00\x00\x07"
	            "abcde"),
	  { 0x10, 2, 7, { "abc", 3 } },
	  2 },
	{ VIEW_INIT("\xff\xff\x00\x01\xff\xfe\xfd\xfc\x00"),
	  { 0xff, 0xff, 0xfffefdfc, { "", 1 } },
	  0 },
};

static void frame_is_cut_off_the_front(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		struct view bytes = whole[i].bytes;
		const struct wire_frame *want = &whole[i].want;
		struct wire_frame frame;
		struct error err = { .kind = ERR_KIND_COUNT };

		assert_int_equal(wire_frame_cut(&bytes, &frame, &err), 1);
		assert_int_equal(err.kind, ERR_KIND_COUNT);
		assert_int_equal(frame.type, want->type);
		assert_int_equal(frame.channel, want->channel);
		assert_int_equal(frame.stream, want->stream);
		assert_int_equal(frame.payload.len, want->payload.len);
		assert_memory_equal(frame.payload.ptr, want->payload.ptr, want->payload.len);
		assert_ptr_equal(frame.payload.ptr, whole[i].bytes.ptr + WIRE_HEADER);
		assert_int_equal(bytes.len, whole[i].left);
		assert_ptr_equal(bytes.ptr, whole[i].bytes.ptr + whole[i].bytes.len - bytes.len);
	}
}

/* Each prefix is in an allocation of exactly its size, so that ASan detects a read beyond it. */
static void partial_frame_is_not_cut(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		for (size_t len = 0; len < whole[i].bytes.len - whole[i].left; len++) {
			char *exact = malloc(len + (len == 0));
			struct view bytes = { exact, len };
			struct wire_frame frame = { .type = 99 };
			struct error err = { .kind = ERR_KIND_COUNT };

			assert_non_null(exact);
			memcpy(exact, whole[i].bytes.ptr, len);
			assert_int_equal(wire_frame_cut(&bytes, &frame, &err), 0);
			assert_ptr_equal(bytes.ptr, exact);
			assert_int_equal(bytes.len, len);
			assert_int_equal(frame.type, 99);
			free(exact);
		}
	}
}

static void largest_payload_is_accepted_and_none_larger(void **state)
{
	static char bytes[WIRE_FRAME_MAX + 8];
	struct view rest;
	struct wire_frame frame = { .type = 16, .payload = { NULL, WIRE_PAYLOAD_MAX } };
	struct error err;

	wire_frame_header(&frame, bytes);
	rest = (struct view){ bytes, WIRE_FRAME_MAX };
	assert_int_equal(wire_frame_cut(&rest, &frame, &err), 1);
	assert_int_equal(frame.payload.len, WIRE_PAYLOAD_MAX);
	assert_int_equal(rest.len, 0);

	for (unsigned len = WIRE_PAYLOAD_MAX + 1; len <= UINT16_MAX; len++) {
		char want[80];

		bytes[2] = (char)(len >> 8);
		bytes[3] = (char)len;
		(void)snprintf(want, sizeof want, "a frame with %u bytes of payload: at most 65528",
		               len);
		/* The error is returned as soon as the header is there. */
		rest = (struct view){ bytes, WIRE_HEADER };
		CHECK_ERROR(wire_frame_cut(&rest, &frame, &err), err, ERR_SYNTAX, want);
		assert_int_equal(rest.len, WIRE_HEADER);
	}
}

static void header_is_decoded_as_it_was_encoded(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		char header[WIRE_HEADER];

		wire_frame_header(&whole[i].want, header);
		assert_memory_equal(header, whole[i].bytes.ptr, WIRE_HEADER);
	}
}

static void write_a_payload_too_large(void)
{
	struct wire_frame frame = { .payload = { NULL, WIRE_PAYLOAD_MAX + 1 } };
	char header[WIRE_HEADER];

	wire_frame_header(&frame, header);
}

static void header_never_has_a_wrong_length(void **state)
{
	char out[4096];

	assert_non_null(strstr(must_abort(write_a_payload_too_large, out, sizeof out),
	                       "frame->payload.len <= WIRE_PAYLOAD_MAX"));
}

static void frames_are_cut_one_after_the_other(void **state)
{
	static const char bytes[] = "\x10\x00\x00\x01\x00\x00\x00\x01"
	                            "a"
	                            "\x11\x00\x00\x00\x00\x00\x00\x01"
	                            "\x10\x01\x00\x02\x00\x00\x00\x03"
	                            "bc"
	                            "\x10\x01\x00";
	static const unsigned want[][2] = { { 0x10, 1 }, { 0x11, 0 }, { 0x10, 2 } };
	struct view rest = VIEW(bytes);
	struct wire_frame frame;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(wire_frame_cut(&rest, &frame, &err), 1);
		assert_int_equal(frame.type, want[i][0]);
		assert_int_equal(frame.payload.len, want[i][1]);
	}
	assert_int_equal(wire_frame_cut(&rest, &frame, &err), 0);
	assert_int_equal(rest.len, 3);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(frame_is_cut_off_the_front),
		TEST(partial_frame_is_not_cut),
		TEST(largest_payload_is_accepted_and_none_larger),
		TEST(header_is_decoded_as_it_was_encoded),
		TEST(header_never_has_a_wrong_length),
		TEST(frames_are_cut_one_after_the_other),
	};

	return RUN_TESTS("frame", all);
}
