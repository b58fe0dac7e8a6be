// Malformed messages: each gets the specified error, and the next message works.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const bytes = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const callEcho = (members) =>
  `{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"test_echo","arguments":{${members}}}}`;
const echo = (text) => callEcho(`"text":${text}`);
const split = echo('"@"').split('@');
const inText = (...raw) => bytes(split[0], raw, split[1], '\n');
const nested = (depth, id = '"r"') => {
  // The message itself is one level, params another.
  const inner = '['.repeat(depth - 2) + ']'.repeat(depth - 2);
  return `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"x":${inner}}}`;
};
const member = (text) => `{"jsonrpc":"2.0","id":"r","method":"ping","params":{"x":${text}}}`;

// send -> the error; id null where the text is not JSON at all.
const syntax = { code: -32700, id: null };
const refused = (says) => ({ code: -32600, id: 'r', says });
const cases = {
  'a stray continuation byte': { send: inText(0x80), ...syntax },
  'an overlong slash': { send: inText(0xc0, 0xaf), ...syntax },
  'an overlong NUL': { send: inText(0xc0, 0x80), ...syntax },
  'a surrogate in UTF-8': { send: inText(0xed, 0xa0, 0x80), ...syntax },
  'past U+10FFFF': { send: inText(0xf4, 0x90, 0x80, 0x80), ...syntax },
  'a character cut off': { send: inText(0xe2, 0x82), ...syntax },
  'a byte 0xff': { send: inText(0xff), ...syntax },
  'UTF-16': { send: bytes(Buffer.from(echo('"x"'), 'utf16le'), '\n'), ...syntax },
  'a raw NUL in a string': { send: inText(0), ...syntax },
  'a raw NUL between tokens': { send: bytes('{"jsonrpc":', [0], '"2.0"}\n'), ...syntax },
  'a raw tab in a string': { send: inText(9), ...syntax },
  'a lone high surrogate': { send: echo('"\\ud800"'), ...refused(/half of a surrogate pair/) },
  'a lone low surrogate': { send: echo('"\\udc00"'), ...refused(/half of a surrogate pair/) },
  'surrogates in the wrong order': { send: echo('"\\udc00\\ud800"'), ...refused(/half of a surrogate pair/) },
  'a broken escape': { send: echo('"\\q"'), ...syntax },
  'NaN': { send: member('NaN'), ...syntax },
  'a leading zero': { send: member('01'), ...syntax },
  'a plus sign': { send: member('+1'), ...syntax },
  'a trailing comma': { send: member('[1,]'), ...syntax },
  'a comment': { send: member('1/*x*/'), ...syntax },
  'single quotes': { send: "{'jsonrpc':'2.0'}", ...syntax },
  'a real number too large': { send: member('1e999'), ...refused(/overflow/) },
  'a real number too small': { send: member('-1e999'), ...refused(/overflow/) },
  'an integer too large': { send: member('99999999999999999999'), ...refused(/too big integer/) },
  'an integer too small': { send: member('-99999999999999999999'), ...refused(/too big negative integer/) },
  'a duplicate key': { send: member('{"a":1,"a":2}'), ...refused(/duplicate object key/) },
  'a duplicate method': { send: '{"jsonrpc":"2.0","id":"r","method":"ping","method":"tools/list"}', ...refused(/duplicate/) },
  'two ids': { send: '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', code: -32600, id: null, says: /duplicate/ },
  'NUL in a key': { send: member('{"a\\u0000b":1}'), ...refused(/NUL|null/i) },
  'NUL in the method': { send: '{"jsonrpc":"2.0","id":"r","method":"ping\\u0000"}', code: -32600, id: null, says: /'method'/ },
  'NUL in jsonrpc': { send: '{"jsonrpc":"2.0\\u0000","id":"r","method":"ping"}', code: -32600, id: null, says: /'jsonrpc'/ },
  '65 levels': { send: nested(65), ...refused(/nested deeper than 64 levels \(max_depth\)/) },
  '100000 levels': { send: nested(100000), ...refused(/max_depth/) },
  '100000 levels, never closed': { send: '['.repeat(100000), code: -32600, id: null, says: /max_depth/ },
  '100000 objects, never closed': { send: '{"a":'.repeat(100000), code: -32600, id: null, says: /max_depth/ },
};

for (const [name, { send, code, id, says }] of Object.entries(cases))
  test(name, async (t) => {
    for (const program of [FIXTURE, BELLJAR]) {
      const server = start(t, program);
      server.send(send);
      assertError(await server.next(), code, says, id);
      assert.deepEqual((await server.request('ping', {}, 'after')).result, {});
      await server.close();
    }
  });

