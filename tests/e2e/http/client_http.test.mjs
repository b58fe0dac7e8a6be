// `belljar client --http`: every action against a server that runs already, and what it says when it cannot.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { startHttp } from '../lib/http.mjs';
import { BELLJAR, complaint, serverEnv } from '../lib/programs.mjs';
import { certificate, eventually, scratch, tokenFile } from '../lib/tokens.mjs';

function startClient(args, env = {}) {
  const child = spawn(BELLJAR, ['client', ...args], { env: serverEnv(env), stdio: ['pipe', 'pipe', 'pipe'] });
  const result = { child, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (result[name] += text));
  result.ended = once(child, 'close').then(([code]) => {
    assert.equal(complaint(result.stderr), null);
    return { ...result, code };
  });
  return result;
}

function client(args, { env, input = '' } = {}) {
  const started = startClient(args, env);
  started.child.stdin.on('error', () => {}).end(input); // a client with wrong arguments has exited by now
  return started.ended;
}

const start = (t, ...more) => startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', ...more] });

test('the client has all its actions over HTTP', async (t) => {
  const server = await start(t);
  const url = `${server.url}/mcp`;
  const cases = [
    [['tools'], /^run_code +Run code/],
    [['call', 'run_command', '{"command": "echo $((6 * 7))"}'], /^42$/m],
    [['call', '--json', 'run_command', '{"command": "true"}'], /"exit_code": ?0/],
    [['read', 'belljar://tools/run_code'], /^# run_code/],
    [['resources'], /belljar:\/\//],
    [['prompts'], /./],
    [['tour'], /Use the variable in the next call[^]*42[^]*Delete the sandbox/],
    [[], /^Connected to a server/],
  ];
  for (const [args, expected] of cases) {
    const { stdout, stderr, code } = await client(['--http', url, ...args]);
    assert.match(stdout, expected, stderr);
    assert.equal(code, 0, stderr);
  }
  const shell = await client(['--http', url, 'shell'], { input: "write_file path=a content='b c'\nread_file path=a\nnonsense\n" });
  assert.match(shell.stdout, /created 'a'[^]*b c/);
  assert.match(shell.stdout, /no command and no tool 'nonsense'/);
  const failed = await client(['--http', url, 'call', 'read_file', '{"path": "missing"}']);
  assert.equal(failed.code, 1);
  // Every client has ended its session.
  await server.close();
});

test('Ctrl-C cancels the call on the server', async (t) => {
  const server = await start(t);
  const url = `${server.url}/mcp`;
  const running = startClient(['--http', url, 'call', 'run_command', JSON.stringify({ command: 'touch began; sleep 300' })]);
  const list = async () => (await client(['--http', url, 'call', 'list_directory', '{"path": "."}'])).stdout;
  await eventually(async () => /began/.test(await list()), 'the call runs');
  running.child.kill('SIGINT');
  assert.equal((await running.ended).code, 130);
  await eventually(async () => {
    const { stdout } = await client(['--http', url, 'call', 'run_command', '{"command": "pgrep -x sleep || echo none"}']);
    return /none/.test(stdout);
  }, 'the program is killed');
  await server.close();
});

test('a response that is cut is resumed', async (t) => {
  const message = (id, result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
  const resumed = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part)).on('end', () => {
      const { id, method } = body ? JSON.parse(body) : {};
      const begin = (headers = {}) => response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
      if (method === 'initialize') begin({ 'mcp-session-id': 's1' }).end(message(id, { protocolVersion: '2025-11-25' }));
      else if (method === 'tools/list') {
        begin().write('id: 9-0\nretry: 10\ndata: \n\nid: 9-1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\ndata: {"half');
        setTimeout(() => response.destroy(), 50);
      } else if (request.method === 'GET') {
        resumed.push(request.headers['last-event-id']);
        // The first attempt is cut, too, and at the second the server has not noticed that.
        if (resumed.length === 1) response.destroy();
        else if (resumed.length === 2) response.writeHead(409, { 'content-type': 'application/json' }).end('{}');
        else begin().end(message(2, { tools: [{ name: 'late', description: 'arrived' }] }));
      } else response.writeHead(request.method === 'DELETE' ? 200 : 202).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { stdout, stderr } = await client(['--http', `http://127.0.0.1:${server.address().port}/mcp`, 'tools']);
  assert.match(stdout, /^late +arrived/, stderr);
  assert.deepEqual(resumed, ['9-1', '9-1', '9-1']);
});

test('a server that sends only comments and cuts the response is given up', async (t) => {
  let attempts = 0;
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part)).on('end', () => {
      const { id, method } = body ? JSON.parse(body) : {};
      const begin = (headers = {}) => response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
      if (method === 'initialize') begin({ 'mcp-session-id': 's1' }).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25' } })}\n\n`);
      else if (method === 'tools/list') begin().end('id: 9-0\nretry: 0\ndata: \n\n');
      else if (request.method === 'GET' && ++attempts > 40) response.writeHead(404).end();
      else if (request.method === 'GET') begin().end(': alive\n\n');
      else response.writeHead(request.method === 'DELETE' ? 200 : 202).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { code } = await client(['--http', `http://127.0.0.1:${server.address().port}/mcp`, 'tools']);
  assert.notEqual(code, 0);
  assert.equal(attempts, 30);
});

test('tokens and TLS', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {}, late: { expires: -1 } });
  const files = certificate(scratch(t), 'test');
  const server = await start(t, '--auth', 'token', '--token-file', path, '--tls-cert', files.cert, '--tls-key', files.key);
  const url = `https://localhost:${server.port}/mcp`;
  const run = (env, ...args) => client(['--http', url, ...args], { env: { SSL_CERT_FILE: files.cert, ...env } });
  const good = await run({ MY_TOKEN: tokens.alice }, '--token-env', 'MY_TOKEN', 'call', 'run_command', '{"command": "echo $((6 * 7))"}');
  assert.match(good.stdout, /^42$/m, good.stderr);
  const cases = [
    [{}, [], /refuses the request with status 401 \(This server needs a token.*\): put a token into an environment variable and name it with --token-env/],
    [{ MY_TOKEN: 'bj_wrong' }, ['--token-env', 'MY_TOKEN'], /status 401 \(The token is unknown or has been revoked\.\): the variable of --token-env must/],
    [{ MY_TOKEN: tokens.late }, ['--token-env', 'MY_TOKEN'], /status 401 \(The token has expired\.\)/],
    [{}, ['--token-env', 'MY_TOKEN'], /--token-env: the environment variable MY_TOKEN is not set/],
    [{ MY_TOKEN: 'a\r\nb: c' }, ['--token-env', 'MY_TOKEN'], /the value of MY_TOKEN is not a token/],
    [{ SSL_CERT_FILE: '' }, [], /has a certificate that is not trusted.*SSL_CERT_FILE/],
  ];
  for (const [env, args, expected] of cases) {
    const { code, stderr } = await run(env, ...args, 'tools');
    assert.match(stderr, expected);
    assert.equal(code, 1);
    for (const secret of Object.values(tokens)) assert.ok(!stderr.includes(secret));
  }
  await server.close();
});

