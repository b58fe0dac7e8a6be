// sdk-http-server.mjs PORT - the smallest server over Streamable HTTP on the official TypeScript SDK 1.x:
// one session, plain JSON responses, the one tool that is measured.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '../e2e/node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp.js';
import { StreamableHTTPServerTransport } from '../e2e/node_modules/@modelcontextprotocol/sdk/dist/esm/server/streamableHttp.js';

const server = new McpServer({ name: 'sdk-http-server', version: '1.0.0' });

server.registerTool('test_simple_text', { description: 'Answers with a line of text.' }, () => ({
  content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
}));
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true });
await server.connect(transport);
createServer((request, response) => transport.handleRequest(request, response)).listen(
  Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
