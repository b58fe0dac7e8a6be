// The limits that errors name are settings of the same name: raised or lowered by flag or
// environment, they take effect, and server_info reports them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BELLJAR } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const ping = (params, id = 'r') => ({ jsonrpc: '2.0', id, method: 'ping', params });
const wait = (id) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'run_command', arguments: { command: 'sleep 300' } },
});

const settings = [
  { name: 'max_line', value: '16K', reported: 16384, send: [ping({ x: 'x'.repeat(16384) })], code: -32600, id: 'r' },
  { name: 'max_depth', value: '8', reported: 8, send: [ping({ x: [[[[[[[]]]]]]] })], code: -32600, id: 'r' },
  { name: 'max_values', value: '1000', reported: 1000, send: [ping({ x: Array(1001).fill(0) })], code: -32600, id: 'r' },
  { name: 'max_batch', value: '2', reported: 2, send: [[ping({}, 1), ping({}, 2), ping({}, 3)]], code: -32600, id: null },
  { name: 'max_calls', value: '2', reported: 2, send: [wait(1), wait(2), wait('r')], code: -32603, id: 'r' },
];

async function limitsOf(server) {
  const { result } = await server.call('server_info', { detail: 'full' });
  const { limits } = JSON.parse(result.content[0].text);
  return Object.fromEntries(limits.map(({ name, value }) => [name, value]));
}

for (const { name, value, reported, send, code, id } of settings) {
  const flag = `--${name.replaceAll('_', '-')}`;
  const variable = `BELLJAR_${name.toUpperCase()}`;
  const ways = {
    [`${flag} ${value}`]: { args: ['serve', flag, value] },
    [`${variable}=${value}`]: { env: { [variable]: value } },
  };
  for (const [how, options] of Object.entries(ways))
    test(how, async (t) => {
      const server = start(t, BELLJAR, options);
      assert.equal((await limitsOf(server))[name], reported);
      for (const message of send) server.send(message);
      assertError(await server.next(), code, new RegExp(`\\(${name}\\)`), id);
      await server.close();
    });
}

test('--max-line raises the limit of a line', async (t) => {
  const server = start(t, BELLJAR, { args: ['serve', '--max-line', '20M'] });
  server.send(ping({ x: 'x'.repeat(15 * 1024 * 1024) }));
  assert.deepEqual((await server.next()).result, {});
  await server.close();
});

test('--page-size 1 lists in pages of one', async (t) => {
  const server = start(t, BELLJAR, { env: { BELLJAR_PAGE_SIZE: '1' } });
  const first = (await server.request('tools/list', {})).result;
  assert.deepEqual(first.tools.map((tool) => tool.name), ['run_code']);
  const { result } = await server.request('tools/list', { cursor: first.nextCursor });
  assert.deepEqual(result.tools.map((tool) => tool.name), ['run_command']);
  assert.ok(result.nextCursor);
  await server.close();
});

test('belljar without arguments on a pipe serves', async (t) => {
  const answers = [];
  for (const args of [[], ['serve']]) {
    const server = start(t, BELLJAR, { args });
    answers.push(await server.initialize('2025-11-25'));
    await server.close();
  }
  assert.deepEqual(answers[0], answers[1]);
});

test('the log goes to stderr only', async (t) => {
  const server = start(t, BELLJAR, { args: ['serve', '--log-level', 'debug'] });
  server.send('nonsense');
  assertError(await server.next(), -32700, undefined, null);
  await server.handshake('2025-11-25');
  assert.match(await server.close(), /message refused/);
});
