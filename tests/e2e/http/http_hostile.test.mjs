// Requests over HTTP that are wrong, and web pages that must not reach the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttp } from '../lib/http.mjs';
import { FIXTURE, PATIENCE_MS } from '../lib/programs.mjs';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const batch = (...messages) => JSON.stringify(messages);

function assertRefused(answer, status, code, pattern = /./) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.json.jsonrpc, '2.0');
  assert.equal(answer.json.error.code, code);
  assert.match(answer.json.error.message, pattern);
}

test('only known names and numeric addresses are served', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const served = ['localhost', `localhost:${server.port}`, '127.0.0.1', '[::1]:1', '10.1.2.3'];
  const refused = ['evil.example.com', 'localhost.evil.example.com', '127.0.0.1.nip.io', '[localhost]', 'user@localhost'];
  for (const path of ['/healthz', '/mcp', '/sse', '/nowhere'])
    for (const host of refused) {
      const answer = await server.request('GET', path, { host });
      assert.ok([400, 403].includes(answer.status), `${path} of ${host}: ${answer.status}`);
    }
  for (const host of served) assert.equal((await server.request('GET', '/healthz', { host })).status, 200, host);
  await server.close();
});

test('pages of other origins are refused', async (t) => {
  const allowed = 'https://app.example.com';
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_ORIGIN: allowed } });
  const own = `http://127.0.0.1:${server.port}`;
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } } };
  for (const origin of ['http://evil.example.com', 'null', 'http://localhost:3000', 'https://app.example.com.evil.example', 'file://']) {
    assertRefused(await server.post(initialize, { origin }), 403, -32000, /Origin/);
    assertRefused(await server.get({ origin }, '/sse'), 403, -32000, /Origin/);
    const preflight = await server.request('OPTIONS', '/mcp', { origin, 'access-control-request-method': 'POST' });
    assert.equal(preflight.status, 403);
    assert.equal(preflight.headers['access-control-allow-origin'], undefined);
  }
  const same = await server.post(initialize, { origin: own });
  assert.equal(same.status, 200);
  assert.equal(same.headers['access-control-allow-origin'], undefined);
  const page = await server.post(initialize, { origin: allowed });
  assert.equal(page.status, 200);
  assert.equal(page.headers['access-control-allow-origin'], allowed);
  assert.match(page.headers['access-control-expose-headers'], /Mcp-Session-Id/);
  assert.equal(page.headers.vary, 'Origin');
  const preflight = await server.request('OPTIONS', '/mcp', {
    origin: allowed,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,mcp-session-id,mcp-param-city',
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers['access-control-allow-methods'], /POST/);
  assert.match(preflight.headers['access-control-allow-headers'], /Mcp-Session-Id.*mcp-param-city$/);
  await server.close();
});

test('a form of a page cannot be a call', async (t) => {
  const server = await startHttp(t, FIXTURE);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/json5', 'text/plain;application/json', undefined]) {
    const answer = await server.request('POST', '/mcp', type ? { 'content-type': type } : {}, JSON.stringify(PING));
    assertRefused(answer, 415, -32000, /application\/json/);
  }
  await server.close();
});

