// registry.test.mjs - images of a real registry on loopback (Debian's docker-registry) that wants a login: pulled
// with progress, with the logins of Docker's configuration and of a helper, and what is said if that fails.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BELLJAR, serverEnv } from '../e2e/lib/programs.mjs';
import { open, refused, stateDir, structuredOf, textOf, toolsOf } from '../e2e/lib/sandboxed.mjs';
import { docker, until } from './docker_api.mjs';

const USER = 'tester';
const PASSWORD = 'secret word';
const ARCH = process.arch === 'arm64' ? 'arm64' : 'amd64';
const dir = mkdtempSync(join(tmpdir(), 'belljar-registry-'));
let registry;
let behind; // the registry's own address
let host; // the address that images are pulled from
let rate = Infinity; // bytes in a second that pass from the registry to the daemon

// Stands between the daemon and the registry, so that a pull can be as slow as one over a network.
const proxy = createServer((client) => {
  const [address, port] = behind.split(':');
  const server = connect(Number(port), address);
  for (const socket of [client, server]) socket.on('error', () => (client.destroy(), server.destroy()));
  client.pipe(server);
  server.on('data', (bytes) => {
    client.write(bytes);
    if (rate === Infinity) return;
    server.pause();
    setTimeout(() => server.resume(), (bytes.length / rate) * 1000);
  });
  server.on('end', () => client.end());
});

const skip = process.env.E2E_DOCKER_DIR === undefined ? 'it would leave images in the daemon of DOCKER_HOST' : false;

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** One call of the registry's own interface. */
const call = (method, path, { body, type, login = true } = {}) =>
  new Promise((resolve, reject) => {
    const headers = { ...(type ? { 'Content-Type': type } : {}), ...(login ? { Authorization: `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}` } : {}) };
    const req = request(path.startsWith('http') ? path : `http://${behind}${path}`, { method, headers }, (res) => {
      res.resume();
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers }));
    });
    req.on('error', reject);
    req.end(body);
  });

const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function putBlob(name, bytes) {
  const { headers } = await call('POST', `/v2/${name}/blobs/uploads/`);
  const url = new URL(headers.location, `http://${behind}`);
  url.searchParams.set('digest', digestOf(bytes));
  assert.equal((await call('PUT', url.href, { body: bytes, type: 'application/octet-stream' })).status, 201);
  return { size: bytes.length, digest: digestOf(bytes) };
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const LIST = 'application/vnd.docker.distribution.manifest.list.v2+json';

async function putManifest(name, reference, manifest) {
  const body = JSON.stringify(manifest);
  assert.equal((await call('PUT', `/v2/${name}/manifests/${reference ?? digestOf(body)}`, { body, type: manifest.mediaType })).status, 201);
  return { mediaType: manifest.mediaType, size: body.length, digest: digestOf(body) };
}

/** A tar archive with one file. */
function archiveOf(name, content) {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  header.write(`${header.reduce((a, b) => a + b, 0).toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512 + 1024)]);
}

/** Stores an image with one layer for a kind of machine. */
async function putImage(name, reference, architecture, content) {
  const layer = archiveOf('fact', content);
  const config = Buffer.from(JSON.stringify({ architecture, os: 'linux', config: { Env: ['PATH=/bin'] }, rootfs: { type: 'layers', diff_ids: [digestOf(layer)] }, history: [{ created_by: 'test' }] }));
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: 'application/vnd.docker.container.image.v1+json', ...(await putBlob(name, config)) },
    layers: [{ mediaType: 'application/vnd.docker.image.rootfs.diff.tar', ...(await putBlob(name, layer)) }],
  };
  return { ...(await putManifest(name, reference, manifest)), platform: { os: 'linux', architecture } };
}

before(async () => {
  if (skip) return;
  behind = `127.0.0.1:${await freePort()}`;
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${proxy.address().port}`;
  const hash = spawnSync('python3', ['-c', 'import crypt, sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))', PASSWORD], { encoding: 'utf8' });
  assert.equal(hash.status, 0, hash.stderr);
  writeFileSync(join(dir, 'htpasswd'), `${USER}:${hash.stdout.trim()}\n`);
  writeFileSync(join(dir, 'registry.yml'), JSON.stringify({ version: 0.1, log: { level: 'error' }, storage: { filesystem: { rootdirectory: join(dir, 'data') } }, http: { addr: behind, relativeurls: true }, auth: { htpasswd: { realm: 'tests', path: join(dir, 'htpasswd') } } }));
  registry = spawn('docker-registry', ['serve', join(dir, 'registry.yml')], { stdio: ['ignore', 'ignore', 'inherit'] });
  await until(async () => (await call('GET', '/v2/').catch(() => ({}))).status === 200, 'the registry answers');
});
after(() => {
  if (skip) return;
  proxy.close();
  registry.kill();
  rmSync(dir, { recursive: true, force: true });
});

/** A directory with Docker's configuration, and a server that uses it. */
async function start(t, config, settings = {}) {
  const configured = mkdtempSync(join(dir, 'config-'));
  writeFileSync(join(configured, 'config.json'), JSON.stringify(config));
  const helper = join(configured, 'docker-credential-belljartest');
  writeFileSync(helper, `#!/bin/sh\nread -r registry\n[ "$1 $registry" = "get ${host}" ] || exit 1\necho '{"Username":"${USER}","Secret":"${PASSWORD}"}'\n`);
  chmodSync(helper, 0o755);
  const before = { ...process.env };
  process.env.DOCKER_CONFIG = configured;
  process.env.PATH = `${configured}:${process.env.PATH}`;
  try {
    const session = await open(t, { IMAGES: `${host}/*`, ...settings });
    return { session, tools: toolsOf(() => session), configured };
  } finally {
    process.env = before;
  }
}

const login = () => ({ auths: { [host]: { auth: Buffer.from(`${USER}:${PASSWORD}`).toString('base64') } } });
test('an image is pulled with the login of the configuration, and the client sees the progress', { skip }, async (t) => {
  await putImage('plain', '1', ARCH, randomBytes(12 * 2 ** 20));
  const { tools, session } = await start(t, login());
  const seen = [];
  rate = 4 * 2 ** 20;
  const made = await tools.create_sandbox({ image: `${host}/plain:1` }, { timeout: 180000, onprogress: (step) => seen.push(step) });
  rate = Infinity;
  const { id } = structuredOf(made);
  assert.ok(seen.some(({ message }) => message?.includes(`pulling ${host}/plain:1`)), JSON.stringify(seen));
  const counts = seen.map(({ progress }) => progress);
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b), 'progress never goes back');
  await tools.write_file({ sandbox: id, path: 'a', content: 'works' });
  assert.equal(textOf(await tools.read_file({ sandbox: id, path: 'a' })).trim(), 'works');
  await session.close();
});

