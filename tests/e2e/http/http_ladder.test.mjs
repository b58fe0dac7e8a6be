// Which status and code each kind of POST gets: the ladder that tells the eras apart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttp } from '../lib/http.mjs';
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, MODERN, VERSION_KEY, envelope } from '../lib/modern.mjs';
import { FIXTURE } from '../lib/programs.mjs';

const request = (method, params, id = 7) => ({ jsonrpc: '2.0', id, method, params });
const note = (method, params) => ({ jsonrpc: '2.0', method, params });
const list = (meta) => request('tools/list', { _meta: meta });
const version = (value) => ({ 'mcp-protocol-version': value });
const method = (value) => ({ 'mcp-method': value });
const named = { ...version(MODERN), ...method('tools/list') };
const call = (name, header, more = {}) => [
  request('tools/call', { name, ...more, _meta: envelope() }),
  { ...version(MODERN), ...method('tools/call'), ...(header !== undefined && { 'mcp-name': header }) },
];
const base64 = (text) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const initialize = (meta) =>
  request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' }, ...(meta && { _meta: meta }) });

// Each row: what it is, the message, its headers, the status, the code (undefined: a result or nothing), the id.
const rows = [
  ['empty body', '', {}, 400, -32700, null],
  ['no JSON', '{', {}, 400, -32700, null],
  ['empty array', '[]', {}, 400, -32600, null],
  ['batch with a claim', [list(envelope())], named, 400, -32600, null],
  ['batch with an invalid message', [{ jsonrpc: '2.0' }], {}, 400, -32600, null],
  ['batch without a session', [request('ping')], {}, 400, -32000, null],
  ['response without a session', { jsonrpc: '2.0', id: 1, result: {} }, {}, 400, -32000, null],
  ['wrong jsonrpc', { ...request('ping'), jsonrpc: '1.0' }, {}, 400, -32600, null],
  ['id null', { ...request('ping'), id: null }, {}, 400, -32600, null],
  ['id of another type', { ...request('ping'), id: {} }, {}, 400, -32600, null],
  ['no method', { jsonrpc: '2.0', id: 7 }, {}, 400, -32600, null],
  ['initialize', initialize(), {}, 200],
  ['initialize with any version header of its era', initialize(), version('2024-11-05'), 200],
  ['initialize, and the header is stateless', initialize(), version(MODERN), 400, -32020, 7],
  ['initialize with a valid claim', initialize(envelope()), { ...version(MODERN), ...method('initialize') }, 404, -32601, 7],
  ['claim without capabilities', list(envelope({ [CAPABILITIES_KEY]: undefined })), named, 400, -32602, 7],
  ['claim whose version is a number', list(envelope({ [VERSION_KEY]: 5 })), named, 400, -32602, 7],
  ['claim with wrong capabilities', list(envelope({ [CAPABILITIES_KEY]: [] })), named, 400, -32602, 7],
  ['claim with a wrong client', list(envelope({ [CLIENT_INFO_KEY]: { name: 1 } })), named, 400, -32602, 7],
  ['claim with a wrong level', list(envelope({ [LOG_LEVEL_KEY]: 'loud' })), named, 400, -32602, 7],
  ['claim, and another version in the header', list(envelope()), { ...named, ...version('2025-11-25') }, 400, -32020, 7],
  ['claim, and another method in the header', list(envelope()), { ...named, ...method('tools/call') }, 400, -32020, 7],
  ['claim, and the method in another case', list(envelope()), { ...named, ...method('Tools/List') }, 400, -32020, 7],
  ['claim of an unknown version', list(envelope({ [VERSION_KEY]: 'v999.0.0' })), { ...named, ...version('v999.0.0') }, 400, -32022, 7],
  ['claim of a version with handshake', list(envelope({ [VERSION_KEY]: '2025-11-25' })), { ...named, ...version('2025-11-25') }, 400, -32022, 7],
  ['claim without the version header', list(envelope()), method('tools/list'), 400, -32020, 7],
  ['claim without the method header', list(envelope()), version(MODERN), 400, -32020, 7],
  ['call without the name header', ...call('test_simple_text'), 400, -32020, 7],
  ['call, and another name in the header', ...call('test_simple_text', 'test_echo'), 400, -32020, 7],
  ['call, and its name in base64', ...call('test_simple_text', base64('test_simple_text')), 200, undefined, 7],
  ['call, and broken base64', ...call('test_simple_text', '=?base64?dGVzdA?='), 400, -32020, 7],
  ['call of an unknown tool', ...call('nothing', 'nothing'), 200, -32602, 7],
  ['stateless list', list(envelope()), named, 200, undefined, 7],
  ['stateless list with a session that is not there', list(envelope()), { ...named, 'mcp-session-id': 'x', 'last-event-id': '1' }, 200, undefined, 7],
  ['unknown stateless method', request('tools/nothing', { _meta: envelope() }), { ...named, ...method('tools/nothing') }, 404, -32601, 7],
  ['stateless ping', request('ping', { _meta: envelope() }), { ...named, ...method('ping') }, 404, -32601, 7],
  ['no claim, and the header is stateless', request('tools/list'), named, 400, -32602, 7],
  ['no claim and no header', request('tools/list'), {}, 400, -32000, null],
  ['notification with a claim', note('notifications/x', { _meta: envelope() }), version(MODERN), 202],
  ['notification whose claim is a number', note('notifications/x', { _meta: envelope({ [VERSION_KEY]: 5 }) }), version(MODERN), 400, -32602, null],
  ['notification, and another version in the header', note('notifications/x', { _meta: envelope() }), version('2025-11-25'), 400, -32020, null],
  ['notification, and another method in the header', note('notifications/x', { _meta: envelope() }), { ...version(MODERN), ...method('y') }, 400, -32020, null],
  ['notification without a claim, header stateless', note('notifications/x'), version(MODERN), 202],
  ['notification without a claim, another method', note('notifications/x'), { ...version(MODERN), ...method('y') }, 400, -32020, null],
  ['notification without a session', note('notifications/x'), {}, 400, -32000, null],
];

test('each kind of message gets its status and code', async (t) => {
  const server = await startHttp(t, FIXTURE);
  for (const [name, message, headers, status, code, id] of rows)
    await t.test(name, async () => {
      const answer = await server.post(message, headers);
      assert.equal(answer.status, status, answer.text);
      if (status === 202) return assert.equal(answer.text, '');
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.equal(answer.json.error?.code, code, answer.text);
      if (id !== undefined) assert.deepEqual(answer.json.id, id);
      if (code !== undefined) assert.equal(answer.headers['mcp-session-id'], undefined);
    });
  const unsupported = await server.post(list(envelope({ [VERSION_KEY]: 'v999.0.0' })), { ...named, ...version('v999.0.0') });
  assert.deepEqual(unsupported.json.error.data, { supported: [MODERN], requested: 'v999.0.0' });
  await server.close();
});

test('a body above the limit is refused before it is read', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const declared = await server.request('POST', '/mcp', { 'content-type': 'application/json', 'content-length': 5 * 1024 * 1024, expect: '100-continue' });
  assert.equal(declared.status, 413);
  const sent = await server.request('POST', '/mcp', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }, 'x'.repeat(5 * 1024 * 1024)).catch((why) => why);
  assert.ok(sent.status === 413 || /ECONNRESET|EPIPE/.test(sent.code), String(sent));
  await server.close();
});
