#include "sandbox/interpreter/kernel_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"

enum {
	VERSION_MAX = 64,
	MIME_MAX = 128,
	PATH_LEN_MAX = 4096,
	LEFT_MAX = 1024,
	ID_MAX = 128,
	WAIT_MAX = 4,
	DIGITS_MAX = 20, /* of UINT64_MAX */
	SIGNAL_MAX = 64,
};

/* --- messages to the interpreter ------------------------------------------------------------- */

static void store_length(char out[4], size_t len)
{
	for (int i = 0; i < 4; i++)
		out[i] = (char)(unsigned char)(len >> (8 * i));
}

static int put_length(struct buf *out, size_t len, struct error *err)
{
	char bytes[4];

	if (len > UINT32_MAX)
		return error_set(err, ERR_LIMIT, "%zu bytes for an interpreter: the most is %u",
		                 len, UINT32_MAX);
	store_length(bytes, len);
	return buf_add(out, (struct view){ bytes, sizeof(bytes) }, err);
}

static int put_field(struct buf *out, struct view value, struct error *err)
{
	return put_length(out, value.len, err) < 0 || buf_add(out, value, err) < 0 ? -1 : 0;
}

static int put_text(struct buf *out, const char *text, struct error *err)
{
	return put_field(out, view_of(text), err);
}

static int put_number(struct buf *out, uint64_t number, struct error *err)
{
	char text[DIGITS_MAX + 1];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return put_text(out, text, err);
}

static int put_list(struct buf *out, const char *const *list, struct error *err)
{
	size_t count = 0;

	while (list != NULL && list[count] != NULL)
		count++;
	if (put_number(out, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (put_text(out, list[i], err) < 0)
			return -1;
	return 0;
}

/* A message without fields. */
static int put_message(struct buf *out, enum kernel_type type, struct view bytes, struct error *err)
{
	const size_t start = out->len;
	const char name = (char)type;

	if (buf_add(out, (struct view){ &name, 1 }, err) < 0 ||
	    put_length(out, bytes.len, err) < 0 || buf_add(out, bytes, err) < 0) {
		buf_truncate(out, start);
		return -1;
	}
	return 0;
}

int kernel_encode_boot(struct buf *out, struct view source, struct error *err)
{
	return put_message(out, KERNEL_BOOT, source, err);
}

int kernel_encode_mark(struct buf *out, const char mark[KERNEL_MARK_LEN], struct error *err)
{
	return put_message(out, KERNEL_MARK, (struct view){ mark, KERNEL_MARK_LEN }, err);
}

static int put_run_fields(struct buf *out, const struct kernel_run *run, struct error *err)
{
	if (put_text(out, run->is_cell ? "cell" : "fresh", err) < 0 ||
	    put_text(out, run->name, err) < 0 || put_text(out, run->cwd, err) < 0 ||
	    put_field(out, run->code, err) < 0 || put_number(out, run->has_stdin, err) < 0)
		return -1;
	if (put_field(out, run->has_stdin ? run->in : (struct view){ "", 0 }, err) < 0 ||
	    put_number(out, run->pixels, err) < 0 || put_number(out, run->bytes, err) < 0)
		return -1;
	if (put_list(out, run->args, err) < 0 || put_list(out, run->env, err) < 0)
		return -1;
	return run->data_limit != 0 ? put_number(out, run->data_limit, err) : 0;
}

int kernel_encode_run(struct buf *out, const struct kernel_run *run, struct error *err)
{
	const size_t start = out->len;

	/* The length is stored when all fields are in the buffer. */
	if (put_message(out, KERNEL_RUN, (struct view){ "", 0 }, err) < 0)
		return -1;
	if (put_run_fields(out, run, err) < 0) {
		buf_truncate(out, start);
		return -1;
	}
	if (out->len - start - KERNEL_HEADER > UINT32_MAX) {
		size_t len = out->len - start - KERNEL_HEADER;

		buf_truncate(out, start);
		return error_set(err, ERR_LIMIT, "%zu bytes for an interpreter: the most is %u",
		                 len, UINT32_MAX);
	}
	store_length(out->ptr + start + 1, out->len - start - KERNEL_HEADER);
	return 0;
}

/* --- messages from the interpreter ----------------------------------------------------------- */

static size_t load_length(const char *bytes)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* A message that is being decoded. `err` gets the first rule that is broken. */
struct decoder {
	const char *name; /* of the message, for errors */
	struct view rest;
	struct error *err;
};

static int fail_rule(struct decoder *d, const char *field, const char *how)
{
	(void)error_set(d->err, ERR_SYNTAX, "%s from the interpreter: %s %s", d->name, field, how);
	return -1;
}

static int take_field(struct decoder *d, const char *field, struct view *ret)
{
	size_t len;

	if (d->rest.len < 4)
		return fail_rule(d, field, "is missing");
	len = load_length(d->rest.ptr);
	/* By subtraction: 4 + len could overflow where size_t has 32 bits. */
	if (len > d->rest.len - 4)
		return fail_rule(d, field, "is cut off");
	*ret = (struct view){ d->rest.ptr + 4, len };
	d->rest.ptr += 4 + len;
	d->rest.len -= 4 + len;
	return 0;
}

static int take_text(struct decoder *d, const char *field, size_t max, struct view *ret)
{
	struct view text = { "", 0 };

	if (take_field(d, field, &text) < 0)
		return -1;
	if (text.len > max)
		return error_set(d->err, ERR_LIMIT,
		                 "%s from the interpreter: %s has %zu bytes, the most is %zu",
		                 d->name, field, text.len, max);
	/* The text becomes a part of a JSON answer, which must be UTF-8. */
	if (!utf8_is_valid(text))
		return fail_rule(d, field, "is not UTF-8");
	*ret = text;
	return 0;
}

/* A word of printable ASCII, which can stand in a line of an answer without escaping. */
static int take_word(struct decoder *d, const char *field, size_t max, struct view *ret)
{
	struct view word = { "", 0 };

	if (take_text(d, field, max, &word) < 0)
		return -1;
	if (word.len == 0)
		return fail_rule(d, field, "is empty");
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] <= ' ' || word.ptr[i] > '~')
			return fail_rule(d, field, "is not one word");
	*ret = word;
	return 0;
}

