// The network of sandboxes: policies, the proxy inside, what is refused and how that is told. All hosts are on
// loopback, which the operator allows by address, or names that do not exist.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { open, refused, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const seen = [];
const web = createServer((request, response) => {
  const target = new URL(request.url, 'http://x').searchParams.get('to');
  if (target) return response.writeHead(302, { location: target }).end();
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    seen.push({ url: request.url, headers: request.headers, body });
    response.end(`path ${request.url} body ${body}`);
  });
});
// Answers nothing and reads nothing.
const wedged = createTcpServer((socket) => {
  socket.pause();
  socket.on('error', () => {});
});
const flood = createServer((request, response) => {
  const size = Number(new URL(request.url, 'http://x').searchParams.get('mib')) * 1048576;
  response.writeHead(200, { 'content-length': size });
  const chunk = Buffer.alloc(1048576, 'x');
  let left = size;
  const more = () => {
    while (left > 0) {
      left -= chunk.length;
      if (!response.write(chunk)) return response.once('drain', more);
    }
    response.end();
  };
  more();
});
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
let ports;
let tools;
const cleanups = [];

before(async () => {
  const [w, s, f] = await Promise.all([web, wedged, flood].map(listen));
  ports = { web: w, wedged: s, flood: f };
  const session = open(
    { after: (fn) => cleanups.push(fn) },
    { NETWORK_MAX: 'allow', ANSWER_WITHIN: 170000, ALLOW_HOSTS: `127.0.0.1:${w},127.0.0.1:${s},127.0.0.1:${f},*.allowed.example`, DENY_HOSTS: 'denied.allowed.example' },
  );
  tools = toolsOf(() => session);
  cleanups.push(async () => (await session).close());
});
after(async () => {
  for (const fn of cleanups.reverse()) await fn();
  for (const server of [web, wedged, flood]) {
    server.closeAllConnections?.();
    server.close();
  }
});

const host = (which) => `127.0.0.1:${ports[which]}`;
// Requests to loopback go to the proxy only if NO_PROXY does not leave them out.
const curl = 'curl -sS --max-time 60 --noproxy none';
const allow = (name, ...hosts) => tools.create_sandbox({ name, network: 'allow', network_allow: hosts });
const sh = async (sandbox, command) => structuredOf(await tools.run_command({ sandbox, command }, { timeout: 170000 }));

