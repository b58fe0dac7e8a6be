/* client_shell.c - the interactive loop of `belljar client`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/ansi_filter.h"
#include "base/text/utf8.h"
#include "cli/client/client.h"
#include "cli/client/client_arguments.h"
#include "cli/client/line_editor.h"
#include "cli/support/out.h"
#include "cli/support/terminal.h"

#define PROMPT "belljar> "

struct shell {
	struct client *client;
	json_t *tools, *prompts; /* their lists, for completion and help */
	struct line_editor editor;
	bool is_terminal, has_quit;
	bool has_failed; /* a line was wrong, or the result of a tool was an error */
};

/* --- help and history ---------------------------------------------------------------- */

static const struct shell_command {
	const char *name, *help;
	void (*run)(struct shell *shell, const char *rest);
} commands[];

static const json_t *find_tool(const struct shell *shell, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach (shell->tools, i, tool) {
		const char *own = json_text(tool, "name");

		if (own != NULL && strcmp(own, name) == 0)
			return tool;
	}
	return NULL;
}

static bool is_required(const json_t *schema, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(schema, "required"), i, entry) {
		const char *own = json_as_text(entry);

		if (own != NULL && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

static void print_text(size_t indent, const char *text)
{
	out_wrapped(indent, 0, UTF8_ESCAPED(view_of(text), 2048));
}

static void print_tool(const json_t *tool)
{
	json_t *schema = json_object_get(tool, "inputSchema"), *property;
	const char *name, *help = json_text(tool, "description");

	print_text(0, help != NULL ? help : "");
	json_object_foreach (json_object_get(schema, "properties"), name, property) {
		const char *type = json_text(property, "type");
		char line[1024];

		help = json_text(property, "description");
		(void)snprintf(line, sizeof line, "%.100s=%.20s%s  %.800s", name,
		               type != NULL ? type : "value",
		               is_required(schema, name) ? " (required)" : "",
		               help != NULL ? help : "");
		print_text(2, line);
	}
}

static void print_help(struct shell *shell, const char *rest)
{
	const json_t *tool = rest[0] != '\0' ? find_tool(shell, rest) : NULL;

	if (tool != NULL) {
		print_tool(tool);
		return;
	}
	for (size_t i = 0; client_actions[i].name != NULL; i++) {
		const struct client_action *action = &client_actions[i];
		AUTO_FREE char *form = mem_format("%s%s%s%s", action->name,
		                                  action->operand != NULL ? " " : "",
		                                  action->operand != NULL ? action->operand : "",
		                                  action->takes_json ? " [ARGUMENTS]" : "");

		out("  %-24s %s\n", form, action->help);
	}
	for (size_t i = 0; commands[i].name != NULL; i++)
		out("  %-24s %s\n", commands[i].name, commands[i].help);
	out("  %-24s %s\n", "TOOL [ARGUMENTS]", "The same as 'call TOOL'.");
	out("ARGUMENTS is a JSON object, or words such as path=a.txt content='some text'. Tab "
	    "completes, the arrow keys show earlier lines, Ctrl-C cancels a call.\n");
}

static void print_history(struct shell *shell, const char *rest)
{
	(void)rest;
	for (size_t i = 0; i < shell->editor.history_count; i++)
		out("%4zu  %s\n", i + 1, shell->editor.history[i]);
}

static void quit_shell(struct shell *shell, const char *rest)
{
	(void)rest;
	shell->has_quit = true;
}

static const struct shell_command commands[] = {
	{ "help", "This list; 'help TOOL' describes a tool.", print_help },
	{ "history", "The lines of this session.", print_history },
	{ "quit", "End; so does Ctrl-D.", quit_shell },
	{ "exit", "The same.", quit_shell },
	{ NULL, NULL, NULL },
};

/* --- completion ---------------------------------------------------------------------- */

static void add_word(const char *word, const char *typed, const char **words, size_t *count)
{
	if (word != NULL && *count < LINE_EDITOR_WORDS_MAX &&
	    strncmp(word, typed, strlen(typed)) == 0)
		words[(*count)++] = word;
}

static void add_names(const json_t *list, const char *typed, const char **words, size_t *count)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		add_word(json_text(entry, "name"), typed, words, count);
}

/* The first word is a command or a tool, a second one behind call, help and prompt a name. Words
 * behind a tool are its arguments. */
static size_t complete_line(void *ctx, const char *line, const char *words[LINE_EDITOR_WORDS_MAX])
{
	static char arguments[LINE_EDITOR_WORDS_MAX][80];
	const struct shell *shell = ctx;
	const char *last = strrchr(line, ' '), *typed = last != NULL ? last + 1 : line;
	char first[80] = "", second[80] = "", form[80];
	size_t count = 0, filled = 0;
	const json_t *tool;
	json_t *property;
	const char *name;

	(void)sscanf(line, "%79s %79s", first, second);
	if (last == NULL) {
		for (size_t i = 0; client_actions[i].name != NULL; i++)
			add_word(client_actions[i].name, typed, words, &count);
		for (size_t i = 0; commands[i].name != NULL; i++)
			add_word(commands[i].name, typed, words, &count);
		add_names(shell->tools, typed, words, &count);
		return count;
	}
	if (last == line + strlen(first)) {
		if (strcmp(first, "call") == 0 || strcmp(first, "help") == 0)
			add_names(shell->tools, typed, words, &count);
		else if (strcmp(first, "prompt") == 0)
			add_names(shell->prompts, typed, words, &count);
		if (count != 0)
			return count;
	}
	tool = find_tool(shell, strcmp(first, "call") == 0 ? second : first);
	json_object_foreach (json_object_get(json_object_get(tool, "inputSchema"), "properties"),
	                     name, property) {
		(void)snprintf(form, sizeof form, "%.70s=", name);
		if (filled == LINE_EDITOR_WORDS_MAX || strncmp(form, typed, strlen(typed)) != 0)
			continue;
		memcpy(arguments[filled], form, sizeof form);
		words[count++] = arguments[filled++];
	}
	return count;
}

/* --- lines --------------------------------------------------------------------------- */

/* Cuts the first word off *rest, without the spaces around it. */
static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t"), *end = word + strcspn(word, " \t");

	*rest = end + strspn(end, " \t");
	*end = '\0';
	return word;
}

