/* page_npm.c - the documents of npm's registries (see pages.h). */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "egress/mirror/pages.h"

enum { DEPTH_MAX = 64, VALUES_MAX = 2000000 };

static bool is_part(struct view part)
{
	return part.len != 0 && part.ptr[0] != '.' && part.ptr[0] != '-' &&
	       view_has_only(part, "-_.~");
}

bool npm_package_is(struct view name)
{
	const char *slash = name.len != 0 ? memchr(name.ptr, '/', name.len) : NULL;
	struct view scope;

	if (name.len == 0 || name.len > PAGE_NAME_MAX)
		return false;
	if (slash == NULL)
		return is_part(name);
	scope = (struct view){ name.ptr + 1, (size_t)(slash - name.ptr) - 1 };
	return name.ptr[0] == '@' && slash != name.ptr && is_part(scope) &&
	       is_part((struct view){ slash + 1, name.len - scope.len - 2 });
}

/* The last part of an address. NULL: it is no name of a file. */
static const char *file_of_url(const char *url)
{
	const char *slash = strrchr(url, '/');

	return slash != NULL && page_is_file_name(view_of(slash + 1)) ? slash + 1 : NULL;
}

static int parse_document(struct view text, json_t **ret, json_t **versions, struct error *err)
{
	static const struct json_limits limits = { .depth = DEPTH_MAX, .values = VALUES_MAX };

	if (json_read(text, &limits, ret, NULL, err) < 0)
		return -1;
	*versions = json_member(*ret, "versions", JSON_OBJECT);
	if (*versions != NULL)
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return error_set(err, ERR_SYNTAX, "the registry's answer is no document of a package");
}

int npm_page_read(struct view text, const char *base, json_t **ret, struct error *err)
{
	json_t *versions, *version, *document;
	const char *key;
	void *next;

	if (parse_document(text, &document, &versions, err) < 0)
		return -1;
	json_object_foreach_safe(versions, next, key, version)
	{
		json_t *dist = json_member(version, "dist", JSON_OBJECT);
		const char *url = dist != NULL ? json_text(dist, "tarball") : NULL;
		const char *file = url != NULL ? file_of_url(url) : NULL;

		if (file != NULL)
			json_set(dist, "tarball", json_format("%s%s", base, file));
		else
			(void)json_object_del(versions, key);
	}
	*ret = document;
	return 0;
}

int npm_page_find(struct view text, const char *name, struct page_file *ret, struct error *err)
{
	AUTO_JSON json_t *document = NULL;
	json_t *versions, *version;
	const char *key;

	if (parse_document(text, &document, &versions, err) < 0)
		return -1;
	json_object_foreach (versions, key, version) {
		const json_t *dist = json_member(version, "dist", JSON_OBJECT);
		const char *url = dist != NULL ? json_text(dist, "tarball") : NULL;
		const char *file = url != NULL ? file_of_url(url) : NULL;
		const char *integrity = dist != NULL ? json_text(dist, "integrity") : NULL;

		if (file == NULL || strcmp(file, name) != 0 || strlen(url) > PAGE_URL_MAX)
			continue;
		*ret = (struct page_file){ .digest = digest_from_integrity(
			                           integrity != NULL ? integrity : "") };
		(void)snprintf(ret->name, sizeof ret->name, "%s", name);
		(void)snprintf(ret->url, sizeof ret->url, "%s", url);
		return 0;
	}
	return error_set(err, ERR_NOT_FOUND, "the package has no file '%s'", name);
}
