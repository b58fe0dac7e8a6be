// Limits: long lines, many values, long responses, many calls, a client that does not read. The error
// names the limit, and memory stays bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE, isSanitized } from '../lib/programs.mjs';
import { MIB, memory, quiet } from '../lib/proc.mjs';
import { assertError, start, textOf } from '../lib/raw.mjs';

const MAX_LINE = 10 * MIB;
const TOO_LONG = /more than 10485760 bytes \(max_line\)/;

/** A sanitizer's memory is not measured. */
function assertMemory(server, most) {
  if (isSanitized(FIXTURE)) return;
  const used = memory(server.pid, 'VmHWM');
  assert.ok(used < most, `${Math.round(used / MIB)} MiB at most, of ${most / MIB}`);
}

const alive = async (server) =>
  assert.deepEqual((await server.request('ping', {}, 'after')).result, {});

/** A ping of exactly so many bytes. */
function longPing(length, id = 1) {
  const head = `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"x":"`;
  return `${head}${'x'.repeat(length - head.length - 3)}"}}`;
}

test('a line of 9 MiB is accepted', async (t) => {
  const server = start(t, FIXTURE);
  const answer = await server.call('test_echo', { text: 'x'.repeat(9 * MIB) });
  assert.equal(JSON.parse(textOf(answer)).text_bytes, 9 * MIB);
  await alive(server);
  assertMemory(server, 100 * MIB);
  await server.close();
});

test('a response of 9 MiB is sent', async (t) => {
  const server = start(t, FIXTURE);
  assert.equal(textOf(await server.call('test_big', { bytes: 9 * MIB })).length, 9 * MIB);
  await alive(server);
  await server.close();
});

test('a string over its limit is refused', async (t) => {
  const server = start(t, FIXTURE);
  const answer = await server.call('test_echo', { text: 'x'.repeat(9 * MIB + 1) });
  assert.equal(answer.result.isError, true);
  assert.equal(
    textOf(answer),
    "argument 'text': expected a string of at most 9437184 bytes, got 9437185 bytes",
  );
  await alive(server);
  await server.close();
});

test('a string of 10 MiB makes the line too long', async (t) => {
  const server = start(t, FIXTURE);
  server.ask('tools/call', { name: 'test_echo', arguments: { text: 'x'.repeat(10 * MIB) } }, 'long');
  assertError(await server.next(), -32600, TOO_LONG, 'long');
  // The official client writes the id last; the id of an answer is not one of the client's.
  server.send(`{"method":"ping","params":{"x":"${'x'.repeat(10 * MIB)}"},"jsonrpc":"2.0","id":7}`);
  assertError(await server.next(), -32600, TOO_LONG, 7);
  server.send(`{"jsonrpc":"2.0","id":8,"result":{"x":"${'x'.repeat(10 * MIB)}"}}`);
  assertError(await server.next(), -32600, TOO_LONG, null);
  await alive(server);
  await server.close();
});

test('a line of max_line bytes is accepted, and one byte more refused', async (t) => {
  const server = start(t, FIXTURE);
  server.send(longPing(MAX_LINE));
  assert.deepEqual(await server.next(), { jsonrpc: '2.0', id: 1, result: {} });
  server.send(longPing(MAX_LINE + 1, 2)).send(longPing(MAX_LINE, 3));
  assertError(await server.next(), -32600, TOO_LONG, 2);
  assert.deepEqual(await server.next(), { jsonrpc: '2.0', id: 3, result: {} });
  await server.close();
});

test('a line of 11 MiB is refused once', async (t) => {
  const server = start(t, FIXTURE);
  for (let i = 0; i < 3; i++) {
    server.send(longPing(11 * MIB));
    assertError(await server.next(), -32600, TOO_LONG, 1);
    await alive(server);
  }
  await server.close();
});

test('an endless line does not grow memory', async (t) => {
  const server = start(t, FIXTURE);
  const chunk = Buffer.alloc(MIB, 'x');
  const write = (bytes) => new Promise((resolve) => server.child.stdin.write(bytes, resolve));
  for (let i = 0; i < 100; i++) await write(chunk);
  assertMemory(server, 100 * MIB);
  await write('\n');
  assertError(await server.next(), -32600, TOO_LONG, null);
  await alive(server);
  await write(Buffer.concat([chunk, chunk])); // and one that ends with the input: no JSON
  server.child.stdin.end();
  assertError(await server.next(), -32700, undefined, null);
  await server.close();
});

test('five million values are refused without growing memory', async (t) => {
  const server = start(t, FIXTURE);
  const values = `[${'0,'.repeat(5_000_000)}0]`;
  const says = /more than 200000 values \(max_values\)/;
  server.send(`{"jsonrpc":"2.0","id":"r","method":"ping","params":{"x":${values}}}`);
  assertError(await server.next(), -32600, says, 'r');
  server.send(values);
  assertError(await server.next(), -32600, says, null);
  server.send(`[${'[],'.repeat(3_000_000)}[]]`);
  assertError(await server.next(), -32600, says, null);
  await alive(server);
  assertMemory(server, 100 * MIB);
  await server.close();
});

test('max_values values are accepted', async (t) => {
  const server = start(t, FIXTURE);
  const anything = Array(199_000).fill(0);
  assert.equal(
    JSON.parse(textOf(await server.call('test_echo', { text: 'x', anything }))).anything.length,
    anything.length,
  );
  await server.close();
});

