#include "unit/wire/sample.h"

uint64_t sample_number(struct sample *s) /* xorshift64* */
{
	s->seed ^= s->seed >> 12;
	s->seed ^= s->seed << 25;
	s->seed ^= s->seed >> 27;
	return s->seed * 0x2545f4914f6cdd1d;
}

uint64_t sample_below(struct sample *s, uint64_t count)
{
	return count == 0 ? 0 : sample_number(s) % count;
}

void sample_init(struct sample *s, uint64_t seed)
{
	s->seed = seed * 2 + 1;
	s->used = 0;
	for (int i = 0; i < 8; i++)
		(void)sample_number(s);
}

uint64_t sample_between(struct sample *s, uint64_t min, uint64_t max)
{
	uint64_t span = max - min;

	switch (sample_below(s, 6)) {
	case 0:
		return min;
	case 1:
		return max;
	case 2:
		return min + sample_below(s, span < 2 ? span + 1 : 2);
	case 3:
		return max - sample_below(s, span < 2 ? span + 1 : 2);
	default:
		return span == UINT64_MAX ? sample_number(s) : min + sample_below(s, span + 1);
	}
}

/* Mostly a short length, sometimes any length that the field allows. */
static size_t sample_len(struct sample *s, const struct wire_field *field)
{
	uint64_t few = field->min + sample_below(s, 20);

	if (sample_below(s, 8) == 0)
		return (size_t)sample_between(s, field->min, field->max);
	return (size_t)(few < field->max ? few : field->max);
}

static struct view sample_bytes(struct sample *s, size_t len, bool nul)
{
	char *at = s->pool + s->used;

	assert_true(len < sizeof s->pool - s->used);
	for (size_t i = 0; i < len; i++) {
		at[i] = (char)sample_number(s);
		if (at[i] == '\0' && !nul)
			at[i] = 'x';
	}
	s->used += len;
	return (struct view){ at, len };
}

/* The texts are short if there are many, so that most lists fit into a frame. */
static struct wire_texts sample_texts(struct sample *s, const struct wire_field *field)
{
	size_t count = sample_len(s, field);
	struct wire_texts list = { count, { s->pool + s->used, 0 } };

	for (size_t i = 0; i < count; i++) {
		size_t len = sample_below(s, 24000 / count < 400 ? 24000 / count : 400);
		char *at = s->pool + s->used;

		at[0] = (char)(len >> 8);
		at[1] = (char)len;
		s->used += 2;
		(void)sample_bytes(s, len, false);
		s->pool[s->used++] = '\0';
		list.items.len += len + 3;
	}
	return list;
}

static void put_value(struct sample *s, const struct wire_field *field, char *member)
{
	uint64_t number = sample_between(s, field->min, field->max);
	size_t len;

	switch (field->kind) {
	case WIRE_U8:
	case WIRE_ENUM:
		*(uint8_t *)member = (uint8_t)number;
		break;
	case WIRE_FLAGS:
		*(uint8_t *)member = (uint8_t)(sample_number(s) & field->max);
		break;
	case WIRE_U16:
		*(uint16_t *)(void *)member = (uint16_t)number;
		break;
	case WIRE_U32:
		*(uint32_t *)(void *)member = (uint32_t)number;
		break;
	case WIRE_U64:
		*(uint64_t *)(void *)member = number;
		break;
	case WIRE_TEXT:
	case WIRE_BYTES:
	case WIRE_REST:
		*(struct view *)(void *)member = sample_bytes(s, sample_len(s, field),
		                                              field->kind != WIRE_TEXT);
		break;
	case WIRE_TEXTS:
		*(struct wire_texts *)(void *)member = sample_texts(s, field);
		break;
	case WIRE_NUMBERS:
		len = sample_len(s, field);
		*(struct wire_numbers *)(void *)member = (struct wire_numbers){
			len, sample_bytes(s, 4 * len, true)
		};
		break;
	case WIRE_LIMITS:
		len = sample_len(s, field);
		*(struct wire_limits *)(void *)member = (struct wire_limits){
			len, sample_bytes(s, WIRE_LIMIT_SIZE * len, true)
		};
		break;
	}
}

void sample_record(struct sample *s, const struct wire_record *record, void *out)
{
	for (size_t i = 0; i < record->count; i++)
		put_value(s, &record->fields[i], (char *)out + record->fields[i].offset);
}

static bool sample_same_view(struct view a, struct view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static size_t sample_size(enum wire_field_kind kind) /* of a number's member */
{
	return kind == WIRE_U64 ? 8 : kind == WIRE_U32 ? 4 : kind == WIRE_U16 ? 2 : 1;
}

bool sample_same(const struct wire_field *field, const char *a, const char *b)
{
	const struct wire_texts *left = (const void *)a; /* as any list */
	const struct wire_texts *right = (const void *)b;

	switch (field->kind) {
	case WIRE_TEXT:
	case WIRE_BYTES:
	case WIRE_REST:
		return sample_same_view(*(const struct view *)(const void *)a,
		                        *(const struct view *)(const void *)b);
	case WIRE_TEXTS:
	case WIRE_NUMBERS:
	case WIRE_LIMITS:
		return left->count == right->count && sample_same_view(left->items, right->items);
	case WIRE_U8:
	case WIRE_U16:
	case WIRE_U32:
	case WIRE_U64:
	case WIRE_FLAGS:
	case WIRE_ENUM:
		break;
	}
	return memcmp(a, b, sample_size(field->kind)) == 0;
}
