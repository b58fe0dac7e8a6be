// Secrets of hosts: what programs get of an answer when the host repeats the value in forms that would hide it, and
// secrets in TLS (--intercept-tls). All hosts are on loopback, which the operator allows by address.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { BELLJAR } from '../lib/programs.mjs';
import { open, stateDir, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const value = 'ghp_Abcdefgh0123456789XYZ';
const curl = 'curl -sS --max-time 60 --noproxy none';
const until = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50)); };
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

// Answers of a host that repeats the value, by path. Each part is sent by itself, a moment after the one before.
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
const answers = {
  '/chunked': ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', chunk(`<${value.slice(0, 9)}`), chunk(value.slice(9, 10)), `${chunk(`${value.slice(10)}>`)}0\r\n\r\n`],
  '/extended': [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${[...value].map((c) => `1;ext="${c}"\r\n${c}\r\n`).join('')}0\r\nX-Trailer: ${value}\r\n\r\n`],
  '/interim': ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n', `HTTP/1.1 200 OK\r\nContent-Length: ${value.length}\r\n\r\n`, value],
  '/field': [`HTTP/1.1 200 OK\r\nX-Repeated: ${value}\r\nContent-Length: 2\r\n\r\nok`],
  '/kept': [`HTTP/1.1 200 OK\r\nContent-Length: ${value.length}\r\nConnection: keep-alive\r\n\r\n${value}`], // and stays open
  '/gzip': ['HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n', gzipSync(value)],
  '/codings': [`HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${value}`],
  '/folded': [`HTTP/1.1 200 OK\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n${[...value].map(chunk).join('')}0\r\n\r\n`],
  '/bare': [`HTTP/1.1 200 OK\nTransfer-Encoding: chunked\r\n\r\n${[...value].map(chunk).join('')}0\r\n\r\n`],
  '/none': [`${value}`],
  '/upgrade': [`HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n${value}`],
  '/malformed': [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n${value}`],
  '/head': [`HTTP/1.1 200 ${'x'.repeat(40000)}\r\n\r\n`],
};
const closed = new Set(Object.keys(answers).filter((path) => path !== '/kept'));
const requests = [];
const repeatValue = (socket) => {
  let text = '';
  socket.on('error', () => {});
  socket.on('data', async (bytes) => {
    text += bytes;
    const end = text.indexOf('\r\n\r\n');
    if (end < 0 || text.startsWith('done')) return;
    const path = text.split(' ')[1];
    const chunked = /transfer-encoding: chunked/i.test(text);
    if (chunked && !text.endsWith('0\r\n\r\n')) return;
    requests.push(text);
    text = 'done';
    for (const part of answers[path] ?? ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok']) {
      socket.write(part);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    if (closed.has(path)) socket.end();
  });
};
const hostile = createTcpServer(repeatValue);

test('a value is masked however the answer is framed, and refused where it would be hidden', async (t) => {
  const port = await listen(hostile);
  t.after(() => hostile.close());
  const url = `http://127.0.0.1:${port}`;
  const session = await open(t, { NETWORK: 'allow', NETWORK_MAX: 'allow', ALLOW_HOSTS: `127.0.0.1:${port}`, SECRET: `TOKEN=${value}@127.0.0.1:${port}` });
  const own = toolsOf(async () => session);
  const run = async (command) => structuredOf(await own.run_command({ command }));
  const placeholder = (await run('printf %s "$TOKEN"')).stdout;
  const get = (path, more = '') => run(`${curl} ${more} -H "Authorization: Bearer $TOKEN" -H 'Accept-Encoding: gzip, br' ${url}${path}`);

  for (const [path, want] of [
    ['/chunked', `<${placeholder}>`],
    ['/extended', placeholder],
    ['/interim', placeholder],
    ['/kept', placeholder],
  ]) {
    assert.equal((await get(path)).stdout, want, path);
  }
  const field = (await get('/field', '-i')).stdout;
  assert.match(field, new RegExp(`X-Repeated: ${placeholder}\n`));
  assert.match((await get('/chunked', '-i')).stdout, /^HTTP\/1\.1 200 OK\nTransfer-Encoding: chunked\nConnection: close\n/);

  for (const [path, want] of [
    ['/gzip', /^502 127\.0\.0\.1:\d+: the host's answer has Content-Encoding 'gzip', which the request did not ask for/],
    ['/codings', /^502 127\.0\.0\.1:\d+: the host's answer has Transfer-Encoding 'gzip, chunked'/],
    ['/folded', /^502 127\.0\.0\.1:\d+: the head of the host's answer is malformed/],
    ['/bare', /^502 127\.0\.0\.1:\d+: the head of the host's answer is malformed/],
    ['/none', /^502 127\.0\.0\.1:\d+: the host has closed the connection without an answer/],
    ['/upgrade', /^502 127\.0\.0\.1:\d+: the host switches to another protocol/],
    ['/head', /^502 127\.0\.0\.1:\d+: the head of the host's answer has more than 32768 bytes/],
  ]) {
    const result = await get(path, `-w '%{stderr}%{http_code} '`);
    assert.match(result.stderr + result.stdout, want, path);
    assert.ok(!JSON.stringify(result).includes(value), path);
    assert.match(result.note ?? '', /network: 127\.0\.0\.1:\d+/, path);
  }
  const malformed = await get('/malformed');
  assert.match(malformed.stderr, /curl: \((18|56)\)/);
  assert.ok(!JSON.stringify(malformed).includes(value));

  // The request is HTTP/1.1, asks for no compression, and may have a chunked body.
  assert.match(requests[0], /^GET \/chunked HTTP\/1\.1\r\n/);
  assert.ok(requests.every((text) => text.includes(`Bearer ${value}`) && !/accept-encoding/i.test(text)));
  assert.equal((await run(`printf body | ${curl} -T - -H "Authorization: Bearer $TOKEN" ${url}/put`)).stdout, 'ok');
  assert.match(requests.at(-1), new RegExp(`^PUT /put HTTP/1\\.1\r\n[^]*Bearer ${value}[^]*\r\n\r\n4\r\nbody\r\n0\r\n\r\n$`));
  assert.equal((await run(`${curl} -I -H "Authorization: Bearer $TOKEN" ${url}/chunked -o /dev/null -w '%{http_code}'`)).stdout, '200');
  await session.close();
});

// --- TLS ---

let dir; // of certificates
const certify = (name, { names, ca = 'ca' }) => {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
  openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(join(dir, `${name}.ext`), names ? `subjectAltName=${names}\n` : 'basicConstraints=critical,CA:TRUE\n');
  const signer = ca === name ? ['-signkey', `${name}.key`] : ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial'];
  openssl('x509', '-req', '-in', `${name}.csr`, ...signer, '-days', '30', '-extfile', `${name}.ext`, '-out', `${name}.pem`);
  return { key: readFileSync(join(dir, `${name}.key`)), cert: readFileSync(join(dir, `${name}.pem`)) };
};

const seen = [];
const endless = []; // answers that go on until the connection is closed
const https = {};
const port = {};
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'belljar-tls-'));
  certify('ca', { ca: 'ca' });
  const good = certify('host', { names: 'DNS:localhost,IP:127.0.0.1' });
  const answer = (request, response) => {
    let body = '';
    request.on('data', (bytes) => (body += bytes));
    request.on('end', () => {
      seen.push({ url: request.url, method: request.method, headers: request.headers, body, alpn: request.socket.alpnProtocol });
      if (request.url === '/flood') return response.end(Buffer.alloc(8 << 20, 'x'));
      if (request.url === '/endless') {
        endless.push(response);
        const more = () => { while (!response.destroyed && response.write(Buffer.alloc(65536, 'x'))); };
        response.on('drain', more);
        return more();
      }
      response.setHeader('x-repeated', request.headers['x-api-key'] ?? '');
      response.end(JSON.stringify(request.headers));
    });
  };
  https.good = createHttpsServer({ ...good, ALPNProtocols: ['http/1.1'] }, answer);
  https.other = createHttpsServer(good, answer);
  https.unknown = createHttpsServer(certify('unknown', { ca: 'unknown', names: 'DNS:localhost,IP:127.0.0.1' }), answer);
  https.misnamed = createHttpsServer(certify('misnamed', { names: 'DNS:other.example' }), answer);
  https.unnamed = createHttpsServer(certify('localhost', { names: 'email:a@b.example' }), answer); // a common name only
  https.plain = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  });
  https.hostile = createTlsServer(good, repeatValue);
  for (const [name, server] of Object.entries(https)) port[name] = await listen(server);
});
after(() => {
  for (const server of Object.values(https)) {
    server.closeAllConnections?.();
    server.close();
  }
  rmSync(dir, { recursive: true, force: true });
});