test('64 levels of nesting are accepted', async (t) => {
  const server = start(t, FIXTURE);
  server.send(nested(64));
  assert.deepEqual(await server.next(), { jsonrpc: '2.0', id: 'r', result: {} });
  await server.close();
});

test('brackets inside strings do not count as levels', async (t) => {
  const server = start(t, FIXTURE);
  server.send(member(JSON.stringify('[{"\\'.repeat(1000))));
  assert.deepEqual((await server.next()).result, {});
  await server.close();
});

test('valid text of every kind is accepted', async (t) => {
  const server = start(t, FIXTURE);
  const texts = ['\u00e9', '\u20ac', '\u{1f600}', '\uffff', '\u{10ffff}', '\u2028', '\u007f', ' '];
  texts.push('"\\/\b\f\n\r\t');
  for (const text of texts) {
    const { result } = await server.call('test_echo', { text, anything: { [text]: [text] } });
    const seen = JSON.parse(result.content[0].text);
    assert.equal(seen.text_bytes, Buffer.byteLength(text), JSON.stringify(text));
    assert.deepEqual(seen.anything, { [text]: [text] });
  }
  server.send(echo('"\\ud83d\\ude00"'));
  assert.equal(JSON.parse((await server.next()).result.content[0].text).text_bytes, 4);
  const nul = await server.call('test_echo', { text: 'x', raw: 'a\0b', anything: 'c\0d' });
  const seen = JSON.parse(nul.result.content[0].text);
  assert.deepEqual([seen.raw_bytes, seen.anything], [3, 'c\0d']);
  await server.close();
});

test('numbers at the edge of their range are accepted', async (t) => {
  const server = start(t, FIXTURE);
  for (const number of ['9223372036854775807', '-9223372036854775808', '1e308', '1E-400', '0.1']) {
    server.send(callEcho(`"text":"x","anything":${number}`));
    const { result } = await server.next();
    assert.equal(JSON.parse(result.content[0].text).anything, JSON.parse(number));
  }
  assert.match(server.lines[0], /\\"anything\\":9223372036854775807/);
  await server.close();
});

test('ids of every JSON type are accepted or refused as specified', async (t) => {
  const server = start(t, FIXTURE);
  const good = ['""', '"x"', '"\\u0000"', '"\\ud83d\\ude00"', '0', '-1', '1.5', '1e3'];
  good.push('9007199254740993', '-9223372036854775808');
  for (const id of good) {
    server.send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    const answer = await server.next();
    assert.deepEqual(answer.result, {}, id);
    assert.equal(answer.id, JSON.parse(id));
  }
  assert.ok(server.lines.some((line) => line.includes('"id":9007199254740993')), 'not as a double');
  for (const id of ['null', 'true', 'false', '{}', '[]', '[1]', '{"a":1}']) {
    server.send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assertError(await server.next(), -32600, /^'id' must be a string or a number, got/, null);
  }
  await server.close();
});

test('an id may be 1024 bytes long and no longer', async (t) => {
  const server = start(t, FIXTURE);
  const id = 'x'.repeat(1024);
  assert.deepEqual((await server.request('ping', {}, id)).result, {});
  for (const length of [1025, 2000]) {
    server.ask('ping', {}, 'x'.repeat(length));
    assertError(await server.next(), -32600, /'id' is longer than 1024 bytes/, null);
  }
  await server.close();
});

test('an id in use is refused, and the first call goes on', async (t) => {
  const server = start(t, FIXTURE);
  const slow = { name: 'test_slow', arguments: { ms: 200 } };
  server.ask('tools/call', slow, 'same');
  server.ask('ping', {}, 'same');
  assertError(await server.next(), -32600, /'id' is in use by a request that is not answered yet/, 'same');
  assert.equal((await server.next()).result.content[0].text, 'slept');
  assert.deepEqual((await server.request('ping', {}, 'same')).result, {}); // now it is free
  await server.close();
});

test('an error shows strange names in a safe way', async (t) => {
  const server = start(t, FIXTURE);
  const { error } = await server.request('evil\n\u001b[31m\u0007');
  assert.equal(error.code, -32601);
  assert.ok(!/[\u0000-\u001f]/.test(error.message), JSON.stringify(error.message));
  const long = await server.request('tools/call', { name: '\u20ac'.repeat(5000) });
  assertError(long, -32602, /^unknown tool '\u20ac+\.\.\.'/);
  assert.ok(long.error.message.length < 200);
  await server.close();
});
