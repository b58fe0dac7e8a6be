// Event streams over HTTP: what a client gets when connections are cut, and what it cannot get.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { FIXTURE } from '../lib/programs.mjs';

const result = (event) => event.message?.result;
const SLOW = { ms: 700 };

/** A call that lasts long enough to become an event stream. */
async function startSlowCall(server, session) {
  const call = await server.call(session, 'test_slow', SLOW, 5);
  assert.equal(call.status, 200);
  assert.equal(call.headers['content-type'], 'text/event-stream');
  assert.equal(call.headers['x-accel-buffering'], 'no');
  return call;
}

test('the answer to a call arrives after a cut', async (t) => {
  // The first event comes before the silence of a second that would make the answer a stream of events.
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_RETRY_MS: '123' } });
  const session = await server.handshake('2025-11-25');
  const call = await startSlowCall(server, session);
  const first = await call.event();
  assert.deepEqual({ data: first.data, retry: first.retry }, { data: '', retry: '123' });
  call.cut();
  let rest = await server.get({ ...session, 'last-event-id': first.id });
  while (rest.status === 409) rest = await server.get({ ...session, 'last-event-id': first.id });
  assert.equal(rest.status, 200);
  const last = await rest.event(result);
  assert.equal(last.message.id, 5);
  assert.equal(last.message.result.content[0].text, 'slept');
  await rest.end();
  // The events of a finished stream are kept for a while, and can be read again from any of them on.
  const again = await server.get({ ...session, 'last-event-id': first.id });
  assert.equal((await again.event(result)).id, last.id);
  await again.end();
  const nothing = await server.get({ ...session, 'last-event-id': last.id });
  await nothing.end();
  assert.deepEqual(nothing.events.filter(result), []);
  await server.close();
});

test('the official client resumes by itself', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_SILENCE_MS: '10', FIXTURE_RETRY_MS: '20' } });
  for (const version of [1, 2]) {
    const { call, client } = await connectHttp(t, server, { version });
    const inner = globalThis.fetch;
    let cuts = 0;
    // The body of the first event stream of a POST ends after its first event.
    globalThis.fetch = async (url, init) => {
      const response = await inner(url, init);
      if (init?.method !== 'POST' || cuts > 0 || !/event-stream/.test(response.headers.get('content-type'))) return response;
      cuts++;
      const reader = response.body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new Response(new Blob([value]).stream(), { status: response.status, headers: response.headers });
    };
    t.after(() => (globalThis.fetch = inner));
    const slept = await call({ name: 'test_slow', arguments: SLOW });
    globalThis.fetch = inner;
    assert.equal(slept.content[0].text, 'slept');
    assert.equal(cuts, 1);
    await client.close();
  }
  await server.close();
});

test('a tool closes its stream and the official clients poll for its answer', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_RETRY_MS: '20' } });
  for (const version of [1, 2]) {
    const { call, client } = await connectHttp(t, server, { version });
    const { content, isError } = await call({ name: 'test_reconnection' });
    assert.equal(isError, undefined);
    assert.equal(content[0].type, 'text');
    await client.close();
  }
  await server.close();
});

