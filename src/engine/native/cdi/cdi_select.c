#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/cdi.h"

_Static_assert(CDI_DEVICES_MAX <= 64, "each device has a bit in spec.gpus");

enum { NAMES_SHOWN = 320, REQUEST_SHOWN = 64 };

static uint64_t bit_of(size_t i)
{
	return UINT64_C(1) << i;
}

/* "there is 'a', 'b'" for an error message, with as many names as fit. */
static const char *list_names(const struct cdi *cdi, uint64_t among, char *out, size_t size)
{
	struct buf names = buf_fixed(out, size);

	out[0] = '\0';
	for (size_t i = 0; i < cdi->count; i++) {
		if ((among & bit_of(i)) == 0)
			continue;
		if (!buf_putf(&names, "%s'%s'", names.len == 0 ? "there is " : ", ",
		              cdi->devices[i].name)) {
			buf_truncate(&names, names.len < size - 5 ? names.len : size - 5);
			buf_putf(&names, " ...");
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

/* True if device n stands for hardware of its own. Generators give one processor several names (its
 * index, its serial number) and one name, "all", to all of them together. A device is a repetition
 * if an earlier one has the same nodes, or if other devices with fewer nodes cover all of its nodes
 * between them. */
static bool is_distinct(const struct cdi *cdi, size_t n)
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

static uint64_t select_distinct(const struct cdi *cdi, uint64_t max)
{
	uint64_t selected = 0;

	for (size_t i = 0; i < cdi->count && max != 0; i++)
		if (is_distinct(cdi, i)) {
			selected |= bit_of(i);
			max--;
		}
	return selected;
}

static int select_number(const struct cdi *cdi, const char *request, uint64_t *ret,
                         struct error *err)
{
	char names[NAMES_SHOWN];
	uint64_t wanted, selected;

	if (num_parse_u64(request, 1, CDI_DEVICES_MAX, &wanted, err) < 0)
		return error_set(err, ERR_INVALID,
		                 "gpus: '%.20s' must be a number from 1 to %d, 'none', 'auto' or a "
		                 "whole name: %s",
		                 request, CDI_DEVICES_MAX,
		                 list_names(cdi, UINT64_MAX, names, sizeof names));
	selected = select_distinct(cdi, wanted);
	if ((uint64_t)__builtin_popcountll(selected) < wanted)
		return error_set(err, ERR_LIMIT, "gpus: %d wanted, but %s", (int)wanted,
		                 list_names(cdi, selected, names, sizeof names));
	*ret = selected;
	return 0;
}

static int select_name(const struct cdi *cdi, const char *request, uint64_t *ret, struct error *err)
{
	char names[NAMES_SHOWN], shown[REQUEST_SHOWN];
	uint64_t selected = 0;

	for (size_t i = 0; i < cdi->count; i++)
		if (strcmp(cdi->devices[i].name, request) == 0 ||
		    strcmp(strchr(cdi->devices[i].name, '=') + 1, request) == 0)
			selected |= bit_of(i);
	(void)utf8_escape(view_of(request), shown, sizeof shown);
	if (selected == 0)
		return error_set(err, ERR_NOT_FOUND,
		                 "gpus: no device '%s': %s ('none' and 'auto' always work)", shown,
		                 list_names(cdi, UINT64_MAX, names, sizeof names));
	if ((selected & (selected - 1)) != 0)
		return error_set(err, ERR_INVALID, "gpus: '%s' could be several: %s", shown,
		                 list_names(cdi, selected, names, sizeof names));
	*ret = selected;
	return 0;
}

int cdi_select(const struct cdi *cdi, const char *request, uint64_t *ret, struct error *err)
{
	if (strcmp(request, "none") == 0)
		*ret = 0;
	else if (strcmp(request, "auto") == 0)
		*ret = select_distinct(cdi, CDI_DEVICES_MAX);
	/* Generators name devices "0", "1" ...: digits alone are a number of devices, and such a
	 * device can be had by its whole name. */
	else if (request[0] != '\0' && strspn(request, "0123456789") == strlen(request))
		return select_number(cdi, request, ret, err);
	else
		return select_name(cdi, request, ret, err);
	return 0;
}
