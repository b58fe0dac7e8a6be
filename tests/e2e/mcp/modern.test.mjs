// 2026-07-28: discovery, _meta of requests, cancelling.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS, taskCapability } from '../lib/fixture.mjs';
import {
  CLIENT_INFO_KEY, LOG_LEVEL_KEY, MODERN, SERVER_INFO_KEY, callParams, modern,
} from '../lib/modern.mjs';
import { BELLJAR, FIXTURE, VERSION } from '../lib/programs.mjs';
import { assertError, start, textOf } from '../lib/raw.mjs';

const LOGGED = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
const cancel = (requestId) => modern({ requestId, reason: 'enough' });

async function checkDiscover(t, program, name, title, ttlMs, capabilities, instructions) {
  const server = start(t, program);
  const { result } = await server.request('server/discover', modern(), 'probe');
  assert.match(result.instructions, instructions);
  delete result.instructions;
  assert.deepEqual(result, {
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities,
    ttlMs,
    cacheScope: 'private',
    _meta: { [SERVER_INFO_KEY]: { name, version: VERSION, title } },
  });
  await server.close();
}

test('server/discover of the fixture', (t) => {
  const listChanged = true;
  const capabilities = {
    logging: {},
    tools: { listChanged },
    prompts: { listChanged },
    resources: { listChanged, subscribe: true },
    completions: {},
    ...taskCapability(MODERN),
  };
  const title = 'Conformance fixture';
  return checkDiscover(t, FIXTURE, 'belljar-fixture', title, 1000, capabilities, /^For tests only/);
});

test('server/discover of belljar', (t) => {
  const capabilities = { logging: {}, tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, ...taskCapability(MODERN) };
  return checkDiscover(t, BELLJAR, 'belljar', 'Belljar', 60000, capabilities, /^Belljar runs code/);
});

