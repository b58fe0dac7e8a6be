// daemons.test.mjs - Docker daemons of their own for tests that need one with special settings: reached by TLS with
// client certificates, with a full disk, named by a context, and found by --engine auto.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BELLJAR, serverEnv } from '../e2e/lib/programs.mjs';
import { open, refused, stateDir, structuredOf, textOf, toolsOf } from '../e2e/lib/sandboxed.mjs';
import { docker, until } from './docker_api.mjs';

const skip = process.env.E2E_DOCKER_DIR === undefined ? 'starting a daemon takes root' : false;
const EMPTY = 'localhost/belljar-empty:latest'; // an image without any file

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a daemon that ends with the test. `disk`: the size of a tmpfs for its files. */
async function startDaemon(t, { settings = {}, disk } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'docker.'));
  const socket = join(dir, 'docker.sock');
  const { hosts = [], ...rest } = settings;
  mkdirSync(join(dir, 'data'));
  if (disk !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${disk}`, 'belljar-test', join(dir, 'data')]);
  writeFileSync(join(dir, 'daemon.json'), JSON.stringify({ iptables: false, bridge: 'none', 'data-root': join(dir, 'data'), 'exec-root': join(dir, 'exec'), pidfile: join(dir, 'pid'), hosts: [`unix://${socket}`, ...hosts], ...rest }));
  const log = [];
  const daemon = spawn('dockerd', ['--config-file', join(dir, 'daemon.json')], { stdio: ['ignore', 'ignore', 'pipe'] });
  daemon.stderr.on('data', (bytes) => log.push(bytes));
  const exited = new Promise((resolve) => daemon.on('exit', resolve));
  t.after(async () => {
    daemon.kill('SIGTERM');
    await exited;
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n').map((line) => line.split(' ')[1]).filter((path) => path?.startsWith(`${dir}/`));
    for (const path of mounts.reverse()) spawnSync('umount', ['-l', path]);
    rmSync(dir, { recursive: true, force: true });
  });
  await until(async () => {
    assert.equal(daemon.exitCode, null, Buffer.concat(log).toString());
    return (await docker('GET', '/version', { socketPath: socket }).catch(() => ({}))).status === 200;
  }, 'the daemon answers');
  const created = await docker('POST', '/images/create?fromSrc=-&repo=localhost/belljar-empty&tag=latest', { body: Buffer.alloc(1024), type: 'application/x-tar', socketPath: socket });
  assert.equal(created.status, 200);
  return { dir, socket, host: `unix://${socket}` };
}

/** A server with other variables of the environment than BELLJAR_. */
async function openWith(t, variables, settings) {
  const before = { ...process.env };
  delete process.env.DOCKER_HOST;
  Object.assign(process.env, variables);
  try {
    return await open(t, { IMAGE: EMPTY, ...settings });
  } finally {
    process.env = before;
  }
}

async function works(tools) {
  structuredOf(await tools.write_file({ path: 'a', content: 'works' }));
  assert.equal(textOf(await tools.read_file({ path: 'a' })).trim(), 'works');
}

function makeCertificates(dir) {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const ca of ['ca', 'other']) openssl('req', '-x509', ...key, '-subj', `/CN=${ca} of belljar tests`, '-days', '2', '-keyout', `${ca}-key.pem`, '-out', `${ca}.pem`);
  for (const [name, use, ca] of [['server', 'serverAuth', 'ca'], ['client', 'clientAuth', 'ca'], ['stranger', 'clientAuth', 'other']]) {
    openssl('req', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}-key.pem`, '-out', `${name}.csr`);
    writeFileSync(join(dir, 'extensions'), `subjectAltName=IP:127.0.0.1\nextendedKeyUsage=${use}\n`);
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${ca}.pem`, '-CAkey', `${ca}-key.pem`, '-CAcreateserial', '-days', '2', '-extfile', 'extensions', '-out', `${name}.pem`);
  }
  for (const [name, ca] of [['client', 'ca'], ['stranger', 'ca'], ['deceived', 'other']]) {
    mkdirSync(join(dir, `as-${name}`));
    const own = name === 'deceived' ? 'client' : name;
    for (const [from, to] of [[`${ca}.pem`, 'ca.pem'], [`${own}.pem`, 'cert.pem'], [`${own}-key.pem`, 'key.pem']]) execFileSync('cp', [join(dir, from), join(dir, `as-${name}`, to)]);
  }
}