/* Decimal digits without a sign or leading zeros, at most `max`. */
static int take_number(struct decoder *d, const char *field, uint64_t max, uint64_t *ret)
{
	struct view text = { "", 0 };
	uint64_t value = 0;

	if (take_field(d, field, &text) < 0)
		return -1;
	if (text.len == 0 || (text.len > 1 && text.ptr[0] == '0'))
		return fail_rule(d, field, "is not a number");
	for (size_t i = 0; i < text.len; i++) {
		unsigned digit = (unsigned char)text.ptr[i] - (unsigned)'0';

		if (digit > 9)
			return fail_rule(d, field, "is not a number");
		/* value * 10 + digit > max, without an overflow. */
		if (digit > max || value > (max - digit) / 10)
			return error_set(d->err, ERR_LIMIT,
			                 "%s from the interpreter: %s is more than %llu", d->name,
			                 field, (unsigned long long)max);
		value = value * 10 + digit;
	}
	*ret = value;
	return 0;
}

static int take_ready(struct decoder *d, struct kernel_message *message)
{
	return take_word(d, "version", VERSION_MAX, &message->ready.version);
}

static int take_nothing(struct decoder *d, struct kernel_message *message)
{
	(void)d;
	(void)message;
	return 0;
}

/* The names become a part of a Python statement, within quotes. */
static int take_names(struct decoder *d, struct kernel_message *message)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                              "0123456789_ ";
	struct view names = { "", 0 };

	if (take_text(d, "names", KERNEL_NAMES_MAX, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.len; i++)
		if (names.ptr[i] == '\0' || strchr(allowed, names.ptr[i]) == NULL)
			return fail_rule(d, "names", "holds another character");
	message->names.names = names;
	return 0;
}

static int take_shown(struct decoder *d, struct kernel_message *message)
{
	struct view path = { "", 0 };

	if (take_word(d, "mime", MIME_MAX, &message->shown.mime) < 0 ||
	    take_text(d, "text", KERNEL_MESSAGE_MAX, &message->shown.text) < 0 ||
	    take_text(d, "path", PATH_LEN_MAX, &path) < 0)
		return -1;
	if (path.len != 0 && message->shown.text.len != 0)
		return fail_rule(d, "path", "stands beside text");
	if (path.len != 0 && path.ptr[0] != '/')
		return fail_rule(d, "path", "does not begin with /");
	/* A line break in a path would let code forge a status line of the answer. */
	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7f)
			return fail_rule(d, "path", "holds a control character");
	message->shown.path = path;
	if (d->rest.len == 0)
		return 0;
	return take_text(d, "id", ID_MAX, &message->shown.id);
}