test('_meta may have further members', async (t) => {
  const server = start(t, FIXTURE);
  const metas = [
    { [CLIENT_INFO_KEY]: { name: 'x', version: '1', title: 'X', icons: [] } },
    { progressToken: 0 },
    { progressToken: '' },
    { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', baggage: 'a=b' },
    { 'com.example/own': { deep: [1, { two: null }] } },
    { [LOG_LEVEL_KEY]: 'emergency' },
  ];
  for (const extra of metas) {
    const { result } = await server.request('tools/list', modern({}, extra));
    assert.equal(result.resultType, 'complete', JSON.stringify(extra));
  }
  await server.close();
});

test('errors carry no resultType, failures of a tool do', async (t) => {
  const server = start(t, FIXTURE);
  const failed = await server.request('tools/call', callParams('test_error_handling'));
  assert.equal(failed.result.isError, true);
  assert.equal(failed.result.resultType, 'complete');
  assert.equal(failed.result._meta[SERVER_INFO_KEY].name, 'belljar-fixture');
  const unknown = await server.request('tools/call', callParams('nonesuch'));
  assertError(unknown, -32602, /unknown tool 'nonesuch'/);
  await server.close();
});

test('a resource that does not exist is -32602 and names its URI', async (t) => {
  const server = start(t, FIXTURE);
  const uri = 'test://nonexistent-resource-for-conformance-testing';
  const answer = await server.request('resources/read', modern({ uri }));
  assertError(answer, -32602, /not found/);
  assert.deepEqual(answer.error.data, { uri });
  const old = await server.request('resources/read', { uri });
  assertError(old, -32002, /not found/);
  assert.deepEqual(old.error.data, { uri });
  await server.close();
});

test('URIs that nearly match a template are refused', async (t) => {
  const server = start(t, FIXTURE);
  const read = (uri) => server.request('resources/read', modern({ uri }));
  assert.equal((await read('test://template/123/data')).result.contents.length, 1);
  for (const id of ['', 'a/b', '%', '%f', '%zz', '%ff', '%c3'])
    assertError(await read(`test://template/${id}/data`), -32602, /not found/);
  assertError(await read('test://template/a%00b/data'), -32602, /'id': contains a NUL character/);
  assertError(await read(`test://template/${'x'.repeat(33)}/data`), -32602, /at most 32 bytes, got 33/);
  assertError(await read('x'.repeat(9000)), -32602, /'uri' must be a string of at most 8192 bytes/);
  assertError(await read(5), -32602, /'uri' must be a string/);
  await server.close();
});

test('log messages come with the request that wants them, and with no other', async (t) => {
  const server = start(t, FIXTURE);
  const log = (level) => callParams('test_logging_tool', {}, level && { [LOG_LEVEL_KEY]: level });
  server.ask('tools/call', log('debug'), 'loud');
  server.ask('tools/call', log(), 'plain');
  server.ask('tools/call', log('notice'), 'strict');
  const messages = [];
  for (let i = 0; i < 3; i++)
    messages.push((await server.notification('notifications/message')).params);
  assert.deepEqual(messages, LOGGED.map((data) => ({ level: 'info', logger: 'fixture', data })));
  for (const id of ['loud', 'plain', 'strict']) assert.equal(textOf(await server.answer(id)), 'logged');
  await server.close();
});

test('a level of the handshake does not leak into stateless requests', async (t) => {
  const server = start(t, FIXTURE);
  await server.handshake('2025-11-25');
  await server.request('logging/setLevel', { level: 'debug' });
  await server.request('tools/call', callParams('test_logging_tool'));
  await server.close(); // close() checks that nothing was said
});

test('progress: by token, growing, rate-limited, and only when asked for', async (t) => {
  const server = start(t, FIXTURE);
  for (const progressToken of ['tok', 17, 0, '']) {
    server.ask('tools/call', callParams('test_tool_with_progress', {}, { progressToken }), 'p');
    for (const progress of [0, 50, 100]) {
      const { params } = await server.notification('notifications/progress');
      assert.deepEqual([params.progressToken, params.progress, params.total], [progressToken, progress, 100]);
    }
    await server.answer('p');
  }
  await server.request('tools/call', callParams('test_tool_with_progress'));
  const flood = callParams('test_progress_flood', {}, { progressToken: 'f' });
  assert.equal(textOf(await server.request('tools/call', flood, 'flood')), 'flooded');
  const steps = server.inbox.splice(0).map((m) => m.params.progress);
  assert.ok(steps.length >= 5 && steps.length < 500, `${steps.length} of 1000 steps`);
  assert.ok(steps.every((step, i) => i === 0 || step > steps[i - 1]));
  await server.close();
});

test('ids are cancelled verbatim: "1" is not 1', async (t) => {
  const server = start(t, FIXTURE);
  const slow = callParams('test_slow', { ms: 60000 });
  server.ask('tools/call', slow, 1);
  server.notify('notifications/cancelled', cancel('1'));
  server.notify('notifications/cancelled', cancel(2));
  const count = async () =>
    textOf(await server.request('tools/call', callParams('test_cancelled_count'), 'count'));
  assert.equal(await count(), '0');
  server.ask('tools/call', slow, '1'); // both at once: they are two ids
  server.notify('notifications/cancelled', cancel(1));
  assert.equal(await count(), '1');
  server.notify('notifications/cancelled', cancel('1'));
  assert.equal(await count(), '2');
  assert.match(await server.close(), /fixture: 2 cancelled/);
});

test('after cancelling the id is free again, and no answer comes late', async (t) => {
  const server = start(t, FIXTURE);
  for (let i = 0; i < 3; i++) {
    server.ask('tools/call', callParams('test_slow', { ms: 60000 }), 'again');
    server.notify('notifications/cancelled', cancel('again'));
  }
  server.notify('notifications/cancelled', cancel('again')); // of nothing: ignored
  server.ask('tools/call', callParams('test_deaf', { ms: 100 }), 'deaf');
  server.notify('notifications/cancelled', cancel('deaf'));
  assert.equal(textOf(await server.request('tools/call', callParams('test_slow', { ms: 300 }))), 'slept');
  assert.match(await server.close(), /fixture: 3 cancelled/);
});

test('pages: the cursor of one list is none of another', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_PAGE_SIZE: '5' } });
  const list = (cursor) => server.request('tools/list', modern({ cursor }));
  const first = (await list()).result;
  assert.deepEqual([first.tools.length, first.ttlMs], [5, 1000]);
  const second = (await list(first.nextCursor)).result;
  assert.notEqual(second.tools[0].name, first.tools[0].name);
  assert.equal(second.cacheScope, 'private');
  const prompts = await server.request('prompts/list', modern({ cursor: first.nextCursor }));
  assertError(prompts, -32602, /'cursor' was not returned by this server/);
  const made = ['x', 'tools', 'tools.', 'tools.0', 'tools.-1', 'tools.999', 'tools.1x', `tools.${FIXTURE_TOOLS}`, 5, {}];
  for (const cursor of made)
    assertError(await list(cursor), -32602, /'cursor'/);
  await server.close();
});
