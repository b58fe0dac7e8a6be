#include "cli/connect/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "cli/connect/clients.h"

/* A path and what is around it, each byte escaped to six at most. */
enum { TEXT_MAX = 64 * 1024 };

/* All texts here are made of a bounded path and constants, so they fit. */
static void add(struct buf *buf, struct view bytes)
{
	struct error err;

	if (buf_add(buf, bytes, &err) < 0)
		abort();
}

static void add_text(struct buf *buf, const char *text)
{
	add(buf, view_of(text));
}

static char *finish(struct buf *buf)
{
	char *text = mem_dup(buf_text(buf));

	buf_done(buf);
	return text;
}

/* --- JSON --- */

json_t *entry_json(const struct entry *entry)
{
	json_t *object = json_obj();
	json_t *args = json_list();

	if (entry->client->typed)
		json_set_text(object, "type", "stdio");
	json_set_text(object, "command", entry->program);
	json_push(args, json_str("serve"));
	json_set(object, "args", args);
	return object;
}

static char *json_snippet(const struct entry *entry)
{
	AUTO_JSON json_t *root = json_obj();
	json_t *servers = json_obj();
	AUTO_FREE char *text = NULL;
	size_t len;

	json_set(servers, entry->name, entry_json(entry));
	json_set(root, entry->client->servers_key, servers);
	text = json_write_indented(root, 2, &len);
	return mem_format("%s\n", text);
}

/* --- TOML --- */

/* A basic string: quotes, backslashes and controls escaped, the rest as it is. */
static void add_toml_string(struct buf *buf, const char *text)
{
	add_text(buf, "\"");
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		AUTO_FREE char *escaped = NULL;

		if (byte == '"' || byte == '\\')
			escaped = mem_format("\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			escaped = mem_format("\\u%04X", byte);
		if (escaped != NULL)
			add_text(buf, escaped);
		else
			add(buf, (struct view){ text, 1 });
	}
	add_text(buf, "\"");
}

const char *const entry_toml_keys[ENTRY_TOML_KEYS] = {
	[ENTRY_TOML_COMMAND] = "command",
	[ENTRY_TOML_ARGS] = "args",
};

char *entry_toml_value(const struct entry *entry, size_t key)
{
	struct buf buf;

	buf_init(&buf, TEXT_MAX);
	if (key == ENTRY_TOML_COMMAND)
		add_toml_string(&buf, entry->program);
	else
		add_text(&buf, "[\"serve\"]");
	return finish(&buf);
}

char *entry_toml(const struct entry *entry, const char *newline)
{
	struct buf buf;

	buf_init(&buf, TEXT_MAX);
	add_text(&buf, "[mcp_servers.");
	add_text(&buf, entry->name);
	add_text(&buf, "]");
	add_text(&buf, newline);
	for (size_t i = 0; i < ENTRY_TOML_KEYS; i++) {
		AUTO_FREE char *value = entry_toml_value(entry, i);

		add_text(&buf, entry_toml_keys[i]);
		add_text(&buf, " = ");
		add_text(&buf, value);
		add_text(&buf, newline);
	}
	return finish(&buf);
}

char *entry_snippet(const struct entry *entry)
{
	return entry->client->servers_key != NULL ? json_snippet(entry) : entry_toml(entry, "\n");
}

/* --- the client's own command --- */

static void add_shell_word(struct buf *buf, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789_./-+:@%,";

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		add_text(buf, text);
		return;
	}
	add_text(buf, "'");
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			add_text(buf, "'\\''");
		else
			add(buf, (struct view){ text, 1 });
	}
	add_text(buf, "'");
}

static void add_name(struct buf *buf, const struct entry *entry)
{
	add_text(buf, entry->name);
}

static void add_program(struct buf *buf, const struct entry *entry)
{
	add_shell_word(buf, entry->program);
}

static void add_json(struct buf *buf, const struct entry *entry)
{
	AUTO_JSON json_t *named = json_obj();
	AUTO_JSON json_t *object = entry_json(entry);
	AUTO_FREE char *text = NULL;
	size_t len;

	json_set_text(named, "name", entry->name);
	if (json_object_update(named, object) < 0)
		abort();
	text = json_write(named, &len);
	add_shell_word(buf, text);
}

/* Base64 of the entry; its '+', '/' and '=' mean something else in an address. */
static void add_link(struct buf *buf, const struct entry *entry)
{
	AUTO_JSON json_t *object = entry_json(entry);
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *encoded = NULL;
	size_t len;

	text = json_write(object, &len);
	encoded = base64_encode((struct view){ text, len });
	for (const char *p = encoded; *p != '\0'; p++)
		if (*p == '+')
			add_text(buf, "%2B");
		else if (*p == '/')
			add_text(buf, "%2F");
		else if (*p == '=')
			add_text(buf, "%3D");
		else
			add(buf, (struct view){ p, 1 });
}

static const struct word {
	const char *text;
	void (*add)(struct buf *buf, const struct entry *entry);
} words[] = {
	{ "{name}", add_name },
	{ "{program}", add_program },
	{ "{json}", add_json },
	{ "{link}", add_link },
};

static size_t add_word(struct buf *buf, const char *at, const struct entry *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strncmp(at, words[i].text, strlen(words[i].text)) == 0) {
			words[i].add(buf, entry);
			return strlen(words[i].text);
		}
	add(buf, (struct view){ at, 1 });
	return 1;
}

char *entry_command(const struct entry *entry)
{
	struct buf buf;

	if (entry->client->command == NULL)
		return NULL;
	buf_init(&buf, TEXT_MAX);
	for (const char *p = entry->client->command; *p != '\0';)
		p += add_word(&buf, p, entry);
	return finish(&buf);
}