test('a response over max_line becomes an error', async (t) => {
  const server = start(t, FIXTURE);
  for (const bytes of [10 * MIB, 32 * MIB]) {
    const answer = await server.request('tools/call', { name: 'test_big', arguments: { bytes } }, 'big');
    assertError(answer, -32603, /the answer has \d+ bytes, and at most 10485760 can be sent \(max_line\)/, 'big');
  }
  assert.equal(textOf(await server.call('test_big', { bytes: 1000 })).length, 1000);
  await server.close();
});

test('calls over max_calls are refused', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_MAX_CALLS: '4' } });
  const slow = { name: 'test_slow', arguments: { ms: 60000 } };
  for (const id of ['a', 'b', 'c', 'd']) server.ask('tools/call', slow, id);
  const says = /4 calls are in progress \(max_calls\); wait for one to end or cancel it/;
  assertError(await server.request('tools/call', slow, 'e'), -32603, says, 'e');
  server.notify('notifications/cancelled', { requestId: 'b' });
  assert.equal(textOf(await server.call('test_cancelled_count')), '1');
  for (const requestId of ['a', 'c', 'd']) server.notify('notifications/cancelled', { requestId });
  assert.match(await server.close(), /fixture: 4 cancelled/);
});

test('256 calls run at once, and the 257th is refused', async (t) => {
  const server = start(t, FIXTURE);
  const slow = { name: 'test_slow', arguments: { ms: 60000 } };
  for (let id = 1; id <= 257; id++) server.ask('tools/call', slow, id);
  assertError(await server.next(), -32603, /256 calls are in progress/, 257);
  for (let requestId = 1; requestId <= 256; requestId++)
    server.notify('notifications/cancelled', { requestId });
  await alive(server);
  assert.match(await server.close(), /fixture: 256 cancelled/);
});

test('subscriptions over the limit are refused', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_MAX_SUBSCRIPTIONS: '2' } });
  const ask = (method, id) => server.request(`resources/${method}`, { uri: `test://template/${id}/data` });
  for (const id of [1, 2, 1]) assert.deepEqual((await ask('subscribe', id)).result, {});
  const says = /2 resources are subscribed \(max_subscriptions\); unsubscribe one first/;
  assertError(await ask('subscribe', 3), -32603, says);
  assert.deepEqual((await ask('unsubscribe', 1)).result, {});
  assert.deepEqual((await ask('subscribe', 3)).result, {});
  assert.deepEqual((await ask('unsubscribe', 'never subscribed')).result, {});
  await server.close();
});

test('memory does not grow with the number of calls', async (t) => {
  const server = start(t, FIXTURE);
  const many = async () => {
    for (let i = 0; i < 100; i++) {
      for (let k = 0; k < 100; k++) server.ask('tools/call', { name: 'test_simple_text' }, k);
      for (let k = 0; k < 100; k++) assert.equal((await server.next()).id, k);
    }
    return memory(server.pid, 'VmRSS');
  };
  const before = await many();
  const grown = (await many()) - before;
  if (!isSanitized(FIXTURE)) assert.ok(grown < MIB, `${grown} bytes more after 10000 calls`);
  await server.close();
});

test('the server stops reading from a client that does not read 200 long responses', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  const ids = Array.from({ length: 200 }, (_, i) => i);
  for (const id of ids) server.ask('tools/call', { name: 'test_big', arguments: { bytes: MIB } }, id);
  await quiet(server.pid);
  assertMemory(server, 100 * MIB);
  server.read();
  for (const id of ids) {
    const answer = await server.next();
    assert.equal(answer.id, id);
    assert.equal(textOf(answer).length, MIB);
  }
  await alive(server);
  assertMemory(server, 100 * MIB);
  await server.close();
});

test('the server stops reading from a client that does not read 20000 short responses', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  const ids = Array.from({ length: 20_000 }, (_, i) => i);
  for (const id of ids) server.ask('tools/call', { name: 'test_simple_text' }, id);
  await quiet(server.pid);
  assertMemory(server, 50 * MIB);
  server.read();
  for (const id of ids) assert.equal((await server.next()).id, id);
  await server.close();
});

test('a call keeps only the arguments of its message', async (t) => {
  const server = start(t, FIXTURE);
  const pad = Array(66000).fill({ a: {} });
  for (let id = 1; id <= 40; id++)
    server.ask('tools/call', { name: 'test_slow', arguments: { ms: 60000 }, pad }, id);
  await alive(server);
  assertMemory(server, 100 * MIB);
  for (let id = 1; id <= 40; id++) server.notify('notifications/cancelled', { requestId: id });
  await alive(server);
  await server.close();
});

test('messages of calls in progress hold no more than max_held', async (t) => {
  const server = start(t, FIXTURE);
  const _meta = { note: 'x'.repeat(9 * MIB) };
  for (let id = 1; id <= 8; id++)
    server.ask('tools/call', { name: 'test_slow', arguments: { ms: 60000 }, _meta }, id);
  assertError(await server.next(), -32603, /more than 67108864 bytes \(max_held\)/, 8);
  server.notify('notifications/cancelled', { requestId: 1 });
  server.ask('tools/call', { name: 'test_slow', arguments: { ms: 0 }, _meta }, 9);
  assert.equal(textOf(await server.next()), 'slept');
  await server.close();
});
