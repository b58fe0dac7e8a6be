// Programs that people have: the command line of the MCP Inspector and curl, over each transport.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { startHttp } from '../lib/http.mjs';
import { MODERN, envelope } from '../lib/modern.mjs';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';
import { bearer, eventually, scratch, tokenFile } from '../lib/tokens.mjs';

const INSPECTOR = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/clients/cli/build/index.js');

async function run(program, args, env = serverEnv()) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

test('the command line of the MCP Inspector works over every transport', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {} });
  const server = await startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', '--auth', 'token', '--token-file', path] });
  // The Inspector keeps a catalogue of servers in the home directory.
  const env = serverEnv({ HOME: scratch(t) });
  const inspect = async (target, ...args) => JSON.parse(await run(process.execPath, [INSPECTOR, ...target, ...args], env));
  const header = ['--header', `Authorization: Bearer ${tokens.alice}`];
  const targets = {
    stdio: [BELLJAR, 'serve'],
    'Streamable HTTP': [`${server.url}/mcp`, '--transport', 'http', ...header],
    SSE: [`${server.url}/sse`, '--transport', 'sse', ...header],
  };
  for (const [name, target] of Object.entries(targets)) {
    const { tools } = await inspect(target, '--method', 'tools/list');
    assert.ok(tools.some((tool) => tool.name === 'run_command'), name);
    const result = await inspect(target, '--method', 'tools/call', '--tool-name', 'run_command', '--tool-arg', 'command=echo $((6 * 7))');
    assert.equal(result.content[0].text.trim(), '42', name);
    const { contents } = await inspect(target, '--method', 'resources/read', '--uri', 'belljar://tools/run_code');
    assert.match(contents[0].text, /^# run_code/, name);
  }
  await server.close();
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;
const JSON_TYPE = ['-H', 'Content-Type: application/json'];
const BOTH = ['-H', 'Accept: application/json, text/event-stream'];
const call = { name: 'run_command', arguments: { command: 'echo $((6 * 7))' } };
const curl = (...args) => run('curl', ['-sS', '--max-time', '60', ...args]);
const request = (method, params, id) => ['-d', JSON.stringify({ jsonrpc: '2.0', ...(id && { id }), method, params })];
const hello = (protocolVersion) => ({ protocolVersion, capabilities: {}, clientInfo: { name: 'curl', version: '1' } });

test('curl over Streamable HTTP with a session', { skip: !hasCurl }, async (t) => {
  const server = await startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0'] });
  const post = (...args) => curl(...JSON_TYPE, ...BOTH, ...args, `${server.url}/mcp`);
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    const head = await post('-D', '-', '-o', '/dev/null', ...request('initialize', hello(revision), 1));
    const session = ['-H', `Mcp-Session-Id: ${/^mcp-session-id: (\S+)/im.exec(head)[1]}`, '-H', `MCP-Protocol-Version: ${revision}`];
    assert.equal(await post(...session, ...request('notifications/initialized')), '');
    assert.match(await post(...session, ...request('tools/call', call, 2)), /"text":"42\\n/, revision);
    assert.equal(await curl('-X', 'DELETE', ...session, '-o', '/dev/null', '-w', '%{http_code}', `${server.url}/mcp`), '200');
  }
  await server.close();
});

test('curl without a session, by the stateless revision', { skip: !hasCurl }, async (t) => {
  const server = await startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0'] });
  const headers = ['-H', `MCP-Protocol-Version: ${MODERN}`, '-H', 'Mcp-Method: tools/call', '-H', 'Mcp-Name: run_command'];
  const answer = await curl(...JSON_TYPE, ...BOTH, ...headers, ...request('tools/call', { ...call, _meta: envelope() }, 1), `${server.url}/mcp`);
  assert.match(answer, /"resultType":"complete"/);
  assert.match(answer, /"text":"42\\n/);
  await server.close();
});

test('curl over HTTP+SSE', { skip: !hasCurl }, async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {} });
  const server = await startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', '--auth', 'token', '--token-file', path] });
  const token = ['-H', `Authorization: ${bearer(tokens.alice).authorization}`];
  const stream = spawn('curl', ['-sSN', ...token, `${server.url}/sse`], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => stream.kill());
  let text = '';
  stream.stdout.setEncoding('utf8').on('data', (part) => (text += part));
  const [, endpoint] = await eventually(() => /^event: endpoint\ndata: (\S+)$/m.exec(text), 'the endpoint');
  const post = (...args) => curl(...JSON_TYPE, ...token, '-o', '/dev/null', '-w', '%{http_code}', ...args, new URL(endpoint, server.url).href);
  assert.equal(await post(...request('initialize', hello('2024-11-05'), 1)), '202');
  await eventually(() => /"protocolVersion":"2024-11-05"/.test(text), 'the answer to initialize');
  assert.equal(await post(...request('notifications/initialized')), '202');
  assert.equal(await post(...request('tools/call', call, 2)), '202');
  await eventually(() => /"text":"42\\n/.test(text), 'the result');
  stream.kill();
  await server.close();
});
