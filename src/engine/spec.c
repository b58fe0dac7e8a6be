#include "engine/spec.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "base/view.h"

const struct spec_limit spec_limits[] = {
#define X(name_, initial_, min_, max_, unit_, help_)                                               \
	{ .name = #name_,                                                                          \
	  .help = (help_),                                                                         \
	  .unit = SPEC_##unit_,                                                                    \
	  .offset = offsetof(struct spec_limits, name_),                                           \
	  .initial = (initial_),                                                                   \
	  .min = (min_),                                                                           \
	  .max = (max_) },
	SPEC_LIMITS(X)
#undef X
};
const size_t spec_limit_count = ARRAY_LEN(spec_limits);
_Static_assert(ARRAY_LEN(spec_limits) * sizeof(uint64_t) == sizeof(struct spec_limits),
               "each limit has one row");

const char *const spec_syscalls_names[SPEC_SYSCALLS_COUNT] = {
	[SPEC_SYSCALLS_STANDARD] = "standard",
	[SPEC_SYSCALLS_STRICT] = "strict",
	[SPEC_SYSCALLS_DEBUG] = "debug",
};

uint64_t spec_limits_get(const struct spec_limits *limits, size_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)limits + spec_limits[i].offset, sizeof value);
	return value;
}

void spec_limits_set(struct spec_limits *limits, size_t i, uint64_t value)
{
	memcpy((char *)limits + spec_limits[i].offset, &value, sizeof value);
}

struct spec_limits spec_largest_limits(void)
{
	struct spec_limits limits;

	for (size_t i = 0; i < spec_limit_count; i++)
		spec_limits_set(&limits, i, spec_limits[i].max);
	return limits;
}

struct spec spec_default(void)
{
	struct spec spec;

	/* memset() and not an initializer: the padding is sent to the spawner too, and must not
	 * carry bytes of the server's stack. */
	memset(&spec, 0, sizeof spec);
	for (size_t i = 0; i < spec_limit_count; i++)
		spec_limits_set(&spec.limits, i, spec_limits[i].initial);
	spec.syscalls = SPEC_SYSCALLS_STANDARD;
	return spec;
}

uint64_t spec_disk_full(const struct spec_limits *limits)
{
	/* A new sandbox has some 30 KiB of directories; sessions and caches of interpreters add to
	 * it. */
	return limits->disk - num_max(limits->disk / 32, 128 * 1024);
}

uint64_t spec_file_max(const struct spec_limits *limits)
{
	return num_min(limits->file_size, spec_disk_full(limits));
}

const char *spec_limit_text(size_t i, uint64_t value, char out[SPEC_VALUE_SIZE])
{
	enum spec_unit unit = spec_limits[i].unit;
	int len;

	if (unit == SPEC_BYTES && value % SPEC_MIB(1) == 0)
		(void)snprintf(out, SPEC_VALUE_SIZE, "%" PRIu64 " MiB", value / SPEC_MIB(1));
	else if (unit == SPEC_BYTES)
		(void)snprintf(out, SPEC_VALUE_SIZE, "%" PRIu64 " bytes", value);
	else if (unit == SPEC_THOUSANDTHS) {
		len = snprintf(out, SPEC_VALUE_SIZE, "%" PRIu64 ".%03u", value / 1000,
		               (unsigned)(value % 1000));
		while (out[len - 1] == '0')
			out[--len] = '\0';
		if (out[len - 1] == '.')
			out[--len] = '\0';
	} else
		(void)snprintf(out, SPEC_VALUE_SIZE, "%" PRIu64, value);
	return out;
}

static int check_limits(const struct spec_limits *limits, struct error *err)
{
	for (size_t i = 0; i < spec_limit_count; i++) {
		const struct spec_limit *limit = &spec_limits[i];
		char shown[SPEC_VALUE_SIZE], min[SPEC_VALUE_SIZE], max[SPEC_VALUE_SIZE];
		uint64_t value = spec_limits_get(limits, i);

		if (value >= limit->min && value <= limit->max)
			continue;
		return error_set(err, ERR_INVALID, "limit '%s' (%s) is %s; it may be %s to %s",
		                 limit->name, limit->help, spec_limit_text(i, value, shown),
		                 spec_limit_text(i, limit->min, min),
		                 spec_limit_text(i, limit->max, max));
	}
	return 0;
}

int spec_check_ceilings(const struct spec *spec, const struct spec_limits *max, uint64_t gpus,
                        struct error *err)
{
	char shown[SPEC_VALUE_SIZE], allowed[SPEC_VALUE_SIZE];

	for (size_t i = 0; i < spec_limit_count; i++) {
		uint64_t value = spec_limits_get(&spec->limits, i);
		uint64_t ceiling = spec_limits_get(max, i);

		if (value > ceiling)
			return error_set(err, ERR_LIMIT,
			                 "limit '%s' (%s) is %s; this server allows at most %s",
			                 spec_limits[i].name, spec_limits[i].help,
			                 spec_limit_text(i, value, shown),
			                 spec_limit_text(i, ceiling, allowed));
	}
	if ((spec->gpus & ~gpus) != 0)
		return error_set(err, ERR_LIMIT,
		                 "gpus: the set %" PRIx64 " has devices outside of %" PRIx64
		                 ", which this server allows",
		                 spec->gpus, gpus);
	return 0;
}

