// Framing: one message per line, however the bytes arrive.
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';

const ping = (id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
const pong = (id) => ({ jsonrpc: '2.0', id, result: {} });
const slow = (id, ms) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'test_slow', arguments: { ms } },
  });

async function expect(server, ...ids) {
  for (const id of ids) assert.deepEqual(await server.next(), pong(id));
}

const good = {
  'CRLF': `${ping(1)}\r\n${ping(2)}\r\n`,
  'a byte order mark': `\ufeff${ping(1)}\n\ufeff${ping(2)}\n`,
  'blank lines': `\n\n\r\n  \n\t\n${ping(1)}\n\n   \r\n${ping(2)}\n\n`,
  'a mark and nothing else': `\ufeff\n${ping(1)}\n\ufeff\r\n${ping(2)}\n`,
  'spaces around': `  ${ping(1)}  \n\t${ping(2)} \r\n`,
  'many lines at once': `${ping(1)}\n${ping(2)}\n`,
  'spaces inside': '{ "jsonrpc" : "2.0" ,\t"id" : 1 , "method" : "ping" }\n' + `${ping(2)}\n`,
};

for (const [name, text] of Object.entries(good))
  test(name, async (t) => {
    const server = start(t, FIXTURE);
    server.send(Buffer.from(text));
    await expect(server, 1, 2);
    await server.close();
  });

test('the last line needs no line end', async (t) => {
  for (const end of ['', '\r', ' ']) {
    const server = start(t, FIXTURE);
    server.child.stdin.end(`${ping(1)}\n${ping(2)}${end}`);
    await expect(server, 1, 2);
    await server.close();
  }
});

test('half a message at the end of the input is refused', async (t) => {
  const server = start(t, FIXTURE);
  server.child.stdin.end(`${ping(1)}\n{"jsonrpc":`);
  await expect(server, 1);
  assertError(await server.next(), -32700, undefined, null);
  await server.close();
});

test('a message that arrives byte by byte is answered', async (t) => {
  const server = start(t, FIXTURE);
  const text = Buffer.from(`\ufeff${ping(1)}\r\n\n{"jsonrpc":"2.0","id":"\u20ac","method":"ping"}\n`);
  for (const byte of text) {
    await new Promise((resolve) => server.child.stdin.write(Buffer.from([byte]), resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(server, 1, '\u20ac');
  await server.close();
});

test('malformed lines do not affect the lines between them', async (t) => {
  const server = start(t, FIXTURE);
  const garbage = ['nonsense', '}{', '\u0000\u0001', '"', '\\', '\u00ff'];
  garbage.push('Content-Length: 52', 'GET / HTTP/1.1');
  for (const [i, junk] of garbage.entries()) {
    server.send(Buffer.from(`${junk}\n`, 'latin1')).send(ping(i));
    assertError(await server.next(), -32700, undefined, null);
    await expect(server, i);
  }
  await server.close();
});

test('a message over several lines is several malformed ones', async (t) => {
  const server = start(t, FIXTURE);
  server.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }, null, 1)).send(ping(2));
  for (let i = 0; i < 5; i++) assertError(await server.next(), -32700, undefined, null);
  await expect(server, 2);
  await server.close();
});

test('every response is one line', async (t) => {
  const server = start(t, FIXTURE);
  const anything = { 'a\nb': '\r\n\u2028\u2029' };
  await server.call('test_echo', { text: 'line\nline\r\nline', anything });
  await server.close(); // a raw line end would have made a line that is not JSON
  assert.equal(server.lines.length, 1);
  assert.ok(!server.lines[0].includes('\r'));
});

/** A server that reads a regular file, and possibly writes one. */
async function withFile(t, program, content, options = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-e2e-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'in');
  writeFileSync(path, content);
  const fd = openSync(path, 'r');
  const server = start(t, program, { stdin: fd, ...options });
  closeSync(fd);
  return server;
}

for (const [name, program] of [['fixture', FIXTURE], ['belljar', BELLJAR]]) {
  test(`input from a regular file (${name})`, async (t) => {
    const count = 3000; // more than is read at once
    const lines = Array.from({ length: count }, (_, i) => ping(i));
    const server = await withFile(t, program, lines.join('\n'));
    await expect(server, ...lines.keys());
    await server.close();
  });

  test(`no input at all (${name})`, async (t) => {
    const server = start(t, program, { stdin: 'ignore' });
    await server.close();
    assert.deepEqual(server.lines, []);
  });
}

test('the end of a regular file cancels calls and keeps earlier responses', async (t) => {
  const server = await withFile(t, FIXTURE, `${slow(1, 60000)}\n${ping(2)}\n`);
  await expect(server, 2);
  assert.match(await server.close(), /fixture: 1 cancelled/);
});
