// Deviations of real clients from the specification, which the server tolerates.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS } from '../lib/fixture.mjs';
import { CAPABILITIES_KEY, MODERN, VERSION_KEY, callParams, modern } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start, textOf } from '../lib/raw.mjs';

const SIMPLE = 'This is a simple text response for testing.';

test('requests before initialize are served', async (t) => {
  const server = start(t, FIXTURE);
  assert.deepEqual((await server.request('ping')).result, {});
  const { result } = await server.request('tools/list', {});
  assert.ok('annotations' in result.tools[0] && !('title' in result.tools[0])); // as 2025-03-26
  assert.equal(textOf(await server.call('test_simple_text')), SIMPLE);
  await server.close();
});

test('requests before notifications/initialized are served', async (t) => {
  const server = start(t, FIXTURE);
  await server.initialize('2025-06-18');
  assert.equal(textOf(await server.call('test_simple_text')), SIMPLE);
  server.notify('notifications/initialized');
  assert.equal(textOf(await server.call('test_simple_text')), SIMPLE);
  await server.close();
});

test('a second initialize starts over, and running calls go on', async (t) => {
  const server = start(t, FIXTURE);
  await server.handshake('2024-11-05');
  await server.request('resources/subscribe', { uri: 'test://watched-resource' });
  const slow = server.ask('tools/call', { name: 'test_slow', arguments: { ms: 50 } });
  const { result } = await server.initialize('2025-11-25');
  assert.equal(result.protocolVersion, '2025-11-25');
  assert.ok('icons' in (await server.request('tools/list')).result.tools[0]);
  await server.call('test_trigger_resource_update'); // no longer subscribed
  assert.equal(textOf(await server.answer(slow)), 'slept');
  await server.close();
});

test('params may be absent or null, arguments too', async (t) => {
  const server = start(t, FIXTURE);
  assert.equal((await server.request('tools/list')).result.tools.length, FIXTURE_TOOLS);
  server.send('{"jsonrpc":"2.0","id":7,"method":"prompts/list","params":null}');
  assert.equal((await server.answer(7)).result.prompts.length, 5);
  for (const params of [{}, { arguments: {} }, { arguments: null }]) {
    const answer = await server.request('tools/call', { name: 'test_simple_text', ...params });
    assert.equal(textOf(answer), SIMPLE);
  }
  for (const cursor of ['', null])
    assert.equal((await server.request('tools/list', { cursor })).result.tools.length, FIXTURE_TOOLS);
  await server.close();
});

test('params that are not an object are refused', async (t) => {
  const server = start(t, FIXTURE);
  for (const params of [[], [1], 'x', 5, true])
    assertError(await server.request('tools/list', params), -32602, /'params' must be an object/);
  const answer = await server.call('test_simple_text', [1]);
  assertError(answer, -32602, /'arguments' must be an object/);
  await server.close();
});

test('an unknown method is refused by name, in either era', async (t) => {
  const server = start(t, FIXTURE);
  await server.handshake('2025-06-18');
  const unknown = /^method 'tools\/lst' is not known in revision/;
  assertError(await server.request('tools/lst', {}, 'x'), -32601, unknown, 'x');
  assertError(await server.request('tools/lst', modern(), 'y'), -32601, /2026-07-28$/, 'y');
  for (const method of ['sampling/createMessage', 'roots/list', 'tasks/get', '', 'Ping'])
    assertError(await server.request(method), -32601);
  await server.close();
});

test('unknown or malformed notifications and stray responses are ignored', async (t) => {
  const server = start(t, FIXTURE);
  for (const method of ['notifications/nonesuch', 'notifications/roots/list_changed', 'ping', 'tools/call', ''])
    server.notify(method).notify(method, { a: 1 });
  for (const params of [undefined, null, [], {}, { requestId: null }, { requestId: 99 }, { requestId: {} }])
    server.notify('notifications/cancelled', params);
  server.notify('notifications/x', modern()).notify('notifications/x', { _meta: { [VERSION_KEY]: 5 } });
  server.send({ jsonrpc: '2.0', id: 1, result: {} });
  server.send({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } });
  assert.deepEqual((await server.request('ping', {}, 'after')).result, {});
  await server.close();
});

test('a server/discover without _meta is refused', async (t) => {
  const server = start(t, FIXTURE);
  for (const params of [undefined, {}, { _meta: {} }, { _meta: { [CAPABILITIES_KEY]: {} } }]) {
    const answer = await server.request('server/discover', params);
    assertError(answer, -32602, /io\.modelcontextprotocol\/protocolVersion/);
  }
  await server.close();
});

for (const [name, program] of [['fixture', FIXTURE], ['belljar', BELLJAR]])
  test(`both eras on one connection, message by message (${name})`, async (t) => {
    const server = start(t, program);
    const discover = async () => (await server.request('server/discover', modern())).result;
    assert.deepEqual((await discover()).supportedVersions, [MODERN]);
    await server.handshake('2025-03-26');
    for (let i = 0; i < 3; i++) {
      const old = (await server.request('tools/list', {})).result;
      const fresh = (await server.request('tools/list', modern())).result;
      assert.ok(!('resultType' in old) && !('title' in old.tools[0]));
      assert.ok('ttlMs' in fresh && 'title' in fresh.tools[0]);
      assert.equal(fresh.resultType, 'complete');
      assert.deepEqual((await server.request('ping')).result, {});
      assertError(await server.request('ping', modern()), -32601);
      assert.equal((await discover()).resultType, 'complete');
    }
    await server.close();
  });

test('a call of one era can be cancelled by the other', async (t) => {
  const server = start(t, FIXTURE);
  await server.handshake('2025-11-25');
  server.ask('tools/call', callParams('test_slow', { ms: 60000 }), 'fresh');
  server.ask('tools/call', { name: 'test_slow', arguments: { ms: 60000 } }, 'old');
  server.notify('notifications/cancelled', { requestId: 'fresh' });
  server.notify('notifications/cancelled', modern({ requestId: 'old' }));
  assert.equal(textOf(await server.call('test_cancelled_count')), '2');
  assert.match(await server.close(), /fixture: 2 cancelled/);
});
