// Where belljar listens and how it ends: TLS, unix sockets, systemd's sockets, stdio beside HTTP, shutdown.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';
import { connectV1 } from '../lib/sdk.mjs';
import { stateDir, textOf } from '../lib/sandboxed.mjs';
import { certificate, eventually, scratch } from '../lib/tokens.mjs';

const REVISION = '2025-11-25';
const start = (t, args, env) => startHttp(t, BELLJAR, { args: ['serve', ...args], env: { BELLJAR_STATE_DIR: stateDir(t), ...env } });

/** A GET with any options of node's http module; resolves to status, text and the certificate's name. */
function get(module, options) {
  return new Promise((resolve, reject) => {
    const request = module.get({ agent: false, ...options }, (response) => {
      const name = response.socket.getPeerCertificate?.().subject?.CN;
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode, text, name }));
    });
    request.on('error', reject);
  });
}

test('TLS, with a certificate that is replaced while the server runs', async (t) => {
  const dir = scratch(t);
  const files = certificate(dir, 'first');
  const server = await start(t, ['--http', '127.0.0.1:0', '--tls-cert', files.cert, '--tls-key', files.key]);
  assert.match(server.line, /^https:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const ask = (ca) => get(https, { host: 'localhost', port: server.port, path: '/healthz', ca });
  const first = readFileSync(files.cert);
  assert.equal((await ask(first)).name, 'first');
  await assert.rejects(get(http, { host: '127.0.0.1', port: server.port, path: '/healthz' }));
  certificate(dir, 'second');
  const second = readFileSync(files.cert);
  await eventually(() => ask([first, second]).then(({ name }) => name === 'second', () => false), 'the second certificate');
  const stderr = await server.close();
  assert.ok(!stderr.includes('PRIVATE KEY'));
});

test('a unix socket is for its owner only', async (t) => {
  const path = join(scratch(t), 'belljar.sock');
  const server = await start(t, ['--http', `127.0.0.1:0,unix:${path}`]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal((await get(http, { socketPath: path, path: '/healthz' })).text, '{"status":"ok"}');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'u', version: '1' } } });
  const request = http.request({ socketPath: path, method: 'POST', path: '/mcp', headers: { host: 'whatever', 'content-type': 'application/json', accept: 'application/json, text/event-stream' } });
  request.end(body);
  const [response] = await once(request, 'response');
  assert.equal(response.statusCode, 200);
  response.resume();
  await server.close();
  // The next server takes the path over.
  const next = await start(t, ['--http', `127.0.0.1:0,unix:${path}`]);
  assert.equal((await get(http, { socketPath: path, path: '/healthz' })).status, 200);
  await next.close();
});

const ACTIVATE = `
import os, socket, sys
s = socket.socket()
s.bind((sys.argv[1], 0))
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], ['belljar', 'serve'] + sys.argv[3:])
`;

test('sockets that systemd passes are served', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t) };
  const server = await startHttp(t, 'python3', { args: ['-c', ACTIVATE, '127.0.0.1', BELLJAR], env });
  assert.equal((await server.get({}, '/healthz')).status, 200);
  const session = await connectHttp(t, server);
  assert.equal(textOf(await session.call({ name: 'run_command', arguments: { command: 'env | grep -c LISTEN_ || true' } })), '0\n');
  await session.client.close();
  await server.close();
  // A passed socket that other machines reach needs authentication like any other.
  const refused = spawn('python3', ['-c', ACTIVATE, '0.0.0.0', BELLJAR], { env: serverEnv(env), stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  refused.stderr.on('data', (text) => (stderr += text));
  assert.equal((await once(refused, 'close'))[0], 1);
  assert.match(stderr, /other machines reach 0\.0\.0\.0/);
});

test('options and the variable of older servers', async (t) => {
  for (const [args, env] of [[['--sse', '--host', '127.0.0.1', '--port', '0'], {}], [['--port', '0'], {}], [['--port', '0'], { MCP_SSE_MODE: 'true' }]]) {
    const server = await start(t, args, env);
    for (const kind of ['sse', 'streamable']) {
      const session = await connectHttp(t, server, { version: 1, kind });
      assert.ok((await session.client.listTools()).tools.length > 10);
      await session.client.close();
    }
    await server.close();
  }
});

