/* examples.h - how each tool is called, for its manual. A test holds them against the tables. */
#pragma once

struct tool_example {
	const char *tool, *what;
	const char *arguments; /* JSON */
};

/* Those of one tool stand together. A NULL tool ends them. */
extern const struct tool_example tool_examples[];