test('a sandbox has no network by default, and no proxy variables', async () => {
  const { stdout } = await sh(undefined, `env | grep -ic proxy; curl -sS --max-time 5 http://${host('web')}/ 2>&1; true`);
  assert.match(stdout, /^0\n/);
  assert.match(stdout, /Failed to connect|Couldn't connect/);
  assert.equal(structuredOf(await tools.sandbox_info()).network, 'none');
});

test('allowed hosts are reached by plain HTTP, CONNECT and SOCKS, other hosts are refused', async () => {
  structuredOf(await allow('some', host('web')));
  const url = `http://${host('web')}/`;
  const { stdout } = await sh(
    'some',
    `${curl} ${url}plain; echo; ${curl} -p ${url}tunnel; echo; ${curl} --socks5-hostname 127.0.0.1:3128 ${url}socks; echo; ` +
      `${curl} -d sent ${url}post; echo; printf chunked | ${curl} -H 'Transfer-Encoding: chunked' -T - ${url}put`,
  );
  assert.equal(stdout, 'path /plain body \npath /tunnel body \npath /socks body \npath /post body sent\npath /put body chunked');
  const plain = seen.find(({ url: path }) => path === '/plain');
  assert.equal(plain.headers.host, host('web'));
  assert.equal(plain.headers.connection, 'close');
  assert.equal(Object.keys(plain.headers).some((name) => name.startsWith('proxy')), false);

  const count = seen.length;
  const result = await tools.run_command({ sandbox: 'some', command: `${curl} http://${host('flood')}/x` });
  assert.match(structuredOf(result).stdout, /is not allowed: the network policy of this sandbox is 'allow'. To allow it: update_sandbox/);
  assert.match(structuredOf(result).note, /network: 127.0.0.1:\d+ is not allowed/);
  const { connections } = structuredOf(await tools.sandbox_info({ sandbox: 'some' }));
  assert.deepEqual(connections.map(({ host: h, allowed, count: n }) => [h, allowed, n]), [
    [host('web'), true, 5],
    [host('flood'), false, 1],
  ]);
  assert.equal(seen.length, count);
});

test('a policy can be changed while programs run, and ends connections that it does not allow', async () => {
  structuredOf(await tools.create_sandbox({ name: 'changes' }));
  const fetch = `${curl} --proxy http://127.0.0.1:3128 http://${host('web')}/changes 2>&1; true`;
  assert.match((await sh('changes', fetch)).stdout, /Failed to connect|Couldn't connect/);
  structuredOf(await tools.update_sandbox({ sandbox: 'changes', network: 'allow', network_allow: [host('web'), host('wedged')] }));
  assert.match((await sh('changes', `echo $HTTP_PROXY; ${fetch}`)).stdout, /^http:\/\/127.0.0.1:3128\npath \/changes/);
  const waiting = tools.run_command({ sandbox: 'changes', command: `${curl} -p http://${host('wedged')}/ 2>&1; true` });
  for (;;) {
    const { connections = [] } = structuredOf(await tools.sandbox_info({ sandbox: 'changes' }));
    if (connections.some(({ host: h }) => h === host('wedged'))) break;
  }
  structuredOf(await tools.update_sandbox({ sandbox: 'changes', network: 'none' }));
  assert.match(structuredOf(await waiting).stdout, /curl: \(\d+\)/);
  assert.match((await sh('changes', fetch)).stdout, /Failed to connect|Couldn't connect/);
  assert.equal(structuredOf(await tools.sandbox_info({ sandbox: 'changes' })).network, 'none');
});

test('a port that a program has taken is not the port of the proxy', async () => {
  structuredOf(await tools.create_sandbox({ name: 'taken' }));
  const { process } = structuredOf(await tools.run_command({ sandbox: 'taken', command: 'python3 -m http.server --bind 127.0.0.1 3128', background: true }));
  structuredOf(await tools.process_output({ process, port: 3128 }));
  structuredOf(await tools.update_sandbox({ sandbox: 'taken', network: 'allow', network_allow: [host('web')] }));
  for (;;) {
    const { stdout } = await sh('taken', 'echo $HTTP_PROXY');
    if (stdout === 'http://127.0.0.1:3128\n') continue; // the agent's answer is on its way
    assert.match(stdout, /^http:\/\/127.0.0.1:[2-5]\d{4}\n$/);
    break;
  }
  assert.equal((await sh('taken', `${curl} http://${host('web')}/other`)).stdout, 'path /other body ');
});

test('a caller gets no more than the operator allows', async () => {
  refused(await tools.create_sandbox({ network: 'open' }), /network: .*'open'|network: this server allows at most 'allow'/);
  refused(await allow('x', 'example.net'), /network_allow: example.net is not among the hosts/);
  refused(await allow('x', '*.example'), /too wide/);
  refused(await allow('x', 'http://a.allowed.example/'), /a URL is not a host/);
  refused(await tools.create_sandbox({ network: 'packages', network_allow: [host('web')] }), /needs "network": "allow"/);
  structuredOf(await allow('wide', '*.allowed.example'));
  const { stdout } = await sh('wide', `${curl} http://denied.allowed.example/; ${curl} http://allowed.example/`);
  assert.match(stdout, /denied.allowed.example:80 is not allowed: the administrator of belljar has denied it/);
  assert.match(stdout, /allowed.example:80 is not allowed/);
});

test('a second request on a kept connection is not forwarded', async () => {
  structuredOf(await allow('kept', host('web')));
  const count = seen.length;
  const code = `
import socket
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(b'GET http://${host('web')}/first HTTP/1.1\\r\\nHost: ${host('web')}\\r\\n\\r\\nGET http://${host('web')}/second HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
data = b''
while True:
    part = s.recv(65536)
    if not part: break
    data += part
print(data.count(b'HTTP/1.1'), b'/first' in data, b'/second' in data)
`;
  assert.equal(structuredOf(await tools.run_code({ sandbox: 'kept', code })).stdout, '1 True False\n');
  assert.deepEqual(seen.slice(count).map(({ url }) => url), ['/first']);
  const { connections } = structuredOf(await tools.sandbox_info({ sandbox: 'kept' }));
  assert.match(connections.find(({ allowed }) => !allowed).reason, /second request/);
});

test('a redirection of an allowed host leads nowhere else, and programs without the proxy reach nothing', async () => {
  structuredOf(await allow('redirected', host('web')));
  const targets = [`http://${host('flood')}/`, 'http://169.254.169.254/latest/', 'http://localhost:22/', 'http://denied.allowed.example/'];
  for (const target of targets) {
    const { stdout } = await sh('redirected', `${curl} -L 'http://${host('web')}/?to=${target}'`);
    assert.match(stdout, /is not allowed/, target);
  }
  const { connections } = structuredOf(await tools.sandbox_info({ sandbox: 'redirected' }));
  for (const target of targets) assert.ok(connections.some(({ host: h, allowed }) => !allowed && h === new URL(target).host.replace(/^([^:]*)$/, '$1:80')), target);
  const { stdout } = await sh('redirected', `env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy curl -sS --max-time 5 http://${host('web')}/ 2>&1; python3 -c "import socket; socket.getaddrinfo('a.allowed.example', 80)" 2>&1 | tail -1`);
  assert.match(stdout, /Failed to connect|Couldn't connect/);
  assert.match(stdout, /gaierror/);
});

test('a wedged host blocks no other, and two hundred connections are made at once', async () => {
  structuredOf(await allow('many', host('web'), host('wedged')));
  const code = `
import socket
def connect(target):
    s = socket.create_connection(('127.0.0.1', 3128))
    s.settimeout(150)
    s.sendall(f'CONNECT {target} HTTP/1.1\\r\\n\\r\\n'.encode())
    return s
stuck = [connect('${host('wedged')}') for _ in range(20)]
for s in stuck:
    assert b' 200 ' in s.recv(1000)
    s.setblocking(False)
    try:
        while True: s.send(bytes(65536))
    except BlockingIOError: pass
several = [connect('${host('web')}') for _ in range(170)]
for s in several: assert b' 200 ' in s.recv(1000)
for s in several: s.sendall(b'GET /many HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')
print(sum(b'path /many' in s.recv(1000) for s in several))
`;
  assert.equal(structuredOf(await tools.run_code({ sandbox: 'many', code, timeout_s: 160 }, { timeout: 170000 })).stdout, '170\n');
});

test('a large download is complete', async () => {
  structuredOf(await allow('large', host('flood')));
  const { stdout } = await sh('large', `${curl} http://${host('flood')}/?mib=256 | wc -c; ${curl} -p http://${host('flood')}/?mib=64 | md5sum`);
  assert.match(stdout, new RegExp(`^${256 * 1048576}\n[0-9a-f]{32}`));
});

test('git and ssh are led through the proxy', async () => {
  structuredOf(await allow('ssh', host('web')));
  // The command that ssh would run for its connection, with the host in place of %h:%p.
  const { stdout } = await sh('ssh', `
    command=$(printf %s "$GIT_SSH_COMMAND" | sed "s/^ssh -o ProxyCommand='//; s/'$//; s/%h:%p/${host('web')}/")
    printf 'GET /ssh HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' | timeout 20 sh -c "$command" | tail -1`);
  assert.match(stdout, /path \/ssh body/);
});

test('a server with --network-max none has no dialer, and says so', async (t) => {
  const session = open(t, { NETWORK_MAX: 'none' });
  const none = toolsOf(() => session);
  const { tools: list } = await (await session).client.listTools();
  assert.equal(list.some(({ name }) => name === 'install_packages'), false);
  refused(await none.create_sandbox({ network: 'packages' }), /network: sandboxes of this server have none/);
  await (await session).close();
});

test('the user is asked for hosts that are not allowed, where the client can', async (t) => {
  const answers = [];
  const questions = [];
  const session = await open(t, { ASK_HOSTS: `127.0.0.1:${ports.web},*.asked.example`, ALLOW_HOSTS: 'free.example', DENY_HOSTS: 'no.asked.example' }, { capabilities: { elicitation: {} } });
  session.client.setRequestHandler(ElicitRequestSchema, async ({ params }) => (questions.push(params.message), answers.shift()));
  const own = toolsOf(async () => session);
  const why = 'to test it';
  answers.push({ action: 'decline' });
  refused(await own.request_network({ hosts: [host('web')], why }), /not allowed: the user has declined/);
  assert.match(questions[0], /to connect to these hosts\?\n127.0.0.1:\d+\nThe assistant says why: "to test it"/);
  answers.push({ action: 'accept', content: { allow: 'no' } });
  refused(await own.request_network({ hosts: [host('web')], why }), /not allowed: the user has declined/);
  // Once: the hosts are allowed now, and the policy of the sandbox stays.
  answers.push({ action: 'accept', content: { allow: 'once' } });
  assert.deepEqual(structuredOf(await own.request_network({ hosts: [host('web')], why })), { network: 'allow', network_allow: [host('web')], for_s: 600 });
  assert.match(structuredOf(await own.run_command({ command: `${curl} http://${host('web')}/once` })).stdout, /path \/once body/);
  structuredOf(await own.reset_sandbox()); // ends what was allowed once
  assert.match(structuredOf(await own.run_command({ command: `${curl} http://${host('web')}/once 2>&1; true` })).stdout, /Failed to connect|Couldn't connect/);
  answers.push({ action: 'accept', content: { allow: 'for this sandbox' } });
  assert.deepEqual(structuredOf(await own.request_network({ hosts: [host('web')], why })), { network: 'allow', network_allow: [host('web')] });
  const { stdout } = structuredOf(await own.run_command({ command: `${curl} http://${host('web')}/asked; ${curl} http://x.asked.example/` }));
  assert.match(stdout, /path \/asked body .*x.asked.example:80 is not allowed: .* To ask the user for it: request_network/);
  structuredOf(await own.request_network({ hosts: ['free.example'], why }));
  assert.equal(questions.length, 4);
  refused(await own.request_network({ hosts: ['other.example'], why }), /^other.example is not allowed: users of this server cannot allow it, ask your administrator: --ask-hosts other.example$/);
  refused(await own.request_network({ hosts: ['*.asked.example:8080'], why }), /^\*\.asked\.example:8080 is not allowed: .*: --ask-hosts \*\.asked\.example:8080$/);
  refused(await own.request_network({ hosts: ['no.asked.example'], why }), /the administrator has denied it/);
  assert.equal(questions.length, 4);
  await session.close();
});

test('the user is not asked for addresses that only the operator can allow', async (t) => {
  const session = await open(t, { ASK_HOSTS: '*' }, { capabilities: { elicitation: {} } });
  session.client.setRequestHandler(ElicitRequestSchema, async () => assert.fail('was asked'));
  const own = toolsOf(async () => session);
  for (const address of ['127.0.0.9', '10.0.0.1', '169.254.169.254', '[::1]'])
    refused(await own.request_network({ hosts: [address], why: 'w' }), /is not allowed: .* Only the administrator of belljar can allow such an address, by listing it in --allow-hosts/);
  await session.close();
});

test('without a user who can be asked it is no', async (t) => {
  const session = await open(t, { ASK_HOSTS: '*' });
  const own = toolsOf(async () => session);
  refused(await own.request_network({ hosts: ['asked.example'], why: 'x' }), /not allowed: this client cannot ask its user, ask your administrator/);
  await session.close();
});

/** The port of a listener whose queue is full, so that a connection to it is never made. */
async function fullPort(t) {
  const source = `
import socket, time
l = socket.create_server(('127.0.0.1', 0), backlog=0)
held = []
for _ in range(4):
    s = socket.socket(); s.setblocking(False); s.connect_ex(l.getsockname()); held.append(s)
print(l.getsockname()[1], flush=True); time.sleep(1000)`;
  const child = spawn('python3', ['-c', source], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return Number((await once(createInterface(child.stdout), 'line'))[0]);
}

test('connections, bytes, rate and the time of a dial are limited, and each limit is named', async (t) => {
  const full = await fullPort(t);
  const session = await open(t, { NETWORK_MAX: 'allow', ALLOW_HOSTS: `127.0.0.1:${ports.web},127.0.0.1:${ports.flood},127.0.0.1:${ports.wedged},127.0.0.1:${full}`, NETWORK_DIAL: 1, NETWORK_CONNECTIONS: 2, NETWORK_BYTES: '4M', NETWORK_RATE: '1M', ANSWER_WITHIN: 170000 });
  const own = toolsOf(async () => session);
  const run = async (sandbox, command) => structuredOf(await own.run_command({ sandbox, command }, { timeout: 170000 })).stdout;
  structuredOf(await own.create_sandbox({ name: 'few', network: 'allow' }));
  const code = `
import socket
held = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(3)]
for s in held: s.sendall(b'CONNECT ${host('wedged')} HTTP/1.1\\r\\n\\r\\n')
print(held[0].recv(100)[:12], held[1].recv(100)[:12])
held[2].settimeout(1)
try: print(held[2].recv(100))
except TimeoutError: print('waits')
held[0].close()
held[2].settimeout(100)
print(held[2].recv(100)[:12])
`;
  assert.equal(structuredOf(await own.run_code({ sandbox: 'few', code })).stdout, "b'HTTP/1.1 200' b'HTTP/1.1 200'\nwaits\nb'HTTP/1.1 200'\n");
  const reasons = async (sandbox) => structuredOf(await own.sandbox_info({ sandbox })).connections.map(({ reason }) => reason).join();
  assert.match(await reasons('few'), /2 connections are open, which is the limit \(--network-connections\)/);
  assert.match(await run('few', `${curl} http://127.0.0.1:${full}/`), /no connection within 1 s, which is the limit \(--network-dial\)/);
  structuredOf(await own.create_sandbox({ name: 'much', network: 'allow' }));
  // Three megabytes at one a second, of which the first second's worth comes at once.
  const start = Date.now();
  assert.equal(await run('much', `${curl} http://${host('flood')}/?mib=3 | wc -c`), `${3 * 1048576}\n`);
  assert.ok(Date.now() - start >= 1900, 'slowed down');
  assert.notEqual(await run('much', `${curl} http://${host('flood')}/?mib=3 | wc -c`), `${3 * 1048576}\n`);
  assert.match(await run('much', `${curl} http://${host('web')}/`), /more than 4194304 bytes, which is the limit.*--network-bytes/);
  assert.match(await reasons('much'), /--network-bytes/);
  await session.close();
});

test('a secret is used by requests to its host and by nothing else', async (t) => {
  const value = 'ghp_Abcdefgh0123456789XYZ';
  const repeating = createServer((request, response) => response.end(JSON.stringify(request.headers)));
  const port = await listen(repeating);
  t.after(() => repeating.close());
  const session = await open(t, { NETWORK: 'allow', NETWORK_MAX: 'allow', ALLOW_HOSTS: `127.0.0.1:${ports.web},127.0.0.1:${port}`, SECRET: `GITHUB=${value}@127.0.0.1:${ports.web},OTHER=${value}x@127.0.0.1:${port}` });
  const own = toolsOf(async () => session);
  const run = async (command) => structuredOf(await own.run_command({ command })).stdout;
  const placeholder = (await run('printf %s "$GITHUB"'));
  assert.match(placeholder, /^ghp_[A-Z][a-z]{7}[0-9]{10}[A-Z]{3}$/);
  assert.notEqual(placeholder, value);
  assert.ok(!(await run('cat /proc/*/environ | tr "\\0" "\\n"; env')).includes(value));
  seen.length = 0;
  await run(`${curl} -H "Authorization: Bearer $GITHUB" -H "X-Amz-Meta-A: $GITHUB" -H 'Accept-Encoding: gzip' -d "body $GITHUB" "http://${host('web')}/bearer?q=$GITHUB"; ${curl} -u "me:$GITHUB" http://${host('web')}/basic; ${curl} -p -H "X-Api-Key: $GITHUB" http://${host('web')}/tunnel; ${curl} -H "X-Api-Key: $OTHER" http://${host('web')}/other`);
  assert.deepEqual(seen.map(({ url }) => url), [`/bearer?q=${placeholder}`, '/basic', '/tunnel', '/other']);
  assert.equal(seen[0].headers.authorization, `Bearer ${value}`);
  assert.equal(seen[0].headers['x-amz-meta-a'], placeholder);
  assert.equal(seen[0].headers['accept-encoding'], undefined);
  assert.equal(seen[0].body, `body ${placeholder}`);
  assert.equal(seen[1].headers.authorization, `Basic ${Buffer.from(`me:${value}`).toString('base64')}`);
  assert.equal(seen[2].headers['x-api-key'], placeholder);
  assert.notEqual(seen[3].headers['x-api-key'], `${value}x`);
  // A host that repeats the request repeats the placeholder.
  const repeated = await run(`${curl} -H "X-Api-Key: $OTHER" http://127.0.0.1:${port}/; echo; printf %s "$OTHER"`);
  assert.ok(!repeated.includes(value), repeated);
  const [json, own_placeholder] = repeated.split('\n');
  assert.equal(JSON.parse(json)['x-api-key'], own_placeholder);
  await session.close();
});