static int run_action(struct shell *shell, const struct client_action *action, char *rest,
                      const char *operand, struct error *err)
{
	struct client *client = shell->client;
	const json_t *tool;

	client->words[0] = action->name;
	client->words[1] = operand;
	if (action->operand != NULL && operand[0] == '\0')
		return error_set(err, ERR_INVALID, "%s: the %s is missing", action->name,
		                 action->operand);
	json_decref(client->arguments);
	client->arguments = NULL;
	if (!action->takes_json && rest[0] != '\0')
		return error_set(err, ERR_INVALID, "%s: unexpected argument '%.80s'", action->name,
		                 rest);
	tool = find_tool(shell, operand);
	if (action->takes_json && client_arguments(rest, json_object_get(tool, "inputSchema"),
	                                           &client->arguments, err) < 0)
		return -1;
	return action->act(client, err);
}

static int run_line(struct shell *shell, char *line, struct error *err)
{
	char *rest = line, *word = take_word(&rest), *operand;
	const struct client_action *action = client_find_action(word);

	if (word[0] == '\0' || word[0] == '#')
		return 0;
	for (size_t i = 0; commands[i].name != NULL; i++)
		if (strcmp(word, commands[i].name) == 0) {
			commands[i].run(shell, rest);
			return 0;
		}
	if (action != NULL) {
		operand = action->operand != NULL ? take_word(&rest) : rest + strlen(rest);
		return run_action(shell, action, rest, operand, err);
	}
	if (find_tool(shell, word) != NULL)
		return run_action(shell, client_find_action("call"), rest, word, err);
	return error_set(err, ERR_INVALID,
	                 "there is no command and no tool '%s'; 'help' lists both",
	                 UTF8_ESCAPED(view_of(word), 80));
}

