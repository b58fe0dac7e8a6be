/* caller.h - who makes the calls of a session: decided by the transport, before the first message.
 *
 * The owner is the name under which a handler keeps what belongs to a caller: sandboxes, tasks,
 * subscriptions. Two callers with the same owner share all of it; callers with different owners
 * cannot learn of each other. */
#pragma once
#include <stdbool.h>

/* The rights of a caller. A tool, resource or template names the scope that its callers need. */
enum mcp_scope {
	MCP_SCOPE_NONE = 0,
	MCP_SCOPE_RUN = 1 << 0,
	MCP_SCOPE_FILES = 1 << 1,
	MCP_SCOPE_ADMIN = 1 << 2,
	MCP_SCOPE_ALL = MCP_SCOPE_RUN | MCP_SCOPE_FILES | MCP_SCOPE_ADMIN,
};

enum { MCP_LANGUAGE_SIZE = 4 };

struct mcp_caller {
	const char *owner;
	unsigned scopes; /* enum mcp_scope */
	/* The client runs on this machine, for the user who started the server: the directories
	 * that it declares as its roots are used. */
	bool has_roots;
	/* The language that messages for the client's user may be in: two or three lower-case
	 * letters of RFC 5646, such as "zh"; "" if the client has named none. */
	char language[MCP_LANGUAGE_SIZE];
};

/* Reads the language from the header Accept-Language, of which the best one is taken, or from the
 * name of a locale such as "zh_CN.UTF-8". NULL, "*" and locales without a language set none. */
void mcp_caller_set_language(struct mcp_caller *caller, const char *text);

/* "run", "files" or "admin": the names in tokens and in WWW-Authenticate. */
const char *mcp_scope_name(enum mcp_scope scope);
/* False if there is no scope of this name. */
bool mcp_scope_find(const char *name, enum mcp_scope *ret);
