#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/cdi.h"

_Static_assert(CDI_DEVICES_MAX <= 64, "one bit a device");

enum { NAMES_SHOWN = 320, WISH_SHOWN = 64 };

static uint64_t bit(size_t i)
{
	return UINT64_C(1) << i;
}

/* "there are a, b", as many as fit. */
static const char *list_names(const struct cdi *cdi, uint64_t among, char *out, size_t size)
{
	struct buf names = buf_fixed(out, size);
	struct error full;

	out[0] = '\0';
	for (size_t i = 0; i < cdi->count; i++) {
		if ((among & bit(i)) == 0)
			continue;
		if (buf_printf(&names, &full, "%s'%s'", names.len == 0 ? "there is " : ", ",
		               cdi->devices[i].name) < 0) {
			buf_truncate(&names, names.len < size - 5 ? names.len : size - 5);
			(void)!buf_printf(&names, &full, " ...");
			break;
		}
	}
	return names.len != 0 ? out : "there is none on this machine";
}

static bool has_node(const struct cdi_device *device, const char *path)
{
	for (size_t i = 0; i < device->node_count; i++)
		if (strcmp(device->nodes[i].path, path) == 0)
			return true;
	return false;
}

static bool is_same_kind(const struct cdi_device *a, const struct cdi_device *b)
{
	size_t len = strcspn(a->name, "=") + 1;

	return strncmp(a->name, b->name, len) == 0;
}

static bool has_all_of(const struct cdi_device *device, const struct cdi_device *part)
{
	for (size_t i = 0; i < part->node_count; i++)
		if (!has_node(device, part->nodes[i].path))
			return false;
	return is_same_kind(device, part);
}

/* Generators give one processor several names (its number, its serial number), and one name to
 * all of them together. Whoever counts wants each once: a device is passed over if an earlier
 * one has the same nodes, or if smaller ones have all of its nodes between them. */
static bool is_another(const struct cdi *cdi, size_t n)
{
	const struct cdi_device *device = &cdi->devices[n];
	size_t covered = 0;

	if (device->node_count == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (has_all_of(&cdi->devices[i], device) && has_all_of(device, &cdi->devices[i]))
			return false;
	for (size_t k = 0; k < device->node_count; k++)
		for (size_t i = 0; i < cdi->count; i++)
			if (has_all_of(device, &cdi->devices[i]) &&
			    !has_all_of(&cdi->devices[i], device) &&
			    has_node(&cdi->devices[i], device->nodes[k].path)) {
				covered++;
				break;
			}
	return covered < device->node_count;
}

static uint64_t every_one(const struct cdi *cdi, uint64_t at_most)
{
	uint64_t chosen = 0;

	for (size_t i = 0; i < cdi->count && at_most != 0; i++)
		if (is_another(cdi, i)) {
			chosen |= bit(i);
			at_most--;
		}
	return chosen;
}

static int choose_number(const struct cdi *cdi, const char *wish, uint64_t *ret, struct error *err)
{
	char names[NAMES_SHOWN];
	uint64_t wanted, chosen;

	if (num_parse_u64(wish, 1, CDI_DEVICES_MAX, &wanted, err) < 0)
		return error_set(err, ERR_INVALID,
		                 "gpus: '%.20s' must be a number from 1 to %d, 'none', 'auto' or a "
		                 "whole name: %s",
		                 wish, CDI_DEVICES_MAX,
		                 list_names(cdi, UINT64_MAX, names, sizeof names));
	chosen = every_one(cdi, wanted);
	if ((uint64_t)__builtin_popcountll(chosen) < wanted)
		return error_set(err, ERR_LIMIT, "gpus: %d wanted, but %s", (int)wanted,
		                 list_names(cdi, chosen, names, sizeof names));
	*ret = chosen;
	return 0;
}

static int choose_name(const struct cdi *cdi, const char *wish, uint64_t *ret, struct error *err)
{
	char names[NAMES_SHOWN], shown[WISH_SHOWN];
	uint64_t chosen = 0;

	for (size_t i = 0; i < cdi->count; i++)
		if (strcmp(cdi->devices[i].name, wish) == 0 ||
		    strcmp(strchr(cdi->devices[i].name, '=') + 1, wish) == 0)
			chosen |= bit(i);
	(void)utf8_escape(view_of(wish), shown, sizeof shown);
	if (chosen == 0)
		return error_set(err, ERR_NOT_FOUND,
		                 "gpus: no device '%s': %s ('none' and 'auto' always work)", shown,
		                 list_names(cdi, UINT64_MAX, names, sizeof names));
	if ((chosen & (chosen - 1)) != 0)
		return error_set(err, ERR_INVALID, "gpus: '%s' could be several: %s", shown,
		                 list_names(cdi, chosen, names, sizeof names));
	*ret = chosen;
	return 0;
}

int cdi_select(const struct cdi *cdi, const char *wish, uint64_t *ret, struct error *err)
{
	if (strcmp(wish, "none") == 0)
		*ret = 0;
	else if (strcmp(wish, "auto") == 0)
		*ret = every_one(cdi, CDI_DEVICES_MAX);
	/* Names of nothing but digits are usual ("0"): whole they can be asked for. */
	else if (wish[0] != '\0' && strspn(wish, "0123456789") == strlen(wish))
		return choose_number(cdi, wish, ret, err);
	else
		return choose_name(cdi, wish, ret, err);
	return 0;
}
