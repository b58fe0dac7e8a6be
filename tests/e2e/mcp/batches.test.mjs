// Batches: an array of messages is answered by one array, where the revision has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS } from '../lib/fixture.mjs';
import { modern } from '../lib/modern.mjs';
import { FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });
const call = (id, name, args) => request(id, 'tools/call', { name, arguments: args });
const note = (method, params) => ({ jsonrpc: '2.0', method, params });
const byId = (answers) => new Map(answers.map((answer) => [answer.id, answer]));

async function batching(t, revision = '2025-03-26', options) {
  const server = start(t, FIXTURE, options);
  await server.handshake(revision);
  return server;
}

for (const revision of ['2024-11-05', '2025-03-26'])
  test(`${revision}: one array for an array`, async (t) => {
    const server = await batching(t, revision);
    server.send([request(1, 'ping'), request('two', 'tools/list'), request(3, 'nonesuch')]);
    const answers = await server.next();
    assert.equal(answers.length, 3);
    const found = byId(answers);
    assert.deepEqual(found.get(1), { jsonrpc: '2.0', id: 1, result: {} });
    assert.equal(found.get('two').result.tools.length, FIXTURE_TOOLS);
    assertError(found.get(3), -32601, /nonesuch/);
    await server.close();
  });

for (const revision of ['2025-06-18', '2025-11-25'])
  test(`${revision}: refused as a whole`, async (t) => {
    const server = await batching(t, revision);
    for (const batch of [[request(1, 'ping')], [], [note('notifications/x')]]) {
      server.send(batch);
      const says = new RegExp(`revision ${revision} has no batches: send one message a line`);
      assertError(await server.next(), -32600, says, null);
    }
    assert.deepEqual((await server.request('ping', {}, 'after')).result, {});
    await server.close();
  });

test('a batch before any handshake is treated as one of 2025-03-26', async (t) => {
  const server = start(t, FIXTURE);
  server.send([request(1, 'ping')]);
  assert.deepEqual(await server.next(), [{ jsonrpc: '2.0', id: 1, result: {} }]);
  await server.close();
});

test('a slow call delays its batch, not the connection', async (t) => {
  const server = await batching(t);
  server.send([call(1, 'test_slow', { ms: 300 }), request(2, 'ping'), call(3, 'test_slow', { ms: 1 })]);
  assert.deepEqual((await server.request('ping', {}, 'meanwhile')).result, {});
  const found = byId(await server.next());
  assert.deepEqual([...found.keys()].sort(), [1, 2, 3]);
  assert.equal(found.get(1).result.content[0].text, 'slept');
  await server.close();
});

test('notifications in a batch get no response, a batch of them none at all', async (t) => {
  const server = await batching(t);
  server.send([note('notifications/x'), request(1, 'ping'), note('notifications/initialized')]);
  assert.equal((await server.next()).length, 1);
  server.send([note('notifications/x'), note('notifications/y')]);
  server.send([{ jsonrpc: '2.0', id: 9, result: {} }]);
  assert.deepEqual((await server.request('ping', {}, 'after')).result, {});
  await server.close();
});

test('progress of a call in a batch is sent at once', async (t) => {
  const server = await batching(t);
  const progressing = call(1, 'test_tool_with_progress');
  progressing.params._meta = { progressToken: 77 };
  server.send([progressing, request(2, 'ping')]);
  for (const progress of [0, 50, 100]) {
    const { params } = await server.notification('notifications/progress');
    assert.deepEqual([params.progressToken, params.progress], [77, progress]);
  }
  assert.equal((await server.next()).length, 2);
  await server.close();
});

test('a cancelled call is left out of the batch response', async (t) => {
  const server = await batching(t);
  server.send([call(1, 'test_slow', { ms: 60000 }), request(2, 'ping')]);
  server.notify('notifications/cancelled', { requestId: 1 });
  assert.deepEqual(await server.next(), [{ jsonrpc: '2.0', id: 2, result: {} }]);
  server.send([call(3, 'test_slow', { ms: 60000 })]);
  server.notify('notifications/cancelled', { requestId: 3 }); // an array without answers: nothing
  server.send([call(4, 'test_slow', { ms: 60000 }), note('notifications/cancelled', { requestId: 4 })]);
  await server.settle();
  assert.match(await server.close(), /fixture: 3 cancelled/);
});

test('an id that occurs twice in a batch is refused', async (t) => {
  const server = await batching(t);
  server.send([call(1, 'test_slow', { ms: 50 }), request(1, 'ping')]);
  const answers = await server.next();
  assert.deepEqual(answers.map((answer) => answer.id), [1, 1]);
  assertError(answers[0], -32600, /'id' is in use/);
  assert.equal(answers[1].result.content[0].text, 'slept');
  await server.close();
});

const bad = {
  'an empty one': { batch: [], says: /an empty batch/ },
  'a member that is no message': { batch: [request(1, 'ping'), 5], says: /message 2 of the batch: a message is a JSON object/ },
  'a member without jsonrpc': { batch: [{ id: 1, method: 'ping' }], says: /message 1 of the batch: 'jsonrpc'/ },
  'an array in the array': { batch: [[request(1, 'ping')]], says: /message 1 of the batch/ },
  'a claim': { batch: [request(1, 'ping'), request(2, 'tools/list', modern())], says: /message 2 of the batch: stateless revisions have no batches/ },
  'a notification with a claim': { batch: [note('notifications/x', modern())], says: /stateless/ },
  'initialize': { batch: [request(1, 'initialize', {}), request(2, 'ping')], says: /message 1 of the batch: 'initialize' must stand alone/ },
  'more than a hundred': { batch: Array.from({ length: 101 }, (_, i) => request(i, 'ping')), says: /more than 100 messages in a batch \(max_batch\)/ },
};

for (const [name, { batch, says }] of Object.entries(bad))
  test(`refused as a whole: ${name}`, async (t) => {
    const server = await batching(t);
    server.send(batch);
    assertError(await server.next(), -32600, says, null);
    assert.deepEqual((await server.request('ping', {}, 'after')).result, {});
    await server.close();
  });

test('a batch of exactly 100 messages is accepted', async (t) => {
  const server = await batching(t);
  server.send(Array.from({ length: 100 }, (_, i) => request(i, 'ping')));
  const answers = await server.next();
  assert.deepEqual(answers.map((answer) => answer.id), Array.from({ length: 100 }, (_, i) => i));
  await server.close();
});

test('max_calls applies inside a batch', async (t) => {
  const server = await batching(t, undefined, { env: { FIXTURE_MAX_CALLS: '2' } });
  server.send([1, 2, 3].map((id) => call(id, 'test_slow', { ms: 50 })));
  const found = byId(await server.next());
  assertError(found.get(3), -32603, /2 calls are in progress \(max_calls\)/);
  assert.equal(found.get(1).result.content[0].text, 'slept');
  await server.close();
});

test('a client that disconnects in the middle of a batch leaves nothing behind', async (t) => {
  const server = await batching(t);
  server.send([call(1, 'test_slow', { ms: 60000 }), call(2, 'test_slow', { ms: 60000 }), request(3, 'ping')]);
  assert.match(await server.close(), /fixture: 2 cancelled/);
});
