#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/internal.h"

static bool is_of_type(const json_t *value, const struct cdi_field *field)
{
	json_int_t number = json_integer_value(value);

	switch (field->type) {
	case CDI_TEXT:
		return json_as_text(value) != NULL;
	case CDI_NUMBER:
		return json_is_integer(value) && number >= 0 && (uint64_t)number <= field->max;
	case CDI_BOOLEAN:
		return json_is_boolean(value);
	case CDI_ARRAY:
		return json_is_array(value);
	case CDI_OBJECT:
		return json_is_object(value);
	}
	return false;
}

int cdi_check_value(const json_t *value, const struct cdi_field *field, struct error *err)
{
	static const char *const types[] = { [CDI_TEXT] = "text",
		                             [CDI_NUMBER] = "a whole number",
		                             [CDI_BOOLEAN] = "true or false",
		                             [CDI_ARRAY] = "an array",
		                             [CDI_OBJECT] = "an object" };
	char shown[96], range[32] = "";
	/* YAML turns the bare words 1.0, no and on into numbers and booleans. */
	bool is_bare_word = json_is_number(value) || json_is_boolean(value);

	if (value == NULL)
		return error_set(err, ERR_INVALID, "is missing");
	if (is_of_type(value, field))
		return 0;
	if (field->type == CDI_NUMBER)
		(void)snprintf(range, sizeof range, " from 0 to %llu",
		               (unsigned long long)field->max);
	return error_set(err, ERR_INVALID, "must be %s%s, not %s%s", types[field->type], range,
	                 json_describe(value, shown, sizeof shown),
	                 is_bare_word && field->type == CDI_TEXT ? " (put it in quotes)" : "");
}

json_t *cdi_field(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

/* Fails if the object has a field that is not in the list, or is newer than the file's version. */
static int check_names(json_t *object, const struct cdi_field *fields, size_t count,
                       unsigned version, struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value) {
		size_t i = 0;

		while (i < count && strcmp(fields[i].name, key) != 0)
			i++;
		if (i == count && version <= CDI_VERSION_LAST)
			return error_set(err, ERR_UNSUPPORTED, "unknown field '%s'",
			                 UTF8_ESCAPED(view_of(key), 64));
		if (i < count && fields[i].since > version)
			return error_set(err, ERR_INVALID, "'%s' needs cdiVersion %u.%u.0", key,
			                 fields[i].since / 100, fields[i].since % 100);
	}
	return 0;
}

int cdi_check_fields(json_t *object, const struct cdi_field *fields, size_t count, unsigned version,
                     struct error *err)
{
	static const struct cdi_field itself = { .type = CDI_OBJECT };

	if (cdi_check_value(object, &itself, err) < 0 ||
	    check_names(object, fields, count, version, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		json_t *value = cdi_field(object, fields[i].name), *item;
		size_t k;

		if (value == NULL && !fields[i].is_required)
			continue;
		if (cdi_check_value(value, &fields[i], err) < 0)
			return error_wrap(err, "%s", fields[i].name);
		if (fields[i].type != CDI_ARRAY || fields[i].items == NULL)
			continue;
		json_array_foreach (value, k, item)
			if (cdi_check_value(item, fields[i].items, err) < 0)
				return error_wrap(err, "%s[%zu]", fields[i].name, k);
	}
	return 0;
}