/* --- input --------------------------------------------------------------------------- */

static void write_terminal(const struct buf *bytes)
{
	struct error ignored;

	(void)!fd_write_all(STDOUT_FILENO, buf_view(bytes), &ignored);
}

static void draw_line(const struct shell *shell, enum line_event event)
{
	AUTO_BUF struct buf text;
	uint16_t rows, columns;

	buf_init(&text, LINE_EDITOR_MAX);
	terminal_size(&rows, &columns);
	if (event == LINE_CLEAR)
		buf_putf(&text, "\x1b[H\x1b[2J");
	for (size_t i = 0; event == LINE_CHOICES && i < shell->editor.choice_count; i++)
		buf_putf(&text, "%s%s", i == 0 ? "\r\n" : "  ", shell->editor.choices[i]);
	if (event == LINE_CHOICES || event == LINE_CANCELLED)
		buf_putf(&text, "%s\r\n", event == LINE_CANCELLED ? "^C" : "");
	line_editor_draw(&shell->editor, PROMPT, columns, &text);
	write_terminal(&text);
}

/* Reads one line in raw mode. Returns NULL at the end; the caller frees. */
static char *edit_line(struct shell *shell)
{
	struct ansi_filter nothing_drawn = { 0 };
	enum line_event event = LINE_CHANGED;
	struct error err;
	char byte;

	line_editor_begin(&shell->editor);
	if (terminal_set_raw(&err) < 0)
		return NULL;
	draw_line(shell, event);
	while (event != LINE_DONE && event != LINE_END) {
		ssize_t n = read(STDIN_FILENO, &byte, 1);

		if (n < 0 && errno == EINTR)
			continue;
		event = n == 1 ? line_editor_byte(&shell->editor, byte) : LINE_END;
		draw_line(shell, event);
	}
	terminal_restore(&nothing_drawn);
	out("\n");
	return event == LINE_DONE ? mem_dup(buf_text(&shell->editor.line)) : NULL;
}

static char *read_line(struct shell *shell)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	(void)fflush(stdout);
	if (shell->is_terminal)
		return edit_line(shell);
	len = getline(&line, &size, stdin);
	if (len < 0) {
		free(line);
		return NULL;
	}
	if (len != 0 && line[len - 1] == '\n')
		line[len - 1] = '\0';
	return line;
}

/* A call that fails or is cancelled does not end the loop; the end of the server does. */
static int run_lines(struct shell *shell, struct error *err)
{
	char *line;

	while (!shell->has_quit && (line = read_line(shell)) != NULL) {
		int r;

		line_editor_remember(&shell->editor, line);
		shell->client->failed = false;
		r = run_line(shell, line, err);
		free(line);
		shell->has_failed |= r < 0 || shell->client->failed;
		if (r == 0)
			continue;
		if (!client_link_resume(&shell->client->link))
			return -1;
		out("error: %s\n", err->msg);
	}
	return 0;
}

int client_shell(struct client *client, struct error *err)
{
	struct shell shell = { .client = client,
		               .is_terminal = isatty(STDIN_FILENO) == 1 &&
		                              isatty(STDOUT_FILENO) == 1 };
	struct error none;
	int r;

	line_editor_init(&shell.editor, complete_line, &shell);
	/* A server need not have prompts. */
	r = client_link_list(&client->link, "tools/list", "tools", &shell.tools, err);
	if (r == 0)
		(void)!client_link_list(&client->link, "prompts/list", "prompts", &shell.prompts,
		                        &none);
	if (r == 0 && shell.is_terminal)
		out("%zu tools; 'help' lists the commands, Tab completes, Ctrl-D ends.\n",
		    json_array_size(shell.tools));
	if (r == 0)
		r = run_lines(&shell, err);
	json_decref(shell.tools);
	json_decref(shell.prompts);
	line_editor_done(&shell.editor);
	client->failed = shell.has_failed && !shell.is_terminal;
	return r;
}