const intercepting = (t, names, more = {}) =>
  open(t, Object.fromEntries(Object.entries({
    NETWORK: 'allow',
    NETWORK_MAX: 'allow',
    ALLOW_HOSTS: Object.keys(https).flatMap((name) => [`127.0.0.1:${port[name]}`, `localhost:${port[name]}`]).join(),
    SECRET: names.map((name, i) => `TOKEN_${name.toUpperCase()}=${i === 0 ? value : `other-${i}-of-them`}@localhost:${port[name]}`).join(),
    INTERCEPT_TLS: 1,
    INTERCEPT_CA: join(dir, 'ca.pem'),
    ...more,
  }).filter(([, setting]) => setting !== undefined)));

test('a secret is inserted in TLS connections to its host, and in no other', async (t) => {
  const session = await intercepting(t, ['good'], { MOUNTS: `${dirname(process.execPath)}:/newer` });
  const own = toolsOf(async () => session);
  const run = async (command) => structuredOf(await own.run_command({ command }, { timeout: 170000 }));
  const placeholder = (await run('printf %s "$TOKEN_GOOD"')).stdout;
  assert.notEqual(placeholder, value);
  const url = `https://localhost:${port.good}`;
  seen.length = 0;

  const repeated = await run(`${curl} -i -H "X-Api-Key: $TOKEN_GOOD" -H "User-Agent: $TOKEN_GOOD" -d "body $TOKEN_GOOD" "${url}/curl?q=$TOKEN_GOOD"; ${curl} -u "me:$TOKEN_GOOD" ${url}/basic; ${curl} --socks5-hostname 127.0.0.1:3128 -H "X-Api-Key: $TOKEN_GOOD" ${url}/socks`);
  assert.ok(!repeated.stdout.includes(value) && !repeated.stdout.includes(Buffer.from(`me:${value}`).toString('base64')), repeated.stdout);
  assert.match(repeated.stdout, new RegExp(`x-repeated: ${placeholder}\n`, 'i'));
  const python = `import os, urllib.request
os.environ['no_proxy'] = os.environ['NO_PROXY'] = ''
request = urllib.request.Request('${url}/python', headers={'Authorization': 'token ' + os.environ['TOKEN_GOOD']})
print(urllib.request.urlopen(request).read().decode())`;
  assert.match(structuredOf(await own.run_code({ language: 'python', code: python })).stdout, new RegExp(`"authorization":"token ${placeholder}"`));
  // Node reads the proxy variables from 22.21 on.
  const node = `fetch('${url}/node', { headers: { 'private-token': process.env.TOKEN_GOOD } }).then((r) => r.text()).then(console.log)`;
  assert.match((await run(`NO_PROXY= no_proxy= /newer/node -e "${node}"`)).stdout, new RegExp(`"private-token":"${placeholder}"`));

  assert.deepEqual(seen.map((request) => request.url), [`/curl?q=${placeholder}`, '/basic', '/socks', '/python', '/node']);
  assert.equal(seen[0].headers['x-api-key'], value);
  assert.equal(seen[0].headers['user-agent'], placeholder);
  assert.equal(seen[0].headers.connection, 'close');
  assert.equal(seen[0].headers.host, `localhost:${port.good}`);
  assert.equal(seen[0].body, `body ${placeholder}`);
  assert.equal(seen[0].alpn, 'http/1.1');
  assert.equal(seen[1].headers.authorization, `Basic ${Buffer.from(`me:${value}`).toString('base64')}`);
  assert.equal(seen[2].headers['x-api-key'], value);
  assert.equal(seen[3].headers.authorization, `token ${value}`);
  assert.equal(seen[4].headers['private-token'], value);
  assert.ok(seen.every(({ headers }) => headers['accept-encoding'] === undefined));

  // The tunnel to another host, and to the same one by its address, ends at the host itself.
  const issuer = (target) => `openssl s_client -proxy 127.0.0.1:3128 -connect ${target} </dev/null 2>/dev/null | grep -m1 ^issuer`;
  assert.match((await run(issuer(`localhost:${port.good}`))).stdout, /CN ?= ?belljar/);
  assert.match((await run(issuer(`localhost:${port.other}`))).stdout, /CN ?= ?ca\n/);
  assert.match((await run(issuer(`127.0.0.1:${port.good}`))).stdout, /CN ?= ?ca\n/);
  await run(`${curl} -H "X-Api-Key: $TOKEN_GOOD" https://localhost:${port.other}/other https://127.0.0.1:${port.good}/address`);
  assert.deepEqual(seen.slice(5).map(({ url: path, headers }) => [path, headers['x-api-key']]), [['/other', placeholder], ['/address', placeholder]]);

  // The key of the CA is nowhere inside, and a second sandbox has the CA too.
  assert.equal((await run('grep -rlsE "PRIVATE KEY" ~ /etc/belljar* /tmp /workspace; grep -c BEGIN "$SSL_CERT_FILE" | grep -qvx 0 && echo found')).stdout, 'found\n');
  structuredOf(await own.create_sandbox({ name: 'second' }));
  assert.match(structuredOf(await own.run_command({ sandbox: 'second', command: `${curl} -H "X-Api-Key: $TOKEN_GOOD" ${url}/second` })).stdout, new RegExp(placeholder));
  assert.equal(seen.at(-1).headers['x-api-key'], value);
  await session.close();
});