test('standard input and output beside HTTP', async (t) => {
  const path = join(scratch(t), 's.sock');
  const env = { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_HTTP: `unix:${path}`, BELLJAR_STDIO: 'true' };
  const session = await connectV1(t, { program: BELLJAR, env });
  await session.call({ name: 'write_file', arguments: { path: 'x', content: 'both' } });
  assert.equal((await get(http, { socketPath: path, path: '/readyz' })).status, 200);
  await session.close(); // the end of the client ends the server, HTTP too
  await assert.rejects(get(http, { socketPath: path, path: '/healthz' }));
});

test('readiness, the access log and its escapes', async (t) => {
  const server = await start(t, ['--http', '127.0.0.1:0', '--access-log']);
  await eventually(async () => (await server.get({}, '/readyz')).status === 200, 'ready');
  await server.get({}, '/a%20b%C3%A9?token=secret');
  await server.get({ host: 'evil.example.com' }, '/mcp');
  const stderr = await server.close();
  assert.match(stderr, / belljar access: 127\.0\.0\.1:\d+ GET 200 \d+ bytes \d+ ms \/readyz\n/);
  assert.match(stderr, / GET 404 \d+ bytes \d+ ms \/a bé\n/);
  assert.match(stderr, / GET 403 \d+ bytes \d+ ms \/mcp\n/);
  assert.ok(!stderr.includes('secret'));
});

test('a name of the server and a web page are allowed by options', async (t) => {
  const server = await start(t, ['--http', '127.0.0.1:0', '--allow-host', 'box.example.org,b2', '--allow-origin', 'https://app.example.org']);
  const status = async (headers) => (await server.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'h', version: '1' } } }, headers)).status;
  assert.equal(await status({}), 200);
  assert.equal(await status({ host: 'box.example.org:80' }), 200);
  assert.equal(await status({ host: 'evil.example.org' }), 403);
  assert.equal(await status({ origin: 'https://app.example.org' }), 200);
  assert.equal(await status({ origin: 'https://evil.example.org' }), 403);
  assert.equal(await status({ origin: 'null' }), 403);
  await server.close();
});

/** Ids of processes with this text in their command line. */
const processes = (text) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });

/** Starts a command and waits until it runs. */
async function startRun(server, session, command) {
  const running = server.call(session, 'run_command', { command: `touch begun; ${command}` }, 'run');
  running.catch(() => {});
  await eventually(async () => {
    const answer = await (await server.call(session, 'list_directory', { path: '.' }, 'list')).end();
    return (answer.text + JSON.stringify(answer.events)).includes('begun');
  }, 'the run');
  return { running };
}

test('SIGTERM lets a run finish, ends streams and accepts nothing more', async (t) => {
  const server = await start(t, ['--http', '127.0.0.1:0', '--grace', '60000']);
  const session = await server.handshake(REVISION);
  const stream = await server.get(session);
  const { running } = await startRun(server, session, 'sleep 3; echo finished');
  server.child.kill('SIGTERM');
  await stream.end();
  await eventually(() => get(http, { host: '127.0.0.1', port: server.port, path: '/healthz' }).then(() => false, () => true), 'refused connections');
  const answer = await (await running).end();
  assert.match(answer.text + JSON.stringify(answer.events), /finished/);
  await server.ended();
});

test('SIGTERM answers a run that does not finish with what there is, and nothing is left', async (t) => {
  const server = await start(t, ['--http', '127.0.0.1:0', '--grace', '4000']);
  const session = await server.handshake(REVISION);
  const { running } = await startRun(server, session, 'echo so far; sleep 314159');
  assert.equal(processes('314159').length > 0, true);
  server.child.kill('SIGTERM');
  const answer = await (await running).end();
  assert.match(answer.text + JSON.stringify(answer.events), /so far.*the server is being stopped and ends this process: .*; run it again when the server is back/);
  await server.ended();
  assert.deepEqual(processes('314159'), []);
});