test('an image is pulled with the login that a helper knows', { skip }, async (t) => {
  await putImage('helped', '1', ARCH, Buffer.from('helped'));
  const { tools, session } = await start(t, { credHelpers: { [host]: 'belljartest' } });
  structuredOf(await tools.create_sandbox({ image: `${host}/helped:1` }, { timeout: 180000 }));
  await session.close();
});

test('a pull that fails says why and what to do', { skip }, async (t) => {
  const { tools, session } = await start(t, login());
  refused(await tools.create_sandbox({ image: `${host}/nothere:1` }), /cannot be pulled .*: the registry has no such image: check the name and the tag/);
  refused(await tools.create_sandbox({ image: `${host}/plain:2` }), /cannot be pulled .*: the registry has no such image: check the name and the tag/);
  await session.close();
  await putImage('closed', '1', ARCH, Buffer.from('closed'));
  const without = await start(t, {});
  refused(await without.tools.create_sandbox({ image: `${host}/closed:1` }), /cannot be pulled .*: the registry wants a login/);
  await without.session.close();
  const wrong = await start(t, { auths: { [host]: { username: USER, password: 'another' } } });
  refused(await wrong.tools.create_sandbox({ image: `${host}/closed:1` }), /cannot be pulled .*: the registry wants a login/);
  await wrong.session.close();
  const gone = await start(t, {}, { IMAGES: '127.0.0.1:1/*' });
  refused(await gone.tools.create_sandbox({ image: '127.0.0.1:1/x:1' }), /cannot be pulled .*: Docker cannot reach the registry/);
  await gone.session.close();
});

test('of an image for several platforms the one of this machine is taken', { skip }, async (t) => {
  const [mine, other] = ARCH === 'arm64' ? ['arm64', 'amd64'] : ['amd64', 'arm64'];
  const [own, foreign] = [await putImage('many', undefined, mine, Buffer.from('mine')), await putImage('many', undefined, other, Buffer.from('foreign'))];
  await putManifest('many', '1', { schemaVersion: 2, mediaType: LIST, manifests: [foreign, own] });
  await putManifest('many', '2', { schemaVersion: 2, mediaType: LIST, manifests: [foreign] });
  await putImage('foreign', '1', other, Buffer.from('foreign'));
  const { tools, session } = await start(t, login());
  const { id } = structuredOf(await tools.create_sandbox({ image: `${host}/many:1` }, { timeout: 180000 }));
  assert.equal(textOf(await tools.read_file({ sandbox: id, path: '/fact' })).trim(), 'mine');
  refused(await tools.create_sandbox({ image: `${host}/many:2` }), /the registry has it for other platforms only/);
  refused(await tools.create_sandbox({ image: `${host}/foreign:1` }), new RegExp(`is made for linux/${other}, and sandboxes here are linux/${mine}|for other platforms only`));
  await session.close();
});

test('a terminal shows a bar while an image is pulled', { skip }, async (t) => {
  const configured = mkdtempSync(join(dir, 'config-'));
  writeFileSync(join(configured, 'config.json'), JSON.stringify(login()));
  const env = serverEnv({ DOCKER_CONFIG: configured, BELLJAR_STATE_DIR: stateDir(t) });
  await putImage('bar', '1', ARCH, randomBytes(12 * 2 ** 20));
  rate = 4 * 2 ** 20;
  // The image has no program: what is looked at is printed before that is found out.
  const terminal = spawn('script', ['-qec', `'${BELLJAR}' exec --image ${host}/bar:1 -- nothing`, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let shown = '';
  terminal.stdout.on('data', (bytes) => (shown += bytes));
  await new Promise((resolve) => terminal.on('close', resolve));
  rate = Infinity;
  assert.match(shown, new RegExp(`pulling ${host}/bar:1`));
  assert.match(shown, /\[#+-* *\]|\d of \d+ MB/);
});
