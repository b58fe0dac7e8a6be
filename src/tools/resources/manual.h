/* manual.h - a tool's manual, written from its record. */
#pragma once
#include "base/attr.h"

struct buf;
struct error;
struct mcp_tool;

/* Markdown: what it does, its arguments with what they take, what it answers, examples. */
MUST_CHECK int manual_write(const struct mcp_tool *tool, struct buf *buf, struct error *err);