test('hostile programs and hosts get no value through TLS', async (t) => {
  const session = await intercepting(t, ['hostile', 'good', 'unknown', 'misnamed', 'unnamed', 'plain']);
  const own = toolsOf(async () => session);
  const run = async (command) => structuredOf(await own.run_command({ command }, { timeout: 170000 }));
  const placeholder = (await run('printf %s "$TOKEN_HOSTILE"')).stdout;
  requests.length = 0;
  for (const [path, want] of [
    ['/chunked', `<${placeholder}>`],
    ['/extended', placeholder],
    ['/interim', placeholder],
    ['/kept', placeholder],
    ['/gzip', /^the host's answer has Content-Encoding 'gzip'/],
    ['/folded', /^the head of the host's answer is malformed/],
    ['/none', /^the host has closed the connection without an answer/],
  ]) {
    const { stdout } = await run(`${curl} -H "X-Api-Key: $TOKEN_HOSTILE" https://localhost:${port.hostile}${path}`);
    assert.ok(typeof want === 'string' ? stdout === want : want.test(stdout), `${path}: ${stdout}`);
  }
  assert.ok(requests.every((text) => text.includes(value)));

  // A host that cannot prove its name gets nothing, and the program is told why.
  seen.length = 0;
  for (const [name, want] of [
    ['unknown', /localhost:\d+: its certificate cannot be verified \(self-signed certificate\).*--intercept-ca/],
    ['misnamed', /localhost:\d+: its certificate cannot be verified \(hostname mismatch\)/],
    ['unnamed', /localhost:\d+: its certificate cannot be verified \(hostname mismatch\)/],
  ]) {
    const result = await run(`${curl} -k -H "X-Api-Key: $TOKEN_${name.toUpperCase()}" https://localhost:${port[name]}/`);
    assert.match(result.stderr, /403/);
    assert.match(result.note, want);
  }
  assert.match((await run(`${curl} https://localhost:${port.plain}/`)).stderr, /502/);
  assert.match(JSON.stringify(structuredOf(await own.sandbox_info()).connections), /localhost:\d+: no TLS connection/);
  assert.deepEqual(seen, []);

  // The interceptor refuses malformed handshakes and requests of a program, too.
  const send = (text, more = '') => run(`(printf '${text}'; sleep 2) | timeout 20 openssl s_client -quiet -proxy 127.0.0.1:3128 -connect localhost:${port.good} ${more} 2>&1`);
  assert.match((await send('x', '-servername evil.example')).stdout, /unrecognized name/);
  assert.match((await send('x', '-alpn h2')).stdout, /no application protocol/);
  assert.match((await send('GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n')).stdout, /400 Bad Request[^]*Host names another host/);
  assert.match((await send('GET https://evil.example/ HTTP/1.1\\r\\n\\r\\n')).stdout, /400 Bad Request[^]*no path that begins with/);
  assert.match((await send('TRACE / HTTP/1.1\\r\\n\\r\\n')).stdout, /forwards no TRACE/);
  assert.match((await send('GET / HTTP/1.1\\n\\n')).stdout, /400 Bad Request[^]*LF alone/);
  assert.deepEqual(seen, []);
  assert.match((await send('GET /first HTTP/1.1\\r\\n\\r\\nGET /second HTTP/1.1\\r\\n\\r\\n')).stdout, /200 OK/);
  assert.deepEqual(seen.map(({ url }) => url), ['/first']);
  await run(`printf 'CONNECT localhost:${port.good} HTTP/1.1\\r\\n\\r\\nno TLS at all\\r\\n\\r\\n' | timeout 5 python3 -c "
import socket, sys
s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(sys.stdin.buffer.read()); print(s.recv(100))"`);

  // Many connections at once: more than the interceptor takes of one sandbox wait.
  const url = `https://localhost:${port.good}`;
  const many = await run(`for i in $(seq 40); do ${curl} -H "X-Api-Key: $TOKEN_GOOD" ${url}/many -o /dev/null -w '%{http_code}\n' & done; wait`);
  assert.equal(many.stdout, '200\n'.repeat(40));
  assert.equal((await run(`${curl} ${url}/flood | wc -c; head -c 3000000 /dev/zero | tr '\\0' y | ${curl} -T - ${url}/put -o /dev/null -w '%{http_code}'`)).stdout, `${8 << 20}\n200`);
  assert.equal(seen.at(-1).body.length, 3000000);
  // The end of the program is the end of its connection, although the host goes on; and no process is left, not even a zombie.
  const { stderr } = await run(`${curl} --max-time 1 ${url}/endless -o /dev/null`);
  assert.match(stderr, /curl: \(28\)/);
  await until(() => endless.length === 1 && endless[0].destroyed);
  const processes = () => execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' }).split('\n').map((line) => line.trim().split(/\s+/));
  await until(() => {
    const all = processes();
    const mine = all.filter(([, parent, , name]) => parent === String(session.transport.pid) && name === 'belljar-tls').map(([pid]) => pid);
    assert.equal(mine.length, 1);
    return all.every(([, parent]) => parent !== mine[0]);
  });

  // A policy that does not allow the host is asked first.
  structuredOf(await own.create_sandbox({ name: 'strict', network: 'allow', network_allow: [`localhost:${port.other}`] }));
  const strict = structuredOf(await own.run_command({ sandbox: 'strict', command: `${curl} -H "X-Api-Key: $TOKEN_GOOD" ${url}/` }));
  assert.match(strict.note, /is not allowed/);
  await session.close();
});

test('without --intercept-tls a TLS connection carries the placeholder', async (t) => {
  const session = await intercepting(t, ['good'], { INTERCEPT_TLS: undefined, INTERCEPT_CA: undefined });
  const own = toolsOf(async () => session);
  const { stdout } = structuredOf(await own.run_command({ command: `${curl} -k -H "X-Api-Key: $TOKEN_GOOD" https://localhost:${port.good}/; echo; env | grep -c '^SSL_CERT_FILE'; printf %s "$TOKEN_GOOD"` }));
  assert.match(stdout, /\n0\n/);
  assert.equal(seen.at(-1).headers['x-api-key'], stdout.split('\n').at(-1));
  await session.close();
});

test('options of interception that cannot work are refused at the start', (t) => {
  const env = { ...process.env, BELLJAR_STATE_DIR: stateDir(t) };
  const start = (...args) => spawnSync(BELLJAR, ['serve', '--network-max', 'allow', '--secret', `T=${value}@a.example:443`, ...args], { env, input: '', encoding: 'utf8' }).stderr;
  assert.match(start('--intercept-ca', join(dir, 'ca.pem')), /intercept-ca is for intercept-tls/);
  assert.match(start('--intercept-tls', '--intercept-ca', join(dir, 'missing')), /intercept-ca: .*No such file/);
  assert.match(start(), /is for port 443, which speaks TLS: without --intercept-tls/);
  env.SSL_CERT_FILE = join(dir, 'ca.key');
  assert.match(start('--intercept-tls'), /no certificate of a CA to verify hosts with/);
});
