/* mcp_input.c - a message of the client after parsing: its kind, and the session it belongs to. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

struct mcp_input *mcp_input_new(const struct mcp_server *server, struct view text)
{
	struct mcp_input *input = mem_new(sizeof *input);

	input->limits = &server->config.limits;
	input->bytes = text.len;
	if (json_read(text, &input->limits->json, &input->message, &input->id, &input->err) < 0)
		input->is_invalid = true;
	else if (!json_is_array(input->message))
		input->is_invalid = rpc_decode(input->message, &input->rpc, &input->err) < 0;
	if (input->id != NULL && !rpc_is_id(input->id)) {
		json_decref(input->id);
		input->id = NULL;
	}
	return input;
}

struct mcp_input *mcp_input_free(struct mcp_input *input)
{
	if (input == NULL)
		return NULL;
	json_decref(input->message);
	json_decref(input->id);
	mem_trim(input->bytes);
	free(input);
	return NULL;
}

/* Checks every message of a batch. One invalid message makes the whole batch an error. */
int input_check_batch(const struct mcp_input *input, enum mcp_revision revision, struct error *err)
{
	const size_t max = input->limits->max_batch;
	struct rpc_message rpc;
	json_t *message;
	size_t i;

	if (!mcp_revision_has(revision, MCP_BATCHES))
		return error_set(err, ERR_INVALID,
		                 "revision %s has no batches: send one message a line",
		                 mcp_revision_name(revision));
	if (json_array_size(input->message) == 0)
		return error_set(err, ERR_INVALID, "an empty batch is not allowed");
	if (json_array_size(input->message) > max)
		return error_set(
		        err, ERR_LIMIT,
		        "more than %zu messages in a batch (max_batch); send fewer at once", max);
	json_array_foreach (input->message, i, message) {
		if (rpc_decode(message, &rpc, err) < 0)
			return error_wrap(err, "message %zu of the batch", i + 1);
		if (request_meta_has_version(rpc.params))
			return error_set(
			        err, ERR_INVALID,
			        "message %zu of the batch: stateless revisions have no batches",
			        i + 1);
		if (rpc.kind == RPC_REQUEST && strcmp(rpc.method, "initialize") == 0)
			return error_set(err, ERR_INVALID,
			                 "message %zu of the batch: 'initialize' must stand alone",
			                 i + 1);
	}
	return 0;
}

/* An `initialize` whose _meta does not make it a valid request of the stateless era is a
 * handshake. */
bool input_is_handshake(const struct rpc_message *rpc)
{
	struct request_meta meta;

	if (rpc->kind != RPC_REQUEST || strcmp(rpc->method, "initialize") != 0)
		return false;
	return !request_meta_has_version(rpc->params) || !request_meta_read(rpc->params, &meta) ||
	       !mcp_revision_is_stateless(meta.version);
}

enum mcp_route mcp_input_route(const struct mcp_input *input, const struct mcp_headers *headers)
{
	bool names_stateless = headers->version != NULL &&
	                       mcp_revision_is_stateless(headers->version);
	struct error ignored;

	if (input->is_invalid)
		return MCP_ROUTE_ALONE;
	if (json_is_array(input->message))
		return input_check_batch(input, MCP_DEFAULT_REVISION, &ignored) < 0
		               ? MCP_ROUTE_ALONE
		               : MCP_ROUTE_SESSION;
	if (input->rpc.kind == RPC_RESPONSE)
		return MCP_ROUTE_SESSION;
	if (input_is_handshake(&input->rpc))
		return names_stateless ? MCP_ROUTE_ALONE : MCP_ROUTE_INITIALIZE;
	if (request_meta_has_version(input->rpc.params) || names_stateless)
		return MCP_ROUTE_ALONE;
	return MCP_ROUTE_SESSION;
}
