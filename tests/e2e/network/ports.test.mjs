// Ports of sandboxes: `belljar port`, expose_port and the paths below /ports/ of a server over HTTP. The program inside
// is hostile to the browser, and the client's token is none of its business.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';
import { open, stateDir, structuredOf, toolsOf } from '../lib/sandboxed.mjs';
import { bearer, certificate, eventually, scratch, token, tokenFile } from '../lib/tokens.mjs';

// Answers with what it was asked; /raw answers with the bytes of its query, /ws repeats what it gets after a switch.
const PROGRAM = `
import socket, sys, threading, urllib.parse
def serve(c):
    data = b''
    while b'\\r\\n\\r\\n' not in data:
        part = c.recv(65536)
        if not part: return c.close()
        data += part
    head, rest = data.split(b'\\r\\n\\r\\n', 1)
    lines = head.decode().split('\\r\\n')
    length = next((int(l.split(':')[1]) for l in lines if l.lower().startswith('content-length:')), 0)
    while len(rest) < length: rest += c.recv(65536)
    path = lines[0].split()[1]
    if path.startswith('/raw?'):
        c.sendall(urllib.parse.unquote_to_bytes(path[5:]))
    elif path == '/ws':
        c.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: x\\r\\nSet-Cookie: a=b\\r\\n\\r\\n')
        while True:
            part = c.recv(65536)
            if not part: break
            c.sendall(part.upper())
    elif path.startswith('/big'):
        c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n' % (32 << 20))
        for i in range(32): c.sendall(bytes([i]) * (1 << 20))
    elif path == '/long':
        c.sendall(b'HTTP/1.1 200 OK\\r\\nA: ' + b'b' * 40000 + b'\\r\\n\\r\\n')
    else:
        body = ('\\n'.join(lines) + '\\n\\n' + rest.decode()).encode()
        c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\nSet-Cookie: evil=1\\r\\nClear-Site-Data: "*"\\r\\n' % len(body)
            + b'Alt-Svc: h3=":1"\\r\\nStrict-Transport-Security: max-age=9\\r\\nAccess-Control-Allow-Origin: https://evil.example\\r\\nX-Other: 1\\r\\nConnection: keep-alive\\r\\n\\r\\n' + body)
    c.close()
s = socket.create_server((sys.argv[1], 8000), family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`;

async function startProgram(tools, sandbox, address = '127.0.0.1') {
  structuredOf(await tools.write_file({ sandbox, path: 'serve.py', content: PROGRAM }));
  const { process } = structuredOf(await tools.run_command({ sandbox, command: `python3 serve.py ${address}`, background: true }));
  structuredOf(await tools.process_output({ sandbox, process, port: 8000 }));
  return process;
}

async function exposed(t, args = [], headers) {
  const server = await startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', ...args], env: { BELLJAR_STATE_DIR: stateDir(t) } });
  if (args.includes('--tls-cert')) server.url = server.url.replace('http:', 'https:');
  const session = await connectHttp(t, server, { version: 1, headers });
  const tools = toolsOf(async () => session);
  structuredOf(await tools.create_sandbox({ name: 'web' }));
  return { server, session, tools };
}

const pathOf = (url) => new URL(url).pathname;

/** Sends bytes as they are and returns everything that comes back until the server closes. */
async function raw(port, bytes, { until } = {}) {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.write(bytes);
  for await (const part of socket) {
    text += part;
    if (until?.test(text)) break;
  }
  socket.destroy();
  return text;
}