/* In the spawner the struct holds bytes that another process sent. Reading a bool that holds
 * neither 0 nor 1 is undefined behaviour, so the byte is copied out and compared as a number. */
static int check_bool(const bool *field, const char *name, struct error *err)
{
	uint8_t byte;

	memcpy(&byte, field, sizeof byte);
	if (byte > 1)
		return error_set(err, ERR_INVALID, "'%s' is %u; it may be 0 or 1", name, byte);
	return 0;
}

/* True if the path `inner` is `outer` itself or lies below it. */
static bool is_within(const char *inner, const char *outer)
{
	size_t len = strlen(outer);

	return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

/* True if the path is absolute and in its shortest form, so that comparing prefixes of paths is
 * enough to tell what lies below what: "/workspace/../etc" must not pass for a workspace path. */
static bool is_clean(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/' || !utf8_is_valid(view_of(path)))
		return false;
	for (const char *at = path; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return strstr(path, "//") == NULL && strstr(path, "/./") == NULL &&
	       strstr(path, "/../") == NULL && path[len - 1] != '/' &&
	       (len < 2 || strcmp(path + len - 2, "/.") != 0) &&
	       (len < 3 || strcmp(path + len - 3, "/..") != 0);
}

/* True if a mount on `path` would replace or hide a part of the sandbox's own root. A host
 * directory mounted there could change the programs, the configuration or the device files that the
 * set-up and the agent rely on. */
static bool is_system(const char *path)
{
	/* Neither these directories nor anything below them may be a target. */
	static const char *const reserved[] = { "/proc", "/dev", "/sys", "/run",
		                                "/usr",  "/etc", "/bin", "/sbin" };
	/* A target may be below one of these, but not the directory itself nor a parent: the mount
	 * would hide what the set-up creates there. */
	static const char *const parents[] = { SPEC_WORKSPACE, SPEC_HOME, "/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (is_within(path, reserved[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(parents); i++)
		if (is_within(parents[i], path))
			return true;
	/* /lib, /lib64, /libx32 and the like are links into /usr. */
	return strncmp(path, "/lib", strlen("/lib")) == 0;
}

static int check_target(const char target[SPEC_TARGET_MAX + 1], unsigned number, struct error *err)
{
	char shown[SPEC_TARGET_MAX + 1];

	if (memchr(target, '\0', SPEC_TARGET_MAX + 1) == NULL)
		return error_set(err, ERR_INVALID, "the target of mount %u is longer than %d bytes",
		                 number, SPEC_TARGET_MAX);
	(void)utf8_escape(view_of(target), shown, sizeof shown);
	if (!is_clean(target))
		return error_set(err, ERR_INVALID,
		                 "the target of mount %u, '%s', must begin with '/' and have no "
		                 "'//', '.', '..', '/' at its end or control characters",
		                 number, shown);
	if (is_system(target))
		return error_set(err, ERR_INVALID,
		                 "the target of mount %u, '%s', belongs to the sandbox itself; "
		                 "choose a directory such as " SPEC_WORKSPACE "/data",
		                 number, shown);
	return 0;
}

static int check_mounts(const struct spec *spec, struct error *err)
{
	if (spec->mount_count > SPEC_MOUNTS_MAX)
		return error_set(err, ERR_INVALID, "%u mounts; at most %d are allowed",
		                 spec->mount_count, SPEC_MOUNTS_MAX);
	for (unsigned i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *mount = &spec->mounts[i];

		if (check_target(mount->target, i + 1, err) < 0)
			return -1;
		for (unsigned k = 0; k < i; k++)
			if (is_within(mount->target, spec->mounts[k].target) ||
			    is_within(spec->mounts[k].target, mount->target))
				return error_set(err, ERR_INVALID,
				                 "the targets of mounts %u and %u are the same "
				                 "directory or one within the other",
				                 k + 1, i + 1);
	}
	return 0;
}

/* --- images --- */

/* Whether the first `len` bytes are characters of the set, and begin and end with a letter or a
 * digit. */
static bool is_part(const char *text, size_t len, const char *set)
{
	return len != 0 && strspn(text, set) >= len && isalnum((unsigned char)text[0]) &&
	       isalnum((unsigned char)text[len - 1]);
}

/* Whether the part in front of the first slash is the name of a registry. */
static bool is_registry(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t host = colon != NULL ? (size_t)(colon - text) : len;
	size_t port = colon != NULL ? len - host - 1 : 0;

	if (!is_part(text, host,
	             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"))
		return false;
	if (colon != NULL)
		return port >= 1 && port <= 5 && strspn(colon + 1, "0123456789") == port;
	return memchr(text, '.', len) != NULL || strncmp(text, "localhost", len) == 0;
}

static bool is_digest(const char *text)
{
	static const char algorithm[] = "sha256:";
	const char *hex = text + strlen(algorithm);

	return strncmp(text, algorithm, strlen(algorithm)) == 0 &&
	       strspn(hex, "0123456789abcdef") == 64 && hex[64] == '\0';
}

static bool is_tag(const char *text, size_t len)
{
	return len >= 1 && len <= 128 && (isalnum((unsigned char)text[0]) || text[0] == '_') &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") >=
	               len;
}

bool spec_is_image(const char *text)
{
	size_t len = strcspn(text, "@"), part = strcspn(text, "/");
	const char *colon;

	if (strlen(text) > SPEC_IMAGE_MAX || (text[len] == '@' && !is_digest(text + len + 1)))
		return false;
	if (part < len && is_registry(text, part)) {
		text += part + 1;
		len -= part + 1;
	}
	colon = memchr(text, ':', len);
	if (colon != NULL) {
		if (!is_tag(colon + 1, len - (size_t)(colon + 1 - text)))
			return false;
		len = (size_t)(colon - text);
	}
	for (; (part = strcspn(text, "/")) < len; text += part + 1, len -= part + 1)
		if (!is_part(text, part, "abcdefghijklmnopqrstuvwxyz0123456789._-"))
			return false;
	return is_part(text, len, "abcdefghijklmnopqrstuvwxyz0123456789._-");
}

static int check_image(const struct spec *spec, struct error *err)
{
	if (memchr(spec->image, '\0', sizeof spec->image) == NULL)
		return error_set(err, ERR_INVALID, "'image' is longer than %d bytes",
		                 SPEC_IMAGE_MAX);
	if (spec->image[0] == '\0' || spec_is_image(spec->image))
		return 0;
	return error_set(err, ERR_INVALID,
	                 "image: '%s' is not the name of an image, such as python:3 or "
	                 "registry.example/team/tools:1.2",
	                 UTF8_ESCAPED(view_of(spec->image), 120));
}

int spec_check(const struct spec *spec, struct error *err)
{
	uint32_t calls;

	_Static_assert(sizeof spec->syscalls == sizeof calls,
	               "the enum is compared as a 32-bit number");
	if (memchr(spec->id, '\0', sizeof spec->id) == NULL || !spec_is_id(spec->id))
		return error_set(err, ERR_INVALID,
		                 "'id' is not \"sb_\" and 26 characters of a-z and 2-7");
	if (check_limits(&spec->limits, err) < 0)
		return -1;
	/* Copied as in check_bool(): the compiler may assume that an enum holds one of its
	 * values. */
	memcpy(&calls, &spec->syscalls, sizeof calls);
	if (calls >= SPEC_SYSCALLS_COUNT)
		return error_set(err, ERR_INVALID, "'syscalls' is %" PRIu32 "; it may be 0 to %d",
		                 calls, SPEC_SYSCALLS_COUNT - 1);
	if (check_bool(&spec->fresh, "fresh", err) < 0 || check_image(spec, err) < 0)
		return -1;
	if (spec->expires_s < 0)
		return error_set(err, ERR_INVALID,
		                 "'expires_s' is %" PRId64 "; it may be 0 or a time",
		                 spec->expires_s);
	return check_mounts(spec, err);
}

bool spec_is_alike(const struct spec *a, const struct spec *b)
{
	if (memcmp(&a->limits, &b->limits, sizeof a->limits) != 0 || a->gpus != b->gpus ||
	    a->syscalls != b->syscalls || a->mount_count != b->mount_count ||
	    strcmp(a->image, b->image) != 0)
		return false;
	for (unsigned i = 0; i < a->mount_count; i++)
		if (a->mounts[i].source != b->mounts[i].source ||
		    strcmp(a->mounts[i].target, b->mounts[i].target) != 0)
			return false;
	return true;
}

/* Ids are names of directories and cgroups, and of SQL rows. */
static const char id_prefix[] = "sb_";
enum { ID_PREFIX_LEN = sizeof id_prefix - 1, ID_DIGITS = SPEC_ID_LEN - ID_PREFIX_LEN };
enum { ID_BITS = 128 };
_Static_assert((ID_BITS + 4) / 5 == ID_DIGITS, "an id has 5 bits in each digit");

void spec_new_id(char id[SPEC_ID_LEN + 1])
{
	memcpy(id, id_prefix, ID_PREFIX_LEN);
	random_base32(id + ID_PREFIX_LEN, ID_BITS);
}

bool spec_is_id(const char *text)
{
	if (strncmp(text, id_prefix, ID_PREFIX_LEN) != 0)
		return false;
	text += ID_PREFIX_LEN;
	return strspn(text, RANDOM_BASE32_DIGITS) == ID_DIGITS && text[ID_DIGITS] == '\0';
}

bool spec_is_any_in(int at, const char *path)
{
	AUTO_DIR DIR *dir = fd_open_dir(at, path);
	const struct dirent *entry;
	bool found = false;

	while (!found && dir != NULL && (entry = readdir(dir)) != NULL)
		found = spec_is_id(entry->d_name);
	return found;
}
