// One test for each malformed or unusual message of the specification that can occur without HTTP. Each
// runs before any handshake and after one; afterwards the connection must still work.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS, taskCapability } from '../lib/fixture.mjs';
import {
  CAPABILITIES_KEY, CLIENT_INFO_KEY, LAST_HANDSHAKE, LOG_LEVEL_KEY, MODERN, VERSION_KEY,
  callParams, envelope, modern,
} from '../lib/modern.mjs';
import { FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const request = (method, params, id = 'r') => ({ jsonrpc: '2.0', id, method, params });
const withMeta = (_meta) => request('tools/list', { _meta });
const badEnvelope = (key, problem, meta) => ({
  send: withMeta(envelope(meta)),
  code: -32602,
  data: { envelope: { key, problem } },
  says: new RegExp(`^params\\._meta: '${key}'`),
});
const unsupported = (requested) => ({
  send: withMeta(envelope({ [VERSION_KEY]: requested })),
  code: -32022,
  data: { supported: [MODERN], requested },
  says: /is not supported without a handshake/,
});
const INFO_PROBLEM = 'must be an object with the strings name and version';
const LEVEL_PROBLEM =
  'must be one of debug, info, notice, warning, error, critical, alert, emergency';

// send: the message. code: the expected error code, with id null unless `id` is set. result: what the
// result must match. silent: no response is expected.
const rows = {
  '4: not JSON': { send: 'nonsense', code: -32700, id: null },
  '4: half of JSON': { send: '{"jsonrpc":"2.0","id":1,', code: -32700, id: null },
  '4: two values on a line': { send: '{} {}', code: -32700, id: null },
  '5: an empty array': { send: [], code: -32600, id: null },
  '6: an array with a claim': {
    send: [request('ping', {}, 1), request('tools/list', modern(), 2)],
    code: -32600,
    id: null,
  },
  '7: an array with an element that is no message': {
    send: [request('ping', {}, 1), { id: 2 }],
    code: -32600,
    id: null,
  },
  '7: an array of numbers': { send: [1, 2], code: -32600, id: null },
  '9: a response': { send: { jsonrpc: '2.0', id: 'r', result: {} }, silent: true },
  '9: an error response': {
    send: { jsonrpc: '2.0', id: null, error: { code: 1, message: 'x' } },
    silent: true,
  },
  '10: jsonrpc missing': { send: { id: 1, method: 'ping' }, code: -32600, id: null, says: /'jsonrpc'/ },
  '10: jsonrpc 1.0': { send: { jsonrpc: '1.0', id: 1, method: 'ping' }, code: -32600, id: null, says: /'jsonrpc'/ },
  '10: jsonrpc a number': { send: { jsonrpc: 2.0, id: 1, method: 'ping' }, code: -32600, id: null },
  '10: id null': { send: request('ping', {}, null), code: -32600, id: null, says: /'id' must be a string or a number, got null/ },
  '10: id true': { send: request('ping', {}, true), code: -32600, id: null, says: /got the boolean true/ },
  '10: id an object': { send: request('ping', {}, {}), code: -32600, id: null, says: /got an object/ },
  '10: id an array': { send: request('ping', {}, []), code: -32600, id: null, says: /got an array/ },
  '10: no method': { send: { jsonrpc: '2.0', id: 1 }, code: -32600, id: null, says: /'method'/ },
  '10: method a number': { send: { jsonrpc: '2.0', id: 1, method: 5 }, code: -32600, id: null, says: /'method'/ },
  '10: result and error': { send: { jsonrpc: '2.0', id: 1, result: {}, error: {} }, code: -32600, id: null },
  '10: a string': { send: '"ping"', code: -32600, id: null, says: /a message is a JSON object/ },
  '10: a number': { send: '5', code: -32600, id: null },
  '10: null': { send: 'null', code: -32600, id: null },
  '11: initialize without claim': {
    send: request('initialize', { protocolVersion: LAST_HANDSHAKE }),
    result: { protocolVersion: LAST_HANDSHAKE },
  },
  '11: initialize with half a claim is a handshake': {
    send: request('initialize', { protocolVersion: '2025-06-18', _meta: { [VERSION_KEY]: MODERN } }),
    result: { protocolVersion: '2025-06-18' },
  },
  '11: initialize with an old date in _meta is a handshake': {
    send: request('initialize', { protocolVersion: '2025-06-18', _meta: envelope({ [VERSION_KEY]: '2025-06-18' }) }),
    result: { protocolVersion: '2025-06-18' },
  },
  '11: initialize with a valid claim is an unknown method': {
    send: request('initialize', modern({ protocolVersion: MODERN })),
    code: -32601,
  },
  '12: version a number': badEnvelope(VERSION_KEY, 'must be a string', { [VERSION_KEY]: 20260728 }),
  '12: version null': badEnvelope(VERSION_KEY, 'must be a string', { [VERSION_KEY]: null }),
  '12: capabilities missing': badEnvelope(CAPABILITIES_KEY, 'is missing', { [CAPABILITIES_KEY]: undefined }),
  '12: capabilities an array': badEnvelope(CAPABILITIES_KEY, 'must be an object', { [CAPABILITIES_KEY]: [] }),
  '12: capabilities null': badEnvelope(CAPABILITIES_KEY, 'must be an object', { [CAPABILITIES_KEY]: null }),
  '12: clientInfo a string': badEnvelope(CLIENT_INFO_KEY, INFO_PROBLEM, { [CLIENT_INFO_KEY]: 'me' }),
  '12: clientInfo without version': badEnvelope(CLIENT_INFO_KEY, INFO_PROBLEM, { [CLIENT_INFO_KEY]: { name: 'x' } }),
  '12: clientInfo with a numeric name': badEnvelope(CLIENT_INFO_KEY, INFO_PROBLEM, { [CLIENT_INFO_KEY]: { name: 1, version: '1' } }),
  '12: an unknown log level': badEnvelope(LOG_LEVEL_KEY, LEVEL_PROBLEM, { [LOG_LEVEL_KEY]: 'loud' }),
  '12: a numeric log level': badEnvelope(LOG_LEVEL_KEY, LEVEL_PROBLEM, { [LOG_LEVEL_KEY]: 3 }),
  '12: progressToken an object': badEnvelope('progressToken', 'must be a string of at most 1024 bytes or a number', { progressToken: {} }),
  '12: a broken envelope beats an unknown version': badEnvelope(CAPABILITIES_KEY, 'is missing', {
    [VERSION_KEY]: 'v999.0.0',
    [CAPABILITIES_KEY]: undefined,
  }),
  '12: a broken envelope beats an unknown method': {
    send: request('nonesuch', { _meta: { [VERSION_KEY]: MODERN } }),
    code: -32602,
    data: { envelope: { key: CAPABILITIES_KEY, problem: 'is missing' } },
  },
  '15: junk': unsupported('v999.0.0'),
  '15: a later date': unsupported('2027-01-01'),
  '15: a handshake date through _meta': unsupported('2025-06-18'),
  '15: an empty version': unsupported(''),
  '15: beats an unknown method': {
    send: request('nonesuch', { _meta: envelope({ [VERSION_KEY]: '2027-01-01' }) }),
    code: -32022,
    data: { supported: [MODERN], requested: '2027-01-01' },
  },
  '15: initialize that claims a later version': {
    send: request('initialize', { _meta: envelope({ [VERSION_KEY]: '2027-01-01' }) }),
    code: -32022,
    data: { supported: [MODERN], requested: '2027-01-01' },
  },
  '21: listen without a filter': {
    send: request('subscriptions/listen', modern()),
    code: -32602,
    says: /'notifications' must be an object/,
  },
  '21: listen with a filter of another type': {
    send: request('subscriptions/listen', modern({ notifications: ['toolsListChanged'] })),
    code: -32602,
  },
  '21: listen with a flag of another type': {
    send: request('subscriptions/listen', modern({ notifications: { toolsListChanged: 'yes' } })),
    code: -32602,
  },
  '21: listen to URIs that are no strings': {
    send: request('subscriptions/listen', modern({ notifications: { resourceSubscriptions: [5] } })),
    code: -32602,
  },
  '24: ping': { send: request('ping', modern()), code: -32601, says: /'ping' is not known in revision 2026-07-28/ },
  '24: logging/setLevel': { send: request('logging/setLevel', modern({ level: 'info' })), code: -32601 },
  '24: resources/subscribe': { send: request('resources/subscribe', modern({ uri: 'a:b' })), code: -32601 },
  '24: resources/unsubscribe': { send: request('resources/unsubscribe', modern({ uri: 'a:b' })), code: -32601 },
  '24: an unknown method': { send: request('unknown/method', modern()), code: -32601 },
  '20: a task method without the extension': { send: request('tasks/get', modern({ taskId: 'x' })), code: -32021 },
  '24: a task method of 2025-11-25': { send: request('tasks/result', modern({ taskId: 'x' })), code: -32601 },
  '27: no claim: the method of the handshake': { send: request('ping', {}), result: {} },
  '27: _meta without a version is no claim': {
    send: request('ping', { _meta: { [CAPABILITIES_KEY]: {}, progressToken: 1 } }),
    result: {},
  },
  '27: _meta that is no object is no claim': { send: request('ping', { _meta: 'x' }), result: {} },
  '27: a stateless method without claim': { send: request('subscriptions/listen', { notifications: {} }), code: -32601 },
  '28: notification with a claim': { send: { jsonrpc: '2.0', method: 'notifications/x', params: modern() }, silent: true },
  '28: notification whose version is no string': {
    send: { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: { [VERSION_KEY]: 5 } } },
    silent: true,
  },
  '29: notification without claim': { send: { jsonrpc: '2.0', method: 'notifications/x' }, silent: true },
};

