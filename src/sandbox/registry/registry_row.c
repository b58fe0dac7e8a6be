/* registry_row.c - reads the columns of a row into a struct, and checks every one of them (see
 * internal.h). */
#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "sandbox/registry/internal.h"
#include "store/store.h"

const char *const registry_states[SANDBOX_STATE_COUNT] = {
	[SANDBOX_CREATING] = "creating",
	[SANDBOX_AWAKE] = "awake",
	[SANDBOX_ASLEEP] = "asleep",
	[SANDBOX_DELETING] = "deleting",
};

void registry_write_mounts(const struct spec *spec, struct buf *text)
{
	struct error err;
	int r = 0;

	for (unsigned i = 0; i < spec->mount_count && r == 0; i++)
		r = buf_printf(text, &err, "%u %s\n", spec->mounts[i].source,
		               spec->mounts[i].target);
	assert(r == 0); /* REGISTRY_MOUNTS_MAX bytes hold the largest list */
	(void)r;
}

/* Copies the text up to the next `end` into `out`. False if there is no such byte, the text does
 * not fit, or it contains a zero byte. */
static bool cut_text(struct view *rest, char end, char *out, size_t size)
{
	const char *at = rest->len != 0 ? memchr(rest->ptr, end, rest->len) : NULL;
	size_t len;

	if (at == NULL)
		return false;
	len = (size_t)(at - rest->ptr);
	if (len >= size || memchr(rest->ptr, '\0', len) != NULL)
		return false;
	memcpy(out, rest->ptr, len);
	out[len] = '\0';
	rest->ptr += len + 1;
	rest->len -= len + 1;
	return true;
}

int registry_read_mounts(struct view text, struct spec *spec, struct error *err)
{
	uint8_t count = 0;

	for (; text.len != 0; count++) {
		struct spec_mount *mount = &spec->mounts[count];
		char number[6];
		uint64_t source;

		if (count == SPEC_MOUNTS_MAX)
			return error_set(err, ERR_SYNTAX, "more than %d mounts", SPEC_MOUNTS_MAX);
		if (!cut_text(&text, ' ', number, sizeof number) ||
		    !cut_text(&text, '\n', mount->target, sizeof mount->target))
			return error_set(err, ERR_SYNTAX, "mount %u is not a number and a target",
			                 count + 1);
		if (num_parse_u64(number, 0, UINT16_MAX, &source, err) < 0)
			return error_wrap(err, "mount %u", count + 1);
		mount->source = (uint16_t)source;
	}
	spec->mount_count = count;
	return 0;
}

static int read_text(struct store_row *columns, int *at, const char *name, char *ret, size_t size,
                     struct error *err)
{
	struct view text = store_row_bytes(columns, (*at)++);

	if (text.len >= size || memchr(text.ptr, '\0', text.len) != NULL)
		return error_set(err, ERR_SYSTEM, "'%s' is longer than %zu bytes or holds a zero",
		                 name, size - 1);
	memcpy(ret, text.ptr, text.len);
	ret[text.len] = '\0';
	return 0;
}

static int read_word(struct store_row *columns, int *at, const char *name,
                     const char *const words[], int count, int *ret, struct error *err)
{
	const char *text = store_row_text(columns, (*at)++);

	for (int i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0) {
			*ret = i;
			return 0;
		}
	return error_set(err, ERR_SYSTEM, "'%s' has the unknown value '%s'", name,
	                 UTF8_ESCAPED(view_of(text), 40));
}

static int read_bool(struct store_row *columns, int *at, const char *name, bool *ret,
                     struct error *err)
{
	int64_t value = store_row_int(columns, (*at)++);

	if (value != 0 && value != 1)
		return error_set(err, ERR_SYSTEM, "'%s' is neither 0 nor 1", name);
	*ret = value == 1;
	return 0;
}

static int read_seconds(struct store_row *columns, int *at, const char *name, uint32_t *ret,
                        struct error *err)
{
	int64_t value = store_row_int(columns, (*at)++);

	if (value < 0 || value > UINT32_MAX)
		return error_set(err, ERR_SYSTEM, "'%s' is not a number of seconds", name);
	*ret = (uint32_t)value;
	return 0;
}

