#include "cli/connect/clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* clang-format off */
static const struct client clients[] = {
	{ "claude-code", "Claude Code", "CLAUDE_CONFIG_DIR", "", ".claude.json", "mcpServers", true,
		"claude mcp add --scope user {name} -- {program} serve{options}",
		"Start a new Claude Code session; /mcp shows the server.",
		.url_key = "url", .variable = "${%s}",
		.url_command = "claude mcp add --scope user --transport http "
			       "{name} {url}{header}" },
	{ "claude-desktop", "Claude Desktop", "XDG_CONFIG_HOME", "/.config",
		"Claude/claude_desktop_config.json", "mcpServers", false, NULL,
		"Quit Claude Desktop and start it again.",
		.url_refusal = "Claude Desktop's file has no entries for servers at a URL: add "
			       "the URL in its settings, under Connectors" },
	{ "cursor", "Cursor", NULL, "/.cursor", "mcp.json", "mcpServers", false,
		"cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={link}",
		"Switch the server on in Cursor's settings, under MCP.",
		.url_key = "url", .variable = "${env:%s}",
		.url_command = "cursor://anysphere.cursor-deeplink/mcp/install?name={name}"
			       "&config={link}" },
	{ "vscode", "VS Code", "XDG_CONFIG_HOME", "/.config", "Code/User/mcp.json", "servers", true,
		"code --add-mcp {json}",
		"Run 'MCP: List Servers' in VS Code and start the server.",
		.url_key = "url", .variable = "${env:%s}", .url_command = "code --add-mcp {json}" },
	{ "gemini", "Gemini CLI", NULL, "/.gemini", "settings.json", "mcpServers", false,
		"gemini mcp add -s user {name} {program} serve{options}",
		"Start Gemini CLI again; /mcp shows the server. In a folder it does not trust it "
		"shows servers as disabled: answer its trust prompt, or use /permissions.",
		.url_key = "httpUrl", .variable = "${%s}",
		.url_command = "gemini mcp add -s user --transport http {name} {url}{header}" },
	{ "codex", "Codex", "CODEX_HOME", "/.codex", "config.toml", NULL /* TOML */, false,
		"codex mcp add {name} -- {program} serve{options}",
		"Start Codex again; /mcp shows the server.",
		.url_command = "codex mcp add {name} --url {url}{bearer}" },
	{ "windsurf", "Windsurf", NULL, "/.codeium", "windsurf/mcp_config.json", "mcpServers",
		false, NULL, "Refresh the list of MCP servers in Windsurf's settings.",
		.url_key = "serverUrl", .variable = "${env:%s}" },
	{ "zed", "Zed", "XDG_CONFIG_HOME", "/.config", "zed/settings.json", "context_servers",
		false, NULL, "Zed reads it at once; the agent panel's settings show the server.",
		.url_key = "url" },
};
/* clang-format on */

const struct client *client_at(size_t i)
{
	return i < ARRAY_LEN(clients) ? &clients[i] : NULL;
}

const struct client *client_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

const char *client_name_at(size_t i)
{
	return i < ARRAY_LEN(clients) ? clients[i].name : NULL;
}

char *client_path(const struct client *client)
{
	const char *base = client->base != NULL ? getenv(client->base) : NULL;
	const char *home = getenv("HOME");

	if (base != NULL && base[0] == '/')
		return mem_format("%s/%s", base, client->file);
	if (home != NULL && home[0] == '/')
		return mem_format("%s%s/%s", home, client->base_home, client->file);
	return NULL;
}