static int take_cleared(struct decoder *d, struct kernel_message *message)
{
	struct view wait = { "", 0 };

	if (take_text(d, "id", ID_MAX, &message->cleared.id) < 0)
		return -1;
	if (d->rest.len == 0)
		return 0;
	if (take_text(d, "wait", WAIT_MAX, &wait) < 0)
		return -1;
	if (!view_is(wait, "wait"))
		return fail_rule(d, "wait", "is another word");
	message->cleared.waits = true;
	return 0;
}

static int take_error(struct decoder *d, struct kernel_message *message)
{
	if (take_text(d, "name", KERNEL_MESSAGE_MAX, &message->error.name) < 0 ||
	    take_text(d, "message", KERNEL_MESSAGE_MAX, &message->error.message) < 0)
		return -1;
	return take_text(d, "traceback", KERNEL_MESSAGE_MAX, &message->error.traceback);
}

static int take_left(struct decoder *d, struct kernel_message *message)
{
	return take_text(d, "commands", LEFT_MAX, &message->left.commands);
}

static int take_ended(struct decoder *d, struct kernel_message *message)
{
	uint64_t code = 0, signal = 0, is_exit = 0;

	if (take_number(d, "code", UINT8_MAX, &code) < 0 ||
	    take_number(d, "signal", SIGNAL_MAX, &signal) < 0 ||
	    take_number(d, "is_exit", 1, &is_exit) < 0 ||
	    take_number(d, "user_us", UINT64_MAX, &message->ended.user_us) < 0 ||
	    take_number(d, "system_us", UINT64_MAX, &message->ended.system_us) < 0 ||
	    take_number(d, "max_rss_kib", UINT64_MAX, &message->ended.max_rss_kib) < 0)
		return -1;
	/* wait(2) reports either an exit status or a signal. */
	if (code != 0 && signal != 0)
		return fail_rule(d, "signal", "stands beside a code");
	message->ended.code = (uint8_t)code;
	message->ended.signal = (uint8_t)signal;
	message->ended.is_exit = is_exit != 0;
	return 0;
}

struct message_type {
	enum kernel_type type;
	const char *name;
	int (*take)(struct decoder *d, struct kernel_message *message);
};

static const struct message_type message_types[] = {
	{ KERNEL_READY, "READY", take_ready },       { KERNEL_SHOWN, "SHOWN", take_shown },
	{ KERNEL_CLEARED, "CLEARED", take_cleared }, { KERNEL_ERROR, "ERROR", take_error },
	{ KERNEL_LEFT, "LEFT", take_left },          { KERNEL_ENDED, "ENDED", take_ended },
	{ KERNEL_TEXT, "TEXT", take_nothing },       { KERNEL_NAMES, "NAMES", take_names },
};

static const struct message_type *find_type(char type)
{
	for (size_t i = 0; i < ARRAY_LEN(message_types); i++)
		if (type == (char)message_types[i].type)
			return &message_types[i];
	return NULL;
}

int kernel_decode(struct view *bytes, struct kernel_message *ret, struct error *err)
{
	const struct message_type *type;
	struct kernel_message message;
	struct decoder d = { .err = err };

	if (bytes->len == 0)
		return 0;
	/* The type is checked before the length: the rest of an unknown message is not waited
	 * for. */
	type = find_type(bytes->ptr[0]);
	if (type == NULL)
		return error_set(err, ERR_SYNTAX,
		                 "a message from the interpreter has the unknown type %u",
		                 (unsigned char)bytes->ptr[0]);
	if (bytes->len < KERNEL_HEADER)
		return 0;
	d.name = type->name;
	/* A length of up to 4 GiB is refused here, before the server buffers the message. */
	d.rest = (struct view){ bytes->ptr + KERNEL_HEADER, load_length(bytes->ptr + 1) };
	if (d.rest.len > KERNEL_MESSAGE_MAX - KERNEL_HEADER)
		return error_set(err, ERR_LIMIT,
		                 "%s from the interpreter announces %zu bytes, the most is %d",
		                 type->name, d.rest.len, KERNEL_MESSAGE_MAX - KERNEL_HEADER);
	if (d.rest.len > bytes->len - KERNEL_HEADER)
		return 0;
	message = (struct kernel_message){ .type = type->type };
	if (type->take(&d, &message) < 0)
		return -1;
	/* Bytes behind the last field would be a message that another version of the protocol
	 * understands differently. */
	if (d.rest.len != 0)
		return error_set(err, ERR_SYNTAX, "%s from the interpreter has %zu bytes too many",
		                 type->name, d.rest.len);
	bytes->len -= (size_t)(d.rest.ptr - bytes->ptr);
	bytes->ptr = d.rest.ptr;
	*ret = message;
	return 1;
}