test('a link opens the port, and the program inside learns nothing of the client', async (t) => {
  const { server, tools } = await exposed(t);
  assert.equal(structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' })).listening, false);
  await startProgram(tools, 'web');
  const { url, link, listening, expires_in_s } = structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' }));
  assert.deepEqual([listening, expires_in_s], [true, 3600]);
  assert.ok(link.startsWith(url) && url.startsWith(`${server.url}/ports/`));
  const headers = { cookie: 'a=1', authorization: 'Bearer secret', origin: 'null', referer: link, 'x-own': 'kept', connection: 'close, x-hop', 'x-hop': '1', 'x-user-id': 'u', 'mcp-session-id': 's' };
  for (const name of ['X-Forwarded-User', 'x-auth-request-email', 'x-amzn-oidc-data', 'Cf-Access-Jwt-Assertion', 'x-goog-iap-jwt', 'x-own-token', 'x-jwt-Assertion']) headers[name] = 'secret';
  const answer = await server.request('POST', `${pathOf(link)}some%20path/é?q=%2F&r`, headers, 'the body');
  assert.equal(answer.status, 200);
  const [line, ...fields] = answer.text.split('\n\n')[0].split('\n');
  assert.equal(line, 'POST /some%20path/%C3%A9?q=%2F&r HTTP/1.1');
  assert.deepEqual(fields.map((field) => field.split(':')[0].toLowerCase()).sort(), ['connection', 'content-length', 'host', 'x-forwarded-prefix', 'x-forwarded-proto', 'x-own']);
  assert.ok(fields.includes('Host: localhost:8000') && fields.includes('Connection: close'));
  assert.equal(answer.text.split('\n\n')[1], 'the body');
  const { 'content-security-policy': policy, 'access-control-allow-origin': origin, ...others } = answer.headers;
  assert.match(policy, /^sandbox /);
  assert.doesNotMatch(policy, /allow-same-origin|allow-top-navigation/);
  assert.equal(origin, '*');
  assert.deepEqual(Object.keys(others).sort(), ['access-control-expose-headers', 'connection', 'content-length', 'content-type', 'referrer-policy']);
  assert.equal(others.connection, 'close');

  const big = await server.request('GET', `${pathOf(link)}big`);
  assert.equal(big.text.length, 32 << 20);
  const slash = await server.request('GET', pathOf(link).slice(0, -1));
  assert.deepEqual([slash.status, slash.headers.location], [307, pathOf(link)]);
  const preflight = await server.request('OPTIONS', pathOf(link), { origin: 'null', 'access-control-request-method': 'PUT' });
  assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin']], [204, '*']);
  await server.close();
});

test('a port is reached by its owner and with a link only', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {}, bob: {}, reader: { scopes: 'files' } });
  const { server, tools } = await exposed(t, ['--auth', 'token', '--token-file', path, '--access-log'], bearer(tokens.alice));
  await startProgram(tools, 'web');
  const { url, link } = structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' }));
  const get = async (where, headers) => (await server.request('GET', where, headers)).status;
  assert.equal(await get(pathOf(url), bearer(tokens.alice)), 200);
  assert.equal(await get(pathOf(url).replace(/\/[^/]+\/8000/, '/web/8000'), bearer(tokens.alice)), 200);
  assert.equal(await get(pathOf(link)), 200);
  assert.equal(await get(pathOf(url)), 401);
  assert.equal(await get(pathOf(url), bearer(tokens.bob)), 404);
  assert.equal(await get(pathOf(url), bearer(tokens.reader)), 403);
  assert.equal(await get(pathOf(link).replace('/8000/', '/8001/')), 403);
  assert.equal(await get(pathOf(link).replace(/~./, (x) => (x === '~0' ? '~1' : '~0'))), 403);
  assert.equal(await get('/ports/x/8000/~/'), 404);
  assert.equal(await get('/ports/x/99999/'), 404);
  assert.equal(await get(pathOf(link), { host: 'rebound.example' }), 403);
  assert.equal(await get(pathOf(url), { ...bearer(tokens.alice), origin: 'https://evil.example' }), 401);
  // A page with the origin of its own, as the policy of the answer makes it, does not reach MCP.
  assert.equal((await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { ...bearer(tokens.alice), origin: 'null' })).status, 403);
  const stderr = await server.close();
  assert.match(stderr, /GET 200 .*\/ports\/[^/]+\/8000$/m);
  assert.ok(!stderr.includes(/~([0-9a-f]{32})/.exec(link)[1]), 'the link is not logged');
});

test('without tokens a browser needs the link', async (t) => {
  const { server, tools } = await exposed(t);
  await startProgram(tools, 'web', '::1');
  const { url, link } = structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' }));
  assert.equal((await server.request('GET', pathOf(url))).status, 200);
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { referer: 'http://evil.example/' }, { origin: server.url }])
    assert.equal((await server.request('GET', pathOf(url), headers)).status, 401);
  assert.equal((await server.request('GET', pathOf(link), { 'sec-fetch-site': 'none' })).status, 200);
  structuredOf(await tools.delete_sandbox({ sandbox: 'web' }));
  assert.equal((await server.request('GET', pathOf(link))).status, 404);
  await server.close();
});

