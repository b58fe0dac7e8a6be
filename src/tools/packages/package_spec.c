#include "tools/packages/package_spec.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"

static int refuse_spec(struct view text, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "'%s': %s", UTF8_ESCAPED(text, 120), why);
}

/* Cuts the longest beginning of *rest whose bytes are alphanumeric or in `also`. */
static struct view cut_word(struct view *rest, const char *also)
{
	struct view word = { rest->ptr, 0 };

	while (word.len < rest->len && rest->ptr[word.len] != '\0' &&
	       (isalnum((unsigned char)rest->ptr[word.len]) ||
	        strchr(also, rest->ptr[word.len]) != NULL))
		word.len++;
	rest->ptr += word.len;
	rest->len -= word.len;
	return word;
}

static void skip_spaces(struct view *rest)
{
	while (rest->len != 0 && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t')) {
		rest->ptr++;
		rest->len--;
	}
}

static bool cut_byte(struct view *rest, char byte)
{
	if (rest->len == 0 || rest->ptr[0] != byte)
		return false;
	rest->ptr++;
	rest->len--;
	return true;
}

/* --- Python --- */

static bool is_python_name(struct view name)
{
	return name.len != 0 && isalnum((unsigned char)name.ptr[0]) &&
	       isalnum((unsigned char)name.ptr[name.len - 1]);
}

static const char *explain_python(struct view rest)
{
	if (rest.len != 0 && rest.ptr[0] == '@')
		return "a URL cannot be installed: give a name and a version";
	if (rest.len != 0 && rest.ptr[0] == ';')
		return "leave out the condition behind ';'";
	if (rest.len != 0 && strchr("/:\\.+~", rest.ptr[0]) != NULL)
		return "a path or URL cannot be installed: give a name and a version; for files in "
		       "the sandbox run pip there";
	return "expected a name and versions, such as requests>=2.28 or pandas[excel]==2.2.0";
}

/* "[a, b]" */
static int read_extras(struct view text, struct view *rest, struct buf *out, struct error *err)
{
	const char *separator = "[";

	skip_spaces(rest);
	if (!cut_byte(rest, '['))
		return 0;
	for (;;) {
		struct view name;

		skip_spaces(rest);
		name = cut_word(rest, "-_.");
		if (!is_python_name(name))
			return refuse_spec(text, "the extras in [ ] are malformed", err);
		if (buf_printf(out, err, "%s%.*s", separator, (int)name.len, name.ptr) < 0)
			return -1;
		separator = ",";
		skip_spaces(rest);
		if (cut_byte(rest, ']'))
			return buf_printf(out, err, "]");
		if (!cut_byte(rest, ','))
			return refuse_spec(text, "the extras in [ ] are malformed", err);
	}
}

static struct view cut_operator(struct view *rest)
{
	static const char *const operators[] = { "===", "==", "~=", "!=", "<=", ">=", "<", ">" };

	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (view_starts(*rest, operators[i])) {
			struct view found = { rest->ptr, strlen(operators[i]) };

			rest->ptr += found.len;
			rest->len -= found.len;
			return found;
		}
	return (struct view){ rest->ptr, 0 };
}

/* ">=1.0, <2" */
static int read_versions(struct view text, struct view *rest, struct buf *out, struct error *err)
{
	const char *separator = "";

	skip_spaces(rest);
	while (rest->len != 0) {
		struct view operator= cut_operator(rest), version;

		if (operator.len == 0)
			return refuse_spec(text, explain_python(*rest), err);
		skip_spaces(rest);
		version = cut_word(rest, ".*+!_-");
		if (version.len == 0 || !isalnum((unsigned char)version.ptr[0]))
			return refuse_spec(text, "a version is missing or malformed", err);
		if (buf_printf(out, err, "%s%.*s%.*s", separator, (int)operator.len, operator.ptr,
		               (int)version.len, version.ptr) < 0)
			return -1;
		separator = ",";
		skip_spaces(rest);
		if (rest->len != 0 && !cut_byte(rest, ','))
			return refuse_spec(text, explain_python(*rest), err);
		skip_spaces(rest);
	}
	return 0;
}

static int check_length(struct view text, struct error *err)
{
	if (text.len == 0 || text.len > PACKAGE_SPEC_MAX)
		return error_set(err, ERR_INVALID, "a package has 1 to %d bytes", PACKAGE_SPEC_MAX);
	if (text.ptr[0] == '-')
		return refuse_spec(text, "options of the installer cannot be given", err);
	return 0;
}

static int read_python(struct view text, bool bare, struct buf *out, struct error *err)
{
	struct view rest = view_trim(text), name;

	if (check_length(rest, err) < 0)
		return -1;
	name = cut_word(&rest, "-_.");
	if (!is_python_name(name))
		return refuse_spec(text, explain_python(name.len != 0 ? name : rest), err);
	if (buf_add(out, name, err) < 0)
		return -1;
	if (bare)
		return rest.len == 0 ? 0
		                     : refuse_spec(text, "expected a name without versions", err);
	return read_extras(text, &rest, out, err) < 0 ? -1 : read_versions(text, &rest, out, err);
}

int package_spec_python(struct view text, struct buf *out, struct error *err)
{
	return read_python(text, false, out, err);
}

int package_name_python(struct view text, struct buf *out, struct error *err)
{
	return read_python(text, true, out, err);
}

/* --- JavaScript --- */

static bool is_npm_part(struct view part)
{
	return part.len != 0 && part.ptr[0] != '.' && part.ptr[0] != '_' && part.ptr[0] != '-';
}

/* "name" or "@scope/name"; moves it to `out`. */
static int read_npm_name(struct view text, struct view *rest, struct buf *out, struct error *err)
{
	const char *why = "expected a name and a version, such as lodash@4 or @types/node@20";
	bool has_scope = cut_byte(rest, '@');
	struct view part = cut_word(rest, "-_.~");

	if (!is_npm_part(part) || (has_scope && !cut_byte(rest, '/')))
		return refuse_spec(text, why, err);
	if (buf_printf(out, err, "%s%.*s", has_scope ? "@" : "", (int)part.len, part.ptr) < 0)
		return -1;
	if (!has_scope)
		return 0;
	part = cut_word(rest, "-_.~");
	if (!is_npm_part(part))
		return refuse_spec(text, why, err);
	return buf_printf(out, err, "/%.*s", (int)part.len, part.ptr);
}

static int read_npm(struct view text, bool bare, struct buf *out, struct error *err)
{
	struct view rest = view_trim(text), version;

	if (check_length(rest, err) < 0 || read_npm_name(text, &rest, out, err) < 0)
		return -1;
	if (rest.len == 0)
		return 0;
	/* Without ':' and '/' a version is neither a URL, a repository nor a path. */
	if (bare || !cut_byte(&rest, '@'))
		return refuse_spec(text,
		                   "expected a name; paths and URLs cannot be given, and a version "
		                   "only to install",
		                   err);
	version = cut_word(&rest, ".^~<>=|*+ -");
	if (version.len == 0 || version.ptr[0] == '-' || version.ptr[0] == '.' || rest.len != 0)
		return refuse_spec(text, "expected a version, a range or a tag behind @", err);
	return buf_printf(out, err, "@%.*s", (int)version.len, version.ptr);
}

int package_spec_npm(struct view text, struct buf *out, struct error *err)
{
	return read_npm(text, false, out, err);
}

int package_name_npm(struct view text, struct buf *out, struct error *err)
{
	return read_npm(text, true, out, err);
}
