// subscriptions/listen: a request that stays open and carries notifications.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS } from '../lib/fixture.mjs';
import { SERVER_INFO_KEY, SUBSCRIPTION_KEY, callParams, modern } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const WATCHED = 'test://watched-resource';
const ACK = 'notifications/subscriptions/acknowledged';
const listen = (notifications) => modern({ notifications });
const trigger = (server, what) => server.request('tools/call', callParams(`test_trigger_${what}`));
const stamp = (id) => ({ [SUBSCRIPTION_KEY]: id });

async function open(server, id, wanted, honoured = wanted) {
  server.ask('subscriptions/listen', listen(wanted), id);
  assert.deepEqual(await server.next(), {
    jsonrpc: '2.0',
    method: ACK,
    params: { _meta: stamp(id), notifications: honoured },
  });
}

function assertEnded(answer, id) {
  assert.deepEqual(answer.id, id);
  assert.equal(answer.result.resultType, 'complete');
  assert.deepEqual(answer.result._meta[SUBSCRIPTION_KEY], id);
  assert.ok(answer.result._meta[SERVER_INFO_KEY].name);
  assert.deepEqual(Object.keys(answer.result).sort(), ['_meta', 'resultType']);
}

test('the acknowledgement comes first and names what is honoured', async (t) => {
  const server = start(t, FIXTURE);
  await open(server, 'all', {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [WATCHED, 'test://other'],
  });
  const odd = { promptsListChanged: false, taskIds: ['x'], unheardOf: true };
  await open(server, 'some', { toolsListChanged: true, ...odd }, { toolsListChanged: true });
  server.child.stdin.end();
  await server.ended();
  assertEnded(server.inbox[0], 'all');
  assertEnded(server.inbox[1], 'some');
  assert.equal(server.inbox.length, 2);
});

test('each of several listens gets its own notifications under its id', async (t) => {
  const server = start(t, FIXTURE);
  await open(server, 'tools', { toolsListChanged: true });
  await open(server, 7, { toolsListChanged: true, promptsListChanged: true });
  await open(server, '7', { resourceSubscriptions: [WATCHED] });
  server.ask('tools/call', callParams('test_trigger_tool_change'), 'a');
  for (const id of ['tools', 7])
    assert.deepEqual(await server.next(), {
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { _meta: stamp(id) },
    });
  assert.equal((await server.next()).id, 'a');
  server.ask('tools/call', callParams('test_trigger_prompt_change'), 'b');
  assert.deepEqual((await server.next()).params, { _meta: stamp(7) });
  assert.equal((await server.next()).id, 'b');
  server.ask('tools/call', callParams('test_trigger_resource_update'), 'c');
  assert.deepEqual(await server.next(), {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { _meta: stamp('7'), uri: WATCHED },
  });
  assert.equal((await server.next()).id, 'c');
  for (const requestId of ['tools', 7, '7'])
    server.notify('notifications/cancelled', modern({ requestId }));
  await server.close();
});

test('a URI is matched exactly', async (t) => {
  const server = start(t, FIXTURE);
  const near = [`${WATCHED}/`, 'test://watched', WATCHED.toUpperCase()];
  await open(server, 1, { resourceSubscriptions: near });
  await trigger(server, 'resource_update');
  server.notify('notifications/cancelled', modern({ requestId: 1 }));
  await server.close();
});

test('a cancelled listen ends without a response', async (t) => {
  const server = start(t, FIXTURE);
  await open(server, 5, { toolsListChanged: true });
  server.notify('notifications/cancelled', modern({ requestId: '5' })); // another id
  server.ask('tools/call', callParams('test_trigger_tool_change'), 'x');
  assert.deepEqual((await server.next()).params, { _meta: stamp(5) });
  await server.answer('x');
  server.notify('notifications/cancelled', modern({ requestId: 5 }));
  await trigger(server, 'tool_change');
  await open(server, 5, { toolsListChanged: true }); // the id is free again
  server.notify('notifications/cancelled', { requestId: 5 }); // without a claim just as well
  await trigger(server, 'tool_change');
  await server.close();
});

for (const signal of [undefined, 'SIGTERM', 'SIGINT'])
  test(`the server's end (${signal ?? 'end of input'}) is the result`, async (t) => {
    const server = start(t, FIXTURE);
    await open(server, 'x', { toolsListChanged: true });
    if (signal) server.child.kill(signal);
    else server.child.stdin.end();
    assertEnded(await server.next(), 'x');
    await server.ended();
    assert.deepEqual(server.inbox, []);
  });

for (const [name, program, env] of [
  ['belljar', BELLJAR, {}],
  ['a fixture without changes', FIXTURE, { FIXTURE_TABLES: 'tools' }],
])
  test(`nothing to honour: acknowledged and complete (${name})`, async (t) => {
    const server = start(t, program, { env });
    // Files of sandboxes change; nothing of the fixture does with these settings.
    const wanted = { toolsListChanged: true, ...(program === FIXTURE && { resourceSubscriptions: [WATCHED] }) };
    await open(server, 'none', wanted, {});
    assertEnded(await server.next(), 'none');
    await open(server, 0, {}, {});
    assertEnded(await server.next(), 0);
    await server.close();
  });

test('a listen for nothing is acknowledged and completed', async (t) => {
  const server = start(t, FIXTURE);
  for (const wanted of [{}, { toolsListChanged: false }, { resourceSubscriptions: [] }]) {
    await open(server, 'none', wanted, {});
    assertEnded(await server.next(), 'none');
  }
  await server.close();
});

test('listens over the limit are refused', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_MAX_SUBSCRIPTIONS: '2' } });
  await open(server, 1, { toolsListChanged: true });
  await open(server, 2, { promptsListChanged: true });
  const third = await server.request('subscriptions/listen', listen({ toolsListChanged: true }), 3);
  assertError(third, -32603, /2 listen streams are open \(max_subscriptions\); cancel one first/, 3);
  server.notify('notifications/cancelled', modern({ requestId: 1 }));
  const uris = ['a:1', 'a:2', 'a:3'];
  await open(server, 4, { resourceSubscriptions: uris }, { resourceSubscriptions: uris.slice(0, 2) });
  for (const requestId of [2, 4]) server.notify('notifications/cancelled', modern({ requestId }));
  await server.close();
});

test('open listens do not count as calls, and their ids are taken', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_MAX_CALLS: '1' } });
  await open(server, 'a', { toolsListChanged: true });
  await open(server, 'b', { toolsListChanged: true });
  const taken = await server.request('tools/list', modern(), 'a');
  assertError(taken, -32600, /'id' is in use/, 'a');
  assert.equal((await server.request('tools/list', modern(), 'c')).result.tools.length, FIXTURE_TOOLS);
  for (const requestId of ['a', 'b']) server.notify('notifications/cancelled', { requestId });
  await server.close();
});

test('a connection of both eras hears of a change in both ways', async (t) => {
  const server = start(t, FIXTURE);
  await open(server, 'l', { toolsListChanged: true });
  await trigger(server, 'prompt_change'); // no handshake yet: nobody wants to know
  await server.handshake('2025-06-18');
  await server.request('resources/subscribe', { uri: WATCHED });
  server.ask('tools/call', callParams('test_trigger_tool_change'), 'x');
  assert.deepEqual((await server.next()).params, { _meta: stamp('l') });
  assert.deepEqual(await server.next(), { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await server.answer('x');
  server.notify('notifications/cancelled', { requestId: 'l' });
  server.ask('tools/call', callParams('test_trigger_resource_update'), 'y');
  assert.deepEqual((await server.next()).params, { uri: WATCHED });
  await server.answer('y');
  await server.close();
});