test('a WebSocket is passed on in both directions, and nothing else switches protocols', async (t) => {
  const { server, tools } = await exposed(t);
  await startProgram(tools, 'web');
  const prefix = pathOf(structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' })).link);
  const head = `GET ${prefix}ws HTTP/1.1\r\nHost: localhost\r\n`;
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part) => (text += part));
  socket.write(`${head}Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\nOrigin: null\r\n\r\n`);
  await eventually(() => text.endsWith('\r\n\r\n'), 'the switch');
  assert.match(text, /^HTTP\/1.1 101 /);
  assert.match(text, /\r\nsec-websocket-accept: x\r\n/);
  assert.doesNotMatch(text, /set-cookie/i);
  for (const size of [5, 3_000_000]) {
    text = '';
    socket.write('a'.repeat(size));
    await eventually(() => text.length === size, `${size} bytes`);
    assert.equal(text, 'A'.repeat(size));
  }
  socket.end();
  await once(socket, 'close');
  assert.match(await raw(server.port, `${head}Connection: close\r\n\r\n`), /^HTTP\/1.1 502 /);
  assert.match(await raw(server.port, `${head}Connection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n`), /^HTTP\/1.1 502 /);
  await server.close();
});

/** Opens a WebSocket of the program and waits for the switch. */
async function openSocket(server, prefix) {
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {}).write(`GET ${prefix}ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const [text] = await once(socket, 'data');
  return { socket, text, closed: once(socket, 'close') };
}

test('one sandbox has 64 requests at a time, and a place is free again when one has ended', async (t) => {
  const { server, tools } = await exposed(t);
  await startProgram(tools, 'web');
  const prefix = pathOf(structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' })).link);
  const sockets = await Promise.all(Array.from({ length: 64 }, () => openSocket(server, prefix)));
  for (const { text } of sockets) assert.match(text, /^HTTP\/1.1 101 /);
  const full = await server.request('GET', prefix);
  assert.equal(full.status, 503);
  assert.match(full.text, /64 requests .* try again/);
  sockets[0].socket.end();
  await sockets[0].closed;
  await eventually(async () => (await server.request('GET', prefix)).status === 200, 'a free place');
  for (const { socket } of sockets) socket.destroy();
  await server.close();
});

test('a revoked token ends what its owner has open at ports', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {}, bob: {} });
  const { server, tools } = await exposed(t, ['--auth', 'token', '--token-file', path], bearer(tokens.alice));
  await startProgram(tools, 'web');
  const { link } = structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' }));
  const { text, closed } = await openSocket(server, pathOf(link));
  assert.match(text, /^HTTP\/1.1 101 /);
  token(path, 'revoke', 'tk_aaaaaaaa');
  await closed;
  await server.close();
});

test('ports are served over TLS, and --public-url is the beginning of links', async (t) => {
  const { cert, key } = certificate(scratch(t), 'localhost');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  const { server, tools } = await exposed(t, ['--tls-cert', cert, '--tls-key', key, '--public-url', 'https://box.example/belljar/']);
  await startProgram(tools, 'web');
  const { link } = structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' }));
  assert.match(link, /^https:\/\/box.example\/belljar\/ports\/[^/]+\/8000\/~[0-9a-f]{32}\/$/);
  const get = (path) => execFileSync('curl', ['-sSk', '--max-time', '60', `https://localhost:${server.port}${pathOf(link).replace('/belljar', '')}${path}`], { maxBuffer: 2 ** 26 });
  assert.match(get('x').toString(), /^GET \/x HTTP\/1.1\n[^]*X-Forwarded-Proto: https\n/);
  assert.equal(get('big').length, 32 << 20);
  await server.close();
});