size_t registry_list_size(const char *list)
{
	size_t size = 0;

	while (list[size] != '\0')
		size += strlen(list + size) + 1;
	return size;
}

/* Every string must have its zero byte and none may be empty: code that walks the list relies on
 * both. */
static int read_list(struct store_row *columns, int *at, const char *name, char *ret, size_t size,
                     struct error *err)
{
	struct view bytes = store_row_bytes(columns, (*at)++);

	if (bytes.len >= size || (bytes.len != 0 && bytes.ptr[bytes.len - 1] != '\0') ||
	    (bytes.len != 0 &&
	     (bytes.ptr[0] == '\0' || memmem(bytes.ptr, bytes.len, "\0\0", 2) != NULL)))
		return error_set(err, ERR_SYSTEM, "'%s' is not a list of names and values", name);
	memset(ret, 0, size);
	if (bytes.len != 0)
		memcpy(ret, bytes.ptr, bytes.len);
	return 0;
}

static int read_columns(struct store_row *columns, struct sandbox_row *row, struct error *err)
{
	int at = 0, state = 0, calls = 0, network = 0;

#define TEXT(field, to) read_text(columns, &at, field, (to), sizeof(to), err)
	if (TEXT("id", row->spec.id) < 0 || TEXT("owner", row->owner) < 0 ||
	    TEXT("name", row->name) < 0 || TEXT("engine", row->engine) < 0 ||
	    read_word(columns, &at, "state", registry_states, SANDBOX_STATE_COUNT, &state, err) <
	            0 ||
	    TEXT("instance", row->instance) < 0 ||
	    read_bool(columns, &at, "throw_away", &row->temporary, err) < 0)
		return -1;
#undef TEXT
	row->state = (enum sandbox_state)state;
	row->created_s = store_row_int(columns, at++);
	row->used_s = store_row_int(columns, at++);
	if (read_word(columns, &at, "calls", spec_syscalls_names, SPEC_SYSCALLS_COUNT, &calls,
	              err) < 0)
		return -1;
	row->spec.syscalls = (enum spec_syscalls)calls;
	if (registry_read_mounts(store_row_bytes(columns, at++), &row->spec, err) < 0)
		return -1;
	row->spec.gpus = (uint64_t)store_row_int(columns, at++);
	if (read_bool(columns, &at, "fresh", &row->spec.fresh, err) < 0 ||
	    read_bool(columns, &at, "all_mounts", &row->all_mounts, err) < 0 ||
	    read_seconds(columns, &at, "idle_s", &row->idle_s, err) < 0 ||
	    read_seconds(columns, &at, "lifetime_s", &row->lifetime_s, err) < 0 ||
	    read_list(columns, &at, "env", row->env, sizeof row->env, err) < 0 ||
	    read_list(columns, &at, "labels", row->labels, sizeof row->labels, err) < 0 ||
	    read_text(columns, &at, "image", row->spec.image, sizeof row->spec.image, err) < 0 ||
	    read_word(columns, &at, "network", net_mode_names, NET_MODE_COUNT, &network, err) < 0 ||
	    read_list(columns, &at, "network_allow", row->network_allow, sizeof row->network_allow,
	              err) < 0)
		return -1;
	row->network = (enum net_mode)network;
#define X(name_, ...) row->spec.limits.name_ = (uint64_t)store_row_int(columns, at++);
	SPEC_LIMITS(X)
#undef X
	if (row->name[0] != '\0' && !registry_is_name(row->name))
		return error_set(err, ERR_SYSTEM, "'name' is not a valid name");
	return spec_check(&row->spec, err);
}

int registry_read_row(struct store_row *columns, struct sandbox_row *ret, struct error *err)
{
	struct sandbox_row row = { .spec = spec_default() };

	if (read_columns(columns, &row, err) < 0) {
		/* A damaged row is never the fault of the caller's argument. */
		err->kind = ERR_SYSTEM;
		return error_wrap(err,
		                  "the row of sandbox '%s' in the database is damaged and not used",
		                  UTF8_ESCAPED(store_row_bytes(columns, 0), SPEC_ID_LEN * 2));
	}
	*ret = row;
	return 0;
}
