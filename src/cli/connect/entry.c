#include "cli/connect/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "cli/connect/clients.h"

/* Each byte of a path or an option is escaped to six bytes at most; the options come from one
 * command line, which the kernel limits to two million bytes. */
enum { TEXT_MAX = 16 * 1024 * 1024 };

/* Cannot fail: every text here consists of a path, options and constants, which fit into
 * TEXT_MAX. */
static void add_bytes(struct buf *buf, struct view bytes)
{
	if (!buf_put(buf, bytes))
		abort();
}

static void add_text(struct buf *buf, const char *text)
{
	add_bytes(buf, view_of(text));
}

static char *take_text(struct buf *buf)
{
	char *text = mem_dup(buf_text(buf));

	buf_done(buf);
	return text;
}

static json_t *program_json(const struct entry *entry)
{
	json_t *object = json_obj();
	json_t *args = json_list();

	if (entry->client->typed)
		json_set_text(object, "type", "stdio");
	json_set_text(object, "command", entry->program);
	json_push(args, json_str("serve"));
	for (size_t i = 0; entry->options != NULL && entry->options[i] != NULL; i++)
		json_push(args, json_str(entry->options[i]));
	json_set(object, "args", args);
	return object;
}

/* "Bearer ${NAME}": the client puts the token in when it connects. The caller frees. */
static char *format_authorization(const struct entry *entry)
{
	const char *at = strstr(entry->client->variable, "%s");

	return mem_format("Bearer %.*s%s%s", (int)(at - entry->client->variable),
	                  entry->client->variable, entry->token_env, at + strlen("%s"));
}

static json_t *url_json(const struct entry *entry)
{
	json_t *object = json_obj();

	if (entry->client->typed)
		json_set_text(object, "type", "http");
	json_set_text(object, entry->client->url_key, entry->url);
	if (entry->token_env != NULL && entry->client->variable != NULL) {
		AUTO_FREE char *authorization = format_authorization(entry);

		json_set(object, "headers", json_pair("Authorization", json_str(authorization)));
	}
	return object;
}

json_t *entry_json(const struct entry *entry)
{
	return entry->url != NULL ? url_json(entry) : program_json(entry);
}

char *entry_snippet(const struct entry *entry)
{
	AUTO_JSON json_t *root = json_pair(entry->client->servers_key,
	                                   json_pair(entry->name, entry_json(entry)));
	size_t len;
	AUTO_FREE char *text = json_write_indented(root, 2, &len);

	return mem_format("%s\n", text);
}

static void add_shell_word(struct buf *buf, const char *text)
{
	static const char unquoted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                               "0123456789_./-+:@%,";

	if (text[0] != '\0' && text[strspn(text, unquoted)] == '\0') {
		add_text(buf, text);
		return;
	}
	add_text(buf, "'");
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			add_text(buf, "'\\''");
		else
			add_bytes(buf, (struct view){ text, 1 });
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

static void add_options(struct buf *buf, const struct entry *entry)
{
	for (size_t i = 0; entry->options != NULL && entry->options[i] != NULL; i++) {
		add_text(buf, " ");
		add_shell_word(buf, entry->options[i]);
	}
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

/* Adds the entry as Base64. Its '+', '/' and '=' have a meaning of their own in a URL's query, so
 * they are percent-encoded. */
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
			add_bytes(buf, (struct view){ p, 1 });
}

static void add_url(struct buf *buf, const struct entry *entry)
{
	add_shell_word(buf, entry->url);
}

static void add_header(struct buf *buf, const struct entry *entry)
{
	AUTO_FREE char *authorization = NULL;
	AUTO_FREE char *header = NULL;

	if (entry->token_env == NULL || entry->client->variable == NULL)
		return;
	authorization = format_authorization(entry);
	header = mem_format("Authorization: %s", authorization);
	add_text(buf, " --header ");
	add_shell_word(buf, header);
}

static void add_bearer(struct buf *buf, const struct entry *entry)
{
	if (entry->token_env == NULL)
		return;
	add_text(buf, " --bearer-token-env-var ");
	add_text(buf, entry->token_env);
}

static const struct word {
	const char *text;
	void (*add)(struct buf *buf, const struct entry *entry);
} words[] = {
	{ "{name}", add_name },     { "{program}", add_program }, { "{options}", add_options },
	{ "{json}", add_json },     { "{link}", add_link },       { "{url}", add_url },
	{ "{header}", add_header }, { "{bearer}", add_bearer },
};

static size_t add_word(struct buf *buf, const char *at, const struct entry *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strncmp(at, words[i].text, strlen(words[i].text)) == 0) {
			words[i].add(buf, entry);
			return strlen(words[i].text);
		}
	add_bytes(buf, (struct view){ at, 1 });
	return 1;
}

char *entry_options(const struct entry *entry)
{
	struct buf buf;

	buf_init(&buf, TEXT_MAX);
	add_options(&buf, entry);
	return take_text(&buf);
}

char *entry_command(const struct entry *entry)
{
	const char *command = entry->url != NULL ? entry->client->url_command
	                                         : entry->client->command;
	struct buf buf;

	if (command == NULL)
		return NULL;
	buf_init(&buf, TEXT_MAX);
	for (const char *p = command; *p != '\0';)
		p += add_word(&buf, p, entry);
	return take_text(&buf);
}