test('ids of other streams, sessions and users are refused', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_SILENCE_MS: '10', FIXTURE_USERS: 'ann,bob' } });
  const ann = await server.handshake('2025-11-25', { authorization: 'Bearer ann' });
  const bob = await server.handshake('2025-11-25', { authorization: 'Bearer bob' });
  const other = await server.handshake('2025-11-25', { authorization: 'Bearer ann' });
  const call = await startSlowCall(server, ann);
  const { id } = await call.event();
  const resume = (headers) => server.get({ ...headers, 'last-event-id': id });
  assert.equal((await resume(ann)).status, 409); // it is open
  assert.equal((await resume(bob)).status, 400);
  assert.equal((await resume(other)).status, 400);
  const stolen = await resume({ ...ann, authorization: 'Bearer bob' });
  const unknown = await resume({ ...ann, 'mcp-session-id': '0'.repeat(40) });
  assert.equal(stolen.status, 404);
  assert.deepEqual(stolen.json, unknown.json);
  assert.equal((await server.delete({ ...ann, authorization: 'Bearer bob' })).status, 404);
  assert.equal((await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { ...ann, authorization: 'Bearer bob' })).status, 404);
  for (const bad of ['x', '', '-1', `${id}0`, `${id}-`, '9-9', '../../etc', '18446744073709551616-0']) {
    const answer = await server.get({ ...ann, 'last-event-id': bad });
    assert.equal(answer.status, 400, bad);
    assert.match(answer.json.error.message, /Last-Event-ID/);
  }
  assert.equal((await call.event(result)).message.result.content[0].text, 'slept');
  for (const authorization of ['Bearer eve', 'Bearer ', 'Bearer ann,bob', 'ann', undefined]) {
    const answer = await server.post({}, authorization ? { authorization } : {});
    assert.equal(answer.status, 401);
    assert.equal(answer.headers['www-authenticate'], 'Bearer realm="fixture"');
    assert.equal(answer.json.error, 'invalid_token');
  }
  await server.close();
});

test('a session has one stream of its own, which can be opened again', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const session = await server.handshake('2025-06-18');
  await server.call(session, 'test_trigger_tool_change');
  const stream = await server.get(session);
  const early = await stream.event(); // sent before the stream was open
  assert.equal(early.message.method, 'notifications/tools/list_changed');
  assert.equal((await server.get(session)).status, 409);
  stream.cut();
  await server.call(session, 'test_trigger_prompt_change', {}, 2);
  let again = await server.get({ ...session, 'last-event-id': early.id });
  while (again.status === 409) again = await server.get({ ...session, 'last-event-id': early.id });
  assert.equal((await again.event()).message.method, 'notifications/prompts/list_changed');
  await server.close();
});

test('closing a stateless stream cancels its call, closing one of a session does not', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_SILENCE_MS: '10' } });
  const session = await server.handshake('2025-06-18');
  const count = async () => (await server.call(session, 'test_cancelled_count')).json.result.content[0].text;
  const kept = await server.call(session, 'test_slow', { ms: 60000 }, 6);
  kept.cut();
  const ended = await server.alone('tools/call', { name: 'test_slow', arguments: { ms: 60000 } });
  assert.equal(ended.headers['content-type'], 'text/event-stream');
  ended.cut();
  while ((await count()) === '0');
  assert.equal(await count(), '1');
  // A session can still cancel what it started.
  await server.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 6 } }, session);
  while ((await count()) === '1');
  await server.close();
});

test('listen streams end with their result when the server stops, and calls finish', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_SILENCE_MS: '10' } });
  const session = await server.handshake('2025-11-25');
  const listen = await server.alone('subscriptions/listen', { notifications: { toolsListChanged: true } });
  assert.equal((await listen.event()).message.method, 'notifications/subscriptions/acknowledged');
  const stream = await server.get(session);
  const call = await startSlowCall(server, session);
  server.child.kill('SIGTERM');
  assert.equal((await listen.event(result)).message.result.resultType, 'complete');
  await listen.end();
  await stream.end();
  assert.equal((await call.event(result)).message.result.content[0].text, 'slept');
  await call.end();
  await server.ended();
});

test('a call that outlasts the grace period is cancelled', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_SILENCE_MS: '10' } });
  const call = await server.alone('tools/call', { name: 'test_slow', arguments: { ms: 60000 } });
  server.child.kill('SIGTERM');
  await call.end();
  assert.match(await server.ended(), /^fixture: 1 cancelled$/m);
});

test('a client that does not read loses its connection, not the server its memory', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const sse = await server.get({}, '/sse');
  const { data: path } = await sse.event();
  sse.request.socket.pause();
  const bytes = 4 * 1024 * 1024;
  for (let i = 0; i < 40; i++) {
    const message = { jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'test_big', arguments: { bytes } } };
    if ((await server.post(message, {}, path)).status === 404) break;
    assert.ok(i < 39, 'the queue is limited');
  }
  assert.equal((await server.get({ accept: '*/*' }, '/healthz')).status, 200);
  await server.close();
});