test('a daemon is reached by TLS with a client certificate, and both sides are checked', { skip }, async (t) => {
  const certs = mkdtempSync(join(tmpdir(), 'certs.'));
  t.after(() => rmSync(certs, { recursive: true, force: true }));
  makeCertificates(certs);
  const tcp = `tcp://127.0.0.1:${await freePort()}`;
  const pem = (name) => join(certs, `${name}.pem`);
  const daemon = await startDaemon(t, { settings: { hosts: [tcp], tlsverify: true, tlscacert: pem('ca'), tlscert: pem('server'), tlskey: pem('server-key') } });
  const as = (name) => ({ DOCKER_HOST: tcp, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: join(certs, `as-${name}`) });
  const session = await openWith(t, as('client'));
  await works(toolsOf(() => session));
  await session.close();
  for (const [variables, why] of [
    [as('stranger'), /Docker at tcp:.*: see that ca.pem, cert.pem and key.pem .* are valid for this daemon/],
    [as('deceived'), /Docker at tcp:.*certificate.*: see that ca.pem/],
    [{ DOCKER_HOST: tcp }, /Docker at tcp:|Docker refused/],
  ]) {
    const other = await openWith(t, variables);
    refused(await toolsOf(() => other).run_code({ code: '1' }), why);
    await other.close();
  }
  // A context has its address and its certificates in Docker's configuration.
  const config = join(daemon.dir, 'config');
  const id = createHash('sha256').update('remote').digest('hex');
  mkdirSync(join(config, 'contexts/meta', id), { recursive: true });
  mkdirSync(join(config, 'contexts/tls', id), { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ currentContext: 'remote' }));
  writeFileSync(join(config, 'contexts/meta', id, 'meta.json'), JSON.stringify({ Name: 'remote', Metadata: {}, Endpoints: { docker: { Host: tcp, SkipTLSVerify: false } } }));
  execFileSync('cp', ['-r', join(certs, 'as-client'), join(config, 'contexts/tls', id, 'docker')]);
  const context = await openWith(t, { DOCKER_CONFIG: config });
  await works(toolsOf(() => context));
  await context.close();
  const none = await openWith(t, { DOCKER_CONFIG: config, DOCKER_CONTEXT: 'missing' });
  refused(await toolsOf(() => none).run_code({ code: '1' }), /Docker's context 'missing' does not exist: see 'docker context ls'/);
  await none.close();
});

test('a full disk is reported, nothing is left, and calls work when there is room again', { skip }, async (t) => {
  const { host, socket, dir } = await startDaemon(t, { disk: '48m', settings: { 'storage-driver': 'overlay2' } });
  const session = await openWith(t, { DOCKER_HOST: host });
  const tools = toolsOf(() => session);
  await works(tools);
  const filler = join(dir, 'data/filler');
  spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']);
  refused(await tools.write_file({ path: 'b', content: 'x'.repeat(200000) }), /No space left on device|ENOSPC|disk/);
  const failed = await tools.create_sandbox({ name: 'more', memory_mb: 64 });
  refused(failed, /no space left on device/i);
  rmSync(filler);
  assert.equal(textOf(await tools.read_file({ path: 'a' })).trim(), 'works');
  const { id } = structuredOf(await tools.create_sandbox({ name: 'more', memory_mb: 64 }));
  const names = (await docker('GET', '/containers/json?all=1', { socketPath: socket })).json.map(({ Names }) => Names[0]);
  assert.ok(names.includes(`/belljar-${id}`), names.join());
  assert.equal(names.length, 2, names.join());
  await session.close();
});

test('--engine auto takes Docker where sandboxes cannot be made', { skip }, async (t) => {
  const env = (extra) => serverEnv({ BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ENGINE: 'auto', ...extra });
  const engineOf = (line, extra) => {
    const { stdout, stderr } = spawnSync(line[0], [...line.slice(1), 'doctor'], { env: env(extra), encoding: 'utf8', timeout: 120000 });
    return /^\w+ +daemon /m.test(stdout) ? 'docker' : /^\w+ +overlayfs /m.test(stdout) ? 'native' : stdout + stderr;
  };
  assert.equal(engineOf([BELLJAR]), 'native');
  const weak = ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-all', BELLJAR];
  assert.equal(engineOf(weak), 'docker');
});