test('wrong requests have their status and code', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const session = await server.handshake('2025-11-25');
  const old = await server.handshake('2025-03-26');
  const id = { 'mcp-session-id': session['mcp-session-id'] };
  assertRefused(await server.post('{', session), 400, -32700);
  assertRefused(await server.post('', session), 400, -32700);
  assertRefused(await server.post('"text"', session), 400, -32600);
  assertRefused(await server.post({ ...PING, jsonrpc: '1.0' }, session), 400, -32600);
  assertRefused(await server.post({ ...PING, id: null }, session), 400, -32600);
  assertRefused(await server.post(PING), 400, -32000, /Mcp-Session-Id/);
  assertRefused(await server.post(PING, { 'mcp-session-id': 'x' }), 404, -32001, /Session not found/);
  assertRefused(await server.post(PING, { ...id, 'mcp-protocol-version': '1999-01-01' }), 400, -32000, /MCP-Protocol-Version/);
  assertRefused(await server.post(PING, { ...id, 'mcp-protocol-version': '2026-07-28' }), 400, -32602);
  assertRefused(await server.post(PING, { ...session, accept: 'application/json' }), 406, -32000, /Accept/);
  assertRefused(await server.post(PING, { ...session, accept: 'text/event-stream' }), 406, -32000, /Accept/);
  assertRefused(await server.get({ ...session, accept: 'text/html' }), 406, -32000, /Accept/);
  assertRefused(await server.post('[]', old), 400, -32600);
  assertRefused(await server.post(batch(PING), session), 400, -32600, /no batches/);
  assertRefused(await server.post(batch(PING, 7), old), 400, -32600);
  assertRefused(await server.post(batch(...Array(101).fill(PING)), old), 400, -32600, /max_batch/);
  assertRefused(await server.post(batch({ ...PING, method: 'initialize' }), old), 400, -32600, /initialize/);
  const both = await server.post(batch(PING, { ...PING, id: 2 }), old);
  assert.deepEqual(both.json.map((response) => response.id), [1, 2]);
  assert.equal((await server.post(PING, { ...session, accept: '*/*' })).status, 200);
  assert.equal((await server.post(PING, { ...session, 'content-type': 'application/json; charset=utf-8' })).status, 200);
  const initialize = { ...PING, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
  assertRefused(await server.post(initialize, session), 400, -32600, /initialized already/);
  await server.close();
});

test('paths and methods that do not exist', async (t) => {
  const server = await startHttp(t, FIXTURE);
  for (const path of ['/', '/mcp/x', '/MCP', '/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server/mcp', '/favicon.ico']) {
    const answer = await server.request('GET', path);
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, { error: 'not found' });
  }
  for (const [method, path, allow] of [
    ['PUT', '/mcp', 'GET, POST, DELETE, OPTIONS'],
    ['PATCH', '/mcp', 'GET, POST, DELETE, OPTIONS'],
    ['POST', '/sse', 'GET, OPTIONS'],
    ['GET', '/messages/', 'POST, OPTIONS'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ]) {
    const answer = await server.request(method, path);
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, allow);
  }
  const stateless = await server.get({ 'mcp-protocol-version': '2026-07-28' });
  assert.equal(stateless.status, 405);
  assert.equal(stateless.headers.allow, 'POST, OPTIONS');
  const head = await server.request('HEAD', '/readyz');
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal((await server.request('OPTIONS', '/mcp')).status, 204);
  await server.close();
});

test('repeated headers of MCP are refused', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const session = await server.handshake('2025-06-18');
  for (const name of ['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id', 'mcp-param-x']) {
    const value = session[name] ?? 'x';
    const answer = await server.post(PING, { ...session, [name]: [value, value] });
    assert.equal(answer.status, 400, name);
  }
  await server.close();
});

test('sessions that are not used make room, and expire', async (t) => {
  const server = await startHttp(t, FIXTURE, { env: { FIXTURE_MAX_SESSIONS: '2', FIXTURE_IDLE_MS: '60000' } });
  const first = await server.handshake('2025-11-25');
  const stream = await server.get(first);
  const second = await server.handshake('2025-11-25');
  const third = await server.handshake('2025-11-25');
  assert.equal((await server.post(PING, second)).status, 404);
  assert.equal((await server.post(PING, first)).status, 200);
  const sse = await server.get({}, '/sse');
  assert.equal((await server.post(PING, third)).status, 404);
  assertRefused(await server.get({}, '/sse'), 503, -32000, /too many sessions/);
  sse.cut();
  stream.cut();
  await server.close();
  const short = await startHttp(t, FIXTURE, { env: { FIXTURE_IDLE_MS: '20' } });
  const idle = await short.initialize('2025-11-25'); // a handshake may take longer than the session lives
  const deadline = Date.now() + PATIENCE_MS;
  do {
    assert.ok(Date.now() < deadline, 'an idle session expires');
    await new Promise((resolve) => setTimeout(resolve, 100)); // each request starts its time again
  } while ((await short.post(PING, idle)).status !== 404);
  await short.close();
});