test('a wrong address is named with what to do', async (t) => {
  const server = await start(t);
  const page = http.createServer((request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
  const moved = http.createServer((request, response) => response.writeHead(307, { location: 'https://example.com/' }).end());
  for (const one of [page, moved]) {
    one.listen(0, '127.0.0.1');
    await once(one, 'listening');
    t.after(() => one.close());
  }
  const cases = [
    ['http://127.0.0.1:1/mcp', /cannot be reached .*see that the server runs \('belljar serve --http ADDRESS'\), and the address/],
    [server.url, /status 404: the URL must be the one of an MCP server, which usually ends in \/mcp/],
    [`${server.url}/healthz`, /status 405 .*usually ends in \/mcp/],
    [`https://127.0.0.1:${server.port}/mcp`, /does not answer with TLS/],
    [`http://127.0.0.1:${page.address().port}/`, /does not answer in MCP/],
    [`http://127.0.0.1:${moved.address().port}/`, /status 307: use the URL that the server redirects to/],
  ];
  for (const [url, expected] of cases) {
    const { code, stderr, stdout } = await client(['--http', url, 'tools']);
    assert.match(stderr, expected);
    assert.equal(stdout, '');
    assert.equal(code, 1);
  }
  for (const args of [['--token-env', 'X', 'tools'], ['--http', server.url, 'tools', '--', '--profile', 'x'], ['--http', 'ftp://x/', 'tools']])
    assert.equal((await client(args)).code, 2);
  await server.close();
});
