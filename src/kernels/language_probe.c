/* language_probe.c - the probe for languages: a shell script that looks for their programs, and the
 * decoder of its output.
 *
 * The script walks PATH itself instead of calling `which`: no process is started for a program that
 * is not there. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"

/* Shell functions: `find NAME` puts the path of a program into P; `has NAME` succeeds if there is
 * such a program; `print_found NUMBERS ARGUMENTS...` prints the line of a language. */
static const char functions[] = "set -f\n"
                                "IFS=:\n"
                                "find() {\n"
                                "  for D in $PATH; do\n"
                                "    case $D in /*) P=$D/$1 ;; *) continue ;; esac\n"
                                "    [ -f \"$P\" ] && [ -x \"$P\" ] && return 0\n"
                                "  done\n"
                                "  return 1\n"
                                "}\n"
                                "has() {\n"
                                "  Q=$P\n"
                                "  find \"$1\" || { P=$Q; return 1; }\n"
                                "  P=$Q\n"
                                "}\n";
static const char print_path[] = "print_found() { printf '%s %s\\n' \"$1\" \"$P\"; }\n";
/* `builds ARGUMENTS...` succeeds if the compiler in P makes a program of its standard input. */
static const char builds[] = "builds() {\n"
                             "  T=$(mktemp) && \"$P\" \"$@\" -o \"$T\" -\n"
                             "  R=$?\n"
                             "  rm -f \"$T\"\n"
                             "  return $R\n"
                             "}\n";
/* Perl and others begin with an empty line: the version is the first line that is not empty. */
static const char print_version[] = "print_found() {\n"
                                    "  N=$1 V=\n"
                                    "  shift\n"
                                    "  [ $# -eq 0 ] || V=$(\"$P\" \"$@\" 2>&1 </dev/null)\n"
                                    "  V=${V#\"${V%%[!\n ]*}\"}\n"
                                    "  printf '%s %s\\t%s\\n' \"$N\" \"$P\" \"${V%%\n*}\"\n"
                                    "}\n";

static int add_test(struct buf *script, const char *test, struct error *err)
{
	if (test == NULL)
		return 0;
	return buf_printf(script, err, " && { %s; } >/dev/null 2>&1 </dev/null", test);
}

static int add_runner(struct buf *script, size_t language, size_t runner, bool versions,
                      struct error *err)
{
	const struct language_runner *r = &languages[language].runners[runner];

	if (buf_printf(script, err, "%s find '%s'", runner == 0 ? "if" : "elif", r->program) < 0)
		return -1;
	if (add_test(script, r->needs, err) < 0 ||
	    add_test(script, versions ? r->check : NULL, err) < 0)
		return -1;
	if (buf_printf(script, err, "; then print_found '%zu %zu'", language, runner) < 0)
		return -1;
	for (size_t i = 0; versions && i < ARRAY_LEN(r->version) && r->version[i] != NULL; i++)
		if (buf_printf(script, err, " '%s'", r->version[i]) < 0)
			return -1;
	return buf_add(script, view_of("\n"), err);
}

int language_probe_script(struct buf *script, bool versions, struct error *err)
{
	if (buf_add(script, view_of(functions), err) < 0 ||
	    buf_add(script, view_of(versions ? print_version : print_path), err) < 0 ||
	    buf_add(script, view_of(versions ? builds : ""), err) < 0)
		return -1;
	for (size_t i = 0; i < language_count; i++) {
		for (size_t j = 0; j < LANGUAGE_RUNNERS_MAX; j++)
			if (languages[i].runners[j].program != NULL &&
			    add_runner(script, i, j, versions, err) < 0)
				return -1;
		if (buf_add(script, view_of("fi\n"), err) < 0)
			return -1;
	}
	return buf_add(script, view_of(":\n"), err);
}

/* Takes up to two digits and the character behind them off *rest. False: the text is different. */
static bool take_number(struct view *rest, char behind, size_t *ret)
{
	size_t n = 0, i = 0;

	for (; i < rest->len && i < 2 && rest->ptr[i] >= '0' && rest->ptr[i] <= '9'; i++)
		n = n * 10 + (size_t)(rest->ptr[i] - '0');
	if (i == 0 || i == rest->len || rest->ptr[i] != behind)
		return false;
	*rest = (struct view){ rest->ptr + i + 1, rest->len - i - 1 };
	*ret = n;
	return true;
}

/* An absolute path in printable ASCII that fits into `size` bytes. */
static bool is_path(struct view path, size_t size)
{
	if (path.len < 2 || path.len >= size || path.ptr[0] != '/')
		return false;
	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] < ' ' || path.ptr[i] > '~')
			return false;
	return true;
}

static void parse_line(struct view line, struct language_found *ret)
{
	size_t language, runner;
	const char *tab;
	struct view path, version = { "", 0 };

	if (!take_number(&line, ' ', &language) || !take_number(&line, ' ', &runner) ||
	    language >= language_count || runner >= LANGUAGE_RUNNERS_MAX ||
	    languages[language].runners[runner].program == NULL || ret->of[language].runner >= 0 ||
	    line.len == 0)
		return;
	path = line;
	tab = memchr(line.ptr, '\t', line.len);
	if (tab != NULL) {
		path.len = (size_t)(tab - line.ptr);
		version = (struct view){ tab + 1, line.len - path.len - 1 };
	}
	if (!is_path(path, sizeof(ret->of[language].path)))
		return;
	ret->of[language].runner = (signed char)runner;
	memcpy(ret->of[language].path, path.ptr, path.len);
	ret->of[language].path[path.len] = '\0';
	(void)utf8_escape(view_trim(version), ret->of[language].version,
	                  sizeof(ret->of[language].version));
}

/* Node is there and too old to remove types: the package that does is one of its own. */
static bool is_package(const struct language_found *found, const struct language *language)
{
	const struct language *node = language_find("javascript");

	return strcmp(language->name, "typescript") == 0 && found->of[node - languages].runner == 0;
}

int language_not_found(const struct language_found *found, const struct language *language,
                       struct error *err)
{
	char names[340] = "";
	struct buf list = buf_fixed(names, sizeof names);

	if (is_package(found, language))
		return error_set(
		        err, ERR_NOT_FOUND,
		        "typescript needs Node 22.6 or later, or the package typescript below "
		        "version 7: install_packages "
		        "{\"packages\":[\"typescript@5\"],\"language\":\"javascript\"}, then run "
		        "this again");
	for (size_t i = 0; i < language_count; i++)
		if (found->of[i].runner >= 0)
			buf_putf(&list, "%s%s", list.len != 0 ? ", " : "", languages[i].name);
	return error_set(err, ERR_NOT_FOUND,
	                 "there is no interpreter for %s in this sandbox; available: %s (more can "
	                 "be installed on this machine, or in its image)",
	                 language->name, list.len != 0 ? names : "none");
}

void language_probe_parse(struct view text, struct language_found *ret)
{
	struct view line;

	*ret = (struct language_found){ .known = true };
	for (size_t i = 0; i < LANGUAGES_MAX; i++)
		ret->of[i].runner = -1;
	while (view_next_line(&text, &line))
		parse_line(line, ret);
}
