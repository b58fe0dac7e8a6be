#include "tools/packages/package_module.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/error.h"
#include "sandbox/process/process.h"

/* --- modules of Python and their packages --- */

/* Modules whose package has another name; "": part of Python, so that no package brings it. A name
 * with dots stands for the modules below it. */
static const struct {
	const char *module, *package;
} packages[] = {
	{ "Crypto", "pycryptodome" },
	{ "IPython", "ipython" },
	{ "Levenshtein", "levenshtein" },
	{ "MySQLdb", "mysqlclient" },
	{ "OpenSSL", "pyopenssl" },
	{ "PIL", "pillow" },
	{ "attr", "attrs" },
	{ "bs4", "beautifulsoup4" },
	{ "cv2", "opencv-python-headless" },
	{ "dateutil", "python-dateutil" },
	{ "distutils", "setuptools" },
	{ "dns", "dnspython" },
	{ "docx", "python-docx" },
	{ "dotenv", "python-dotenv" },
	{ "faiss", "faiss-cpu" },
	{ "fitz", "pymupdf" },
	{ "git", "gitpython" },
	{ "google.cloud.bigquery", "google-cloud-bigquery" },
	{ "google.cloud.storage", "google-cloud-storage" },
	{ "google.generativeai", "google-generativeai" },
	{ "google.protobuf", "protobuf" },
	{ "jose", "python-jose" },
	{ "jwt", "pyjwt" },
	{ "kafka", "kafka-python" },
	{ "magic", "python-magic" },
	{ "mpl_toolkits", "matplotlib" },
	{ "msvcrt", "" },
	{ "multipart", "python-multipart" },
	{ "osgeo", "gdal" },
	{ "pkg_resources", "setuptools" },
	{ "pptx", "python-pptx" },
	{ "psycopg2", "psycopg2-binary" },
	{ "pylab", "matplotlib" },
	{ "pywintypes", "" },
	{ "serial", "pyserial" },
	{ "skimage", "scikit-image" },
	{ "sklearn", "scikit-learn" },
	{ "slugify", "python-slugify" },
	{ "socks", "pysocks" },
	{ "tkinter", "" },
	{ "turtle", "" },
	{ "usb", "pyusb" },
	{ "win32api", "" },
	{ "winreg", "" },
	{ "yaml", "pyyaml" },
	{ "zmq", "pyzmq" },
};

static bool is_module_or_below(struct view name, const char *module)
{
	return view_starts(name, module) &&
	       (name.len == strlen(module) || name.ptr[strlen(module)] == '.');
}

/* A name with "_" in front is that of a part of another module. */
static bool is_module_name(struct view name)
{
	return name.len != 0 && name.len <= PACKAGE_MODULE_MAX &&
	       isalpha((unsigned char)name.ptr[0]) && view_has_only(name, "_.");
}

bool package_of_module(struct view module, char ret[PACKAGE_SPEC_MAX + 1])
{
	const char *dot;
	struct error ignored;
	AUTO_BUF struct buf name;

	buf_init(&name, PACKAGE_SPEC_MAX);
	if (!is_module_name(module))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(packages); i++)
		if (is_module_or_below(module, packages[i].module)) {
			(void)snprintf(ret, PACKAGE_SPEC_MAX + 1, "%s", packages[i].package);
			return ret[0] != '\0';
		}
	dot = memchr(module.ptr, '.', module.len);
	if (dot != NULL)
		module.len = (size_t)(dot - module.ptr);
	if (package_name_python(module, &name, &ignored) < 0)
		return false;
	(void)snprintf(ret, PACKAGE_SPEC_MAX + 1, "%s", buf_text(&name));
	return true;
}

/* --- the messages of Python --- */

static struct view last_line(struct view text)
{
	struct view all = view_trim(text), line = all;
	const char *newline = all.len != 0 ? memrchr(all.ptr, '\n', all.len) : NULL;

	if (newline != NULL)
		line = (struct view){ newline + 1, all.len - (size_t)(newline + 1 - all.ptr) };
	return line;
}

/* Moves what stands behind `mark` to *ret. */
static bool find_behind(struct view text, const char *mark, struct view *ret)
{
	const char *at = text.len != 0 ? memmem(text.ptr, text.len, mark, strlen(mark)) : NULL;

	if (at == NULL)
		return false;
	at += strlen(mark);
	*ret = (struct view){ at, text.len - (size_t)(at - text.ptr) };
	return true;
}

/* Cuts the text at `quote`. */
static bool cut_quoted(struct view *text, char quote)
{
	const char *end = text->len != 0 ? memchr(text->ptr, quote, text->len) : NULL;

	if (end == NULL)
		return false;
	text->len = (size_t)(end - text->ptr);
	return true;
}

/* "ModuleNotFoundError: No module named 'a.b'", also in brackets behind another text; or
 * "/usr/bin/python3: No module named a" of python -m. */
static bool read_python_message(struct view line, struct view *ret)
{
	if (find_behind(line, "ModuleNotFoundError: No module named '", ret)) {
		size_t whole = ret->len;

		/* "...; 'a' is not a package" may follow: then a module of the caller's is in the
		 * way, which no package helps with. */
		return cut_quoted(ret, '\'') && whole - ret->len <= 2;
	}
	return find_behind(line, ": No module named ", ret) && ret->len != 0 &&
	       ret->ptr[0] != '\'' && memchr(line.ptr, ' ', line.len) != NULL &&
	       memmem(line.ptr, line.len - ret->len, "python", 6) != NULL;
}

