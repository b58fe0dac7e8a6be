#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server/options.h"

enum { KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB };

static const char *const log_levels[] = {
#define X(name, word) word,
	LOG_LEVELS(X)
#undef X
	        NULL,
};
_Static_assert(ARRAY_LEN(log_levels) == LOG_LEVEL_COUNT + 1, "a word for each level");

/* The name becomes a key in other programs' files and part of their tools' names. */
static bool is_server_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return text[len] == '\0' && len >= 1 && len <= 32;
}

#define FLAG(field)   .type = OPTION_TYPE_FLAG, .offset = offsetof(struct options, field)
#define TEXT(field)   .type = OPTION_TYPE_TEXT, .offset = offsetof(struct options, field)
#define PATH(field)   .type = OPTION_TYPE_PATH, .offset = offsetof(struct options, field)
#define CHOICE(field) .type = OPTION_TYPE_CHOICE, .offset = offsetof(struct options, field)
#define NUMBER(field) .type = OPTION_TYPE_NUMBER, .offset = offsetof(struct options, field)
#define SIZE(field)   .type = OPTION_TYPE_SIZE, .offset = offsetof(struct options, field)

/* clang-format off */
const struct option_spec option_specs[OPTION_COUNT] = {
	[OPTION_CONFIG] = { "config", PATH(config), .verbs = FOR_SERVE | FOR_DOCTOR, .word = "FILE",
		.help = "The configuration file to read instead of the usual one." },
	[OPTION_LOG_LEVEL] = { "log-level", CHOICE(log_level), .verbs = FOR_SERVE, .in_file = true,
		.word = "LEVEL", .fallback = "warning", .choices = log_levels,
		.help = "How much to log on standard error." },
	[OPTION_MAX_LINE] = { "max-line", SIZE(max_line), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "10M", .min = KIB, .max = 64 * MIB,
		.help = "Longest message a client may send, in bytes." },
	[OPTION_MAX_DEPTH] = { "max-depth", NUMBER(max_depth), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "64", .min = 8, .max = 512,
		.help = "Deepest nesting of arrays and objects in a message." },
	[OPTION_MAX_VALUES] = { "max-values", NUMBER(max_values), .verbs = FOR_SERVE,
		.in_file = true, .word = "N", .fallback = "200000", .min = 1000, .max = 10000000,
		.help = "Most JSON values in a message." },
	[OPTION_MAX_BATCH] = { "max-batch", NUMBER(max_batch), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "100", .min = 1, .max = 1000,
		.help = "Most messages in a batch." },
	[OPTION_MAX_CALLS] = { "max-calls", NUMBER(max_calls), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "256", .min = 1, .max = 10000,
		.help = "Most calls in progress per client." },
	[OPTION_MAX_HELD] = { "max-held", SIZE(max_held), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "64M", .min = MIB, .max = GIB,
		.help = "Bytes of messages whose calls are in progress, per client." },
	[OPTION_MAX_SUBSCRIPTIONS] = { "max-subscriptions", NUMBER(max_subscriptions),
		.verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "1000", .min = 1, .max = 100000,
		.help = "Most resource subscriptions and open listen streams per client." },
	[OPTION_MAX_QUEUE] = { "max-queue", SIZE(max_queue), .verbs = FOR_SERVE, .in_file = true,
		.word = "SIZE", .fallback = "64M", .min = MIB, .max = GIB,
		.help = "Most bytes that may wait for a client that does not read." },
	[OPTION_PAGE_SIZE] = { "page-size", NUMBER(page_size), .verbs = FOR_SERVE, .in_file = true,
		.word = "N", .fallback = "100", .min = 1, .max = 1000,
		.help = "Entries per page of a list." },
	[OPTION_GRACE] = { "grace", NUMBER(grace_ms), .verbs = FOR_SERVE, .in_file = true,
		.word = "MS", .fallback = "2000", .min = 0, .max = 60000,
		.help = "Milliseconds running calls get to stop when the client goes away or the "
			"server is told to end." },
	[OPTION_JSON] = { "json", FLAG(json), .verbs = FOR_DOCTOR, .flag_only = true,
		.help = "Print the report as JSON." },
	[OPTION_WRITE] = { "write", FLAG(write), .verbs = FOR_CONNECT, .flag_only = true,
		.help = "Edit the client's file, after making a backup beside it." },
	[OPTION_NAME] = { "name", TEXT(name), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "NAME", .fallback = "belljar", .accepts = is_server_name,
		.expected = "1 to 32 letters, digits, '_' or '-'",
		.help = "What the client calls this server." },
	[OPTION_FILE] = { "file", PATH(file), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "FILE",
		.help = "The file to edit instead of the client's usual one." },
};
/* clang-format on */

static const char *spell(const char *prefix, const char *name, bool upper,
                         char out[OPTION_NAME_SIZE])
{
	(void)snprintf(out, OPTION_NAME_SIZE, "%s%s", prefix, name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '-' ? '_' : upper ? (char)toupper((unsigned char)*p) : *p;
	return out;
}

const char *option_variable(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return spell(OPTION_VARIABLE_PREFIX, spec->name, true, out);
}

const char *option_key(const struct option_spec *spec, char out[OPTION_NAME_SIZE])
{
	return spell("", spec->name, false, out);
}
