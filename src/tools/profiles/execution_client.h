/* execution_client.h - the parts of the profile execution-client that its files share. */
#pragma once
#include "mcp/mcp_server.h"

extern const struct mcp_prompt execution_client_prompt;