function check(answer, { code, data, says, result, id = 'r' }) {
  assert.deepEqual(answer.id, id);
  if (result !== undefined) {
    assert.equal(answer.error, undefined);
    for (const [key, value] of Object.entries(result)) assert.deepEqual(answer.result[key], value);
    return;
  }
  assertError(answer, code, says);
  assert.ok(answer.error.message.length > 0);
  if (data) assert.deepEqual(answer.error.data, data);
}

for (const [name, row] of Object.entries(rows))
  test(`row ${name}`, async (t) => {
    for (const handshake of [undefined, '2025-03-26']) {
      const server = start(t, FIXTURE);
      if (handshake) await server.handshake(handshake);
      server.send(row.send);
      if (!row.silent) check(await server.next(), row);
      const after = await server.request('tools/call', callParams('test_simple_text'), 'after');
      assert.equal(after.result.resultType, 'complete');
      assert.equal((await server.request('tools/list', {}, 'old')).result.tools.length, FIXTURE_TOOLS);
      await server.close();
    }
  });

test('row 24: the methods of a feature that is not offered are unknown', async (t) => {
  const server = start(t, FIXTURE, { env: { FIXTURE_TABLES: 'tools' } });
  const { capabilities } = (await server.request('server/discover', modern())).result;
  assert.deepEqual(capabilities, { logging: {}, tools: {}, ...taskCapability(MODERN) });
  const gone = [
    'resources/list', 'resources/templates/list', 'resources/read', 'resources/subscribe',
    'resources/unsubscribe', 'prompts/list', 'prompts/get', 'completion/complete',
  ];
  for (const method of gone) {
    assertError(await server.request(method, modern({ uri: 'a:b', name: 'x' })), -32601);
    assertError(await server.request(method, { uri: 'a:b', name: 'x' }), -32601);
  }
  await server.close();
});
