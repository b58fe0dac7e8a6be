// The official clients, and curl, with the real server over each HTTP transport.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { belljarFeatures } from '../lib/features-belljar.mjs';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { LAST_HANDSHAKE, MODERN } from '../lib/modern.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { stateDir } from '../lib/sandboxed.mjs';

const ways = [
  { name: 'client 1, streamable', version: 1 },
  { name: 'client 1, SSE', version: 1, kind: 'sse' },
  { name: 'client 2, default', version: 2, revision: LAST_HANDSHAKE },
  { name: 'client 2, SSE', version: 2, kind: 'sse', revision: LAST_HANDSHAKE },
  { name: 'client 2, auto', version: 2, mode: 'auto', revision: MODERN },
  { name: 'client 2, pinned', version: 2, mode: { pin: MODERN }, revision: MODERN },
];

const start = (t) =>
  startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0'], env: { BELLJAR_STATE_DIR: stateDir(t) } });

for (const { name, revision, ...way } of ways)
  test(name, async (t) => {
    const server = await start(t);
    for (const [what, check] of Object.entries(belljarFeatures))
      await t.test(what, async (t) => {
        const session = await connectHttp(t, server, way);
        if (revision) assert.equal(session.client.getNegotiatedProtocolVersion(), revision);
        await check(session);
        await session.client.close();
      });
    await server.close();
  });

/** Runs curl and returns the JSON of its answer, which may be in an event stream. */
function curl(url, message, ...headers) {
  const args = headers.flatMap((header) => ['-H', header]);
  const text = execFileSync('curl', ['-sS', '--max-time', '60', url, '-H', 'Content-Type: application/json', '-H', 'Accept: application/json, text/event-stream', ...args, '-d', JSON.stringify(message)], { encoding: 'utf8' });
  const events = text.split('\n').filter((line) => line.startsWith('data: {'));
  return JSON.parse(events.length ? events.at(-1).slice(6) : text);
}

test('curl, in both eras', async (t) => {
  const server = await start(t);
  const url = `${server.url}/mcp`;
  const session = await server.handshake(LAST_HANDSHAKE);
  const params = { name: 'run_command', arguments: { command: 'echo $((6*7))' } };
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
  const old = curl(url, message, `Mcp-Session-Id: ${session['mcp-session-id']}`);
  assert.equal(old.result.content[0].text, '42\n');
  const _meta = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} };
  const modern = curl(url, { ...message, params: { ...params, _meta } }, `MCP-Protocol-Version: ${MODERN}`, 'Mcp-Method: tools/call', 'Mcp-Name: run_command');
  assert.equal(modern.result.content[0].text, '42\n');
  await server.close();
});
