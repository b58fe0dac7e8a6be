// sdk-server.mjs - the smallest server on the official TypeScript SDK 1.x, with the one tool that is
// measured. The SDK is imported by path, because node_modules belongs to tests/e2e.
import { McpServer } from '../e2e/node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp.js';
import { StdioServerTransport } from '../e2e/node_modules/@modelcontextprotocol/sdk/dist/esm/server/stdio.js';

const server = new McpServer({ name: 'sdk-server', version: '1.0.0' });

server.registerTool('test_simple_text', { description: 'Answers with a line of text.' }, () => ({
  content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
}));
await server.connect(new StdioServerTransport());