test('an answer that could be read in two ways, or that is none, is a 502', async (t) => {
  const { server, tools } = await exposed(t);
  await startProgram(tools, 'web');
  const prefix = pathOf(structuredOf(await tools.expose_port({ port: 8000, sandbox: 'web' })).link);
  const ask = (bytes) => raw(server.port, `GET ${prefix}raw?${encodeURIComponent(bytes)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const ok = 'HTTP/1.1 200 OK\r\n';
  const cases = [
    'hello\r\n\r\n',
    'HTTP/2 200 OK\r\n\r\n',
    'HTTP/1.1 999 No\r\n\r\n',
    `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Content-Length: -1\r\n\r\n`,
    `${ok}Transfer-Encoding: gzip\r\n\r\n`,
    `${ok}Content-Length : 1\r\n\r\nx`,
    `${ok}A: b\r\n folded\r\n\r\n`,
    `${ok}A: b\nC: d\r\n\r\n`,
    `${ok}A: \x01\r\n\r\n`,
    `${ok}${'A: b\r\n'.repeat(101)}\r\n`,
    `${ok}`,
  ];
  for (const bytes of cases) assert.match(await ask(bytes), /^HTTP\/1.1 502 /, JSON.stringify(bytes.slice(0, 80)));
  assert.match(await raw(server.port, `GET ${prefix}long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`), /^HTTP\/1.1 502 [^]*too long a head/);
  // An answer ends the connection, whatever follows it, and a second request is not passed on.
  const twice = await raw(server.port, `GET ${prefix}raw?${encodeURIComponent(`${ok}Content-Length: 2\r\n\r\nhi`)} HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  assert.match(twice, /\r\nConnection: close\r\n\r\nhi$/);
  assert.match(await ask(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 2\r\n\r\nhi`), /^HTTP\/1.1 200 OK[^]*hi$/);
  assert.match(await ask('HTTP/1.1 302 Found\r\nLocation: /a/b\r\n\r\n'), new RegExp(`\r\nlocation: ${prefix.slice(0, -1)}/a/b\r\n`));
  assert.match(await ask('HTTP/1.1 302 Found\r\nLocation: http://localhost:8000/c\r\n\r\n'), new RegExp(`\r\nlocation: ${prefix.slice(0, -1)}/c\r\n`));
  assert.match(await ask('HTTP/1.1 302 Found\r\nLocation: https://other.example/\r\n\r\n'), /\r\nlocation: https:\/\/other.example\/\r\n/);
  await server.close();
});

test('expose_port is not offered without HTTP', async (t) => {
  const session = await open(t);
  assert.equal((await session.client.listTools()).tools.some(({ name }) => name === 'expose_port'), false);
  await session.close();
});

/** Starts `belljar port` and waits for its address. */
async function forward(t, state, ...args) {
  const child = spawn(BELLJAR, ['port', '--state-dir', state, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: serverEnv() });
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const exited = once(child, 'close');
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(([code]) => assert.fail(`exit ${code}: ${stderr}`))]);
  return { line, port: Number(line.split(':').at(-1)), stderr: () => stderr, stop: () => (child.kill('SIGINT'), exited) };
}

test('belljar port forwards a local port to a sandbox that a server has awake', async (t) => {
  const state = stateDir(t);
  const session = await open(t, { STATE_DIR: state });
  const tools = toolsOf(async () => session);
  structuredOf(await tools.create_sandbox({ name: 'web' }));
  const process = await startProgram(tools, 'web');
  const { line, port, stop, stderr } = await forward(t, state, 'web', '8000', '0');
  assert.match(line, /^http:\/\/127\.0\.0\.1:\d+$/);
  const get = async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer();
  const bodies = await Promise.all(Array.from({ length: 20 }, (_, i) => get(`/n${i}`)));
  bodies.forEach((body, i) => assert.match(Buffer.from(body).toString(), new RegExp(`^GET /n${i} HTTP`)));
  const big = Buffer.from(await get('/big'));
  assert.equal(big.length, 32 << 20);
  for (let i = 0; i < 32; i++) assert.equal(big[(i << 20) + 77], i);
  structuredOf(await tools.process_stop({ process, force: true }));
  await assert.rejects(get('/x'));
  await eventually(() => /no program listens on port 8000 in the sandbox yet/.test(stderr()), 'a warning');
  assert.deepEqual(await stop(), [130, null]);
  await session.close();
});

test('belljar port wakes a sandbox itself, and names what is wrong', async (t) => {
  const state = stateDir(t);
  const run = (...args) => spawn(BELLJAR, args, { env: serverEnv(), stdio: ['ignore', 'ignore', 'pipe'] });
  const fails = async (code, why, ...args) => {
    const child = run('port', '--state-dir', state, ...args);
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part) => (text += part));
    assert.deepEqual(await once(child, 'close'), [code, null], text);
    assert.match(text, why);
  };
  const exec = run('exec', '--state-dir', state, '--sandbox', 'own', 'true');
  assert.deepEqual(await once(exec, 'close'), [0, null]);
  const { stop, port } = await forward(t, state, 'own', '8000', '0');
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`)); // nothing listens inside
  await stop();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  await fails(1, /listen on port \d+ of 127.0.0.1/, 'own', '8000', String(taken.address().port));
  taken.close();
  await fails(2, /PORT/, 'own', '0');
  await fails(2, /expected SANDBOX PORT \[LOCAL\]/, 'own');
  await fails(1, /there is no sandbox 'none'/, 'none', '8000', '0');
});