static bool find_python(const struct process_state *state, struct view errors, struct view *ret)
{
	if (state->error_name == NULL)
		return read_python_message(last_line(errors), ret);
	return strcmp(state->error_name, "ModuleNotFoundError") == 0 &&
	       state->error_message != NULL &&
	       find_behind(view_of(state->error_message), "No module named '", ret) &&
	       cut_quoted(ret, '\'');
}

/* --- the messages of Node --- */

static bool read_node_message(struct view text, const char *prefix, struct view *ret)
{
	static const char *const kinds[] = { "Cannot find module '", "Cannot find package '" };
	char mark[80];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		(void)snprintf(mark, sizeof mark, "%s%s", prefix, kinds[i]);
		if (find_behind(text, mark, ret))
			return cut_quoted(ret, '\'');
	}
	return false;
}

static bool find_node(const struct process_state *state, struct view errors, struct view *ret)
{
	if (state->error_name != NULL)
		return state->error_message != NULL &&
		       read_node_message(view_of(state->error_message), "", ret);
	return read_node_message(errors, "\nError: ", ret) ||
	       read_node_message(errors, "\nError [ERR_MODULE_NOT_FOUND]: ", ret);
}

/* "lodash/fp" is a module of the package lodash, "@types/node/x" of @types/node. */
static bool package_of_node_module(struct view module, char ret[PACKAGE_SPEC_MAX + 1])
{
	size_t slashes = module.len != 0 && module.ptr[0] == '@' ? 2 : 1, len = 0;
	struct error ignored;
	AUTO_BUF struct buf name;

	for (; len < module.len; len++)
		if (module.ptr[len] == '/' && --slashes == 0)
			break;
	buf_init(&name, PACKAGE_SPEC_MAX);
	if (package_name_npm((struct view){ module.ptr, len }, &name, &ignored) < 0)
		return false;
	(void)snprintf(ret, PACKAGE_SPEC_MAX + 1, "%s", buf_text(&name));
	return true;
}

/* The name becomes part of belljar's own remark about the run. The program wrote it: with brackets
 * or a newline in it, the program could forge another remark. */
static bool is_safe_name(struct view name)
{
	return name.len != 0 && name.len <= PACKAGE_MODULE_MAX && view_has_only(name, "@/._~-");
}

bool package_missing_find(const struct process_state *state, struct view errors,
                          struct package_missing *ret)
{
	struct view module = { "", 0 };
	bool found;

	if (state->phase != PROCESS_ENDED || state->end.timed_out || state->end.signal != 0 ||
	    (state->end.code == 0 && state->error_name == NULL))
		return false;
	*ret = (struct package_missing){ .is_python = find_python(state, errors, &module) };
	found = ret->is_python ? package_of_module(module, ret->package)
	                       : find_node(state, errors, &module) &&
	                                 package_of_node_module(module, ret->package);
	if (!found || !is_safe_name(module))
		return false;
	(void)snprintf(ret->module, sizeof ret->module, "%.*s", (int)module.len, module.ptr);
	return true;
}

/* --- commands --- */

static bool is_interpreter(struct view word)
{
	const char *slash = word.len != 0 ? memrchr(word.ptr, '/', word.len) : NULL;

	if (slash != NULL)
		word = (struct view){ slash + 1, word.len - (size_t)(slash + 1 - word.ptr) };
	if (view_is(word, "node"))
		return true;
	if (!view_starts(word, "python"))
		return false;
	for (size_t i = strlen("python"); i < word.len; i++)
		if (!isdigit((unsigned char)word.ptr[i]) && word.ptr[i] != '.')
			return false;
	return true;
}

/* Whether the line has neither a second command, nor a redirection, nor anything that the shell
 * expands. Quoted text may be code with any bytes. */
static bool is_one_command(struct view line)
{
	char quote = '\0';

	for (size_t i = 0; i < line.len; i++) {
		char byte = line.ptr[i];

		if (quote != '\'' && (byte == '`' || byte == '$' || byte == '\\'))
			return false;
		if (quote == '\0' && strchr(";&|<>()\n", byte) != NULL)
			return false;
		if (quote == byte)
			quote = '\0';
		else if (quote == '\0' && (byte == '\'' || byte == '"'))
			quote = byte;
	}
	return quote == '\0';
}

bool package_command_is_simple(const char *command, struct view *ret_dir)
{
	struct view rest = view_trim(view_of(command)), word;
	const char *next = strstr(rest.ptr, "&&");

	*ret_dir = (struct view){ "", 0 };
	if (view_starts(rest, "cd ") && next != NULL) {
		struct view part = { rest.ptr + 3, (size_t)(next - rest.ptr - 3) };

		*ret_dir = view_trim(part);
		if (!is_one_command(part) || memchr(part.ptr, '~', part.len) != NULL)
			return false;
		rest = view_trim((struct view){ next + 2, rest.len - part.len - 5 });
	}
	word = (struct view){ rest.ptr, strcspn(rest.ptr, " ") };
	if (word.len > rest.len)
		word.len = rest.len;
	return is_one_command(rest) && is_interpreter(word);
}
