// life.test.mjs - containers of a real daemon: how they are made, what stays of them, and what happens when
// they are disturbed from outside. The tests change one daemon, so they run one after the other.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { BELLJAR, serverEnv } from '../e2e/lib/programs.mjs';
import { start as startRaw } from '../e2e/lib/raw.mjs';
import { open, refused, sleep, stateDir, structuredOf, textOf, toolsOf } from '../e2e/lib/sandboxed.mjs';
import { docker, inspect, made, restartDaemon, until } from './docker_api.mjs';

/** Where the volumes of every sandbox are mounted. */
const PLACES = ['/app', '/artifacts', '/home/coderunner', '/tmp', '/workspace'];

const isPrivate = { skip: process.env.E2E_DOCKER_DIR === undefined ? 'the daemon of DOCKER_HOST is not restarted' : false };

async function start(t, settings = {}) {
  const state = settings.STATE_DIR ?? stateDir(t);
  const session = await open(t, { STATE_DIR: state, ...settings });
  return { state, session, tools: toolsOf(() => session) };
}

test('a container has no rights beyond its own files', async (t) => {
  const { tools, session } = await start(t);
  const { id } = structuredOf(await tools.create_sandbox({ memory_mb: 128, pids: 77 }));
  const { Config, HostConfig, Mounts } = await inspect(id);
  assert.equal(Config.User, '1000:1000');
  assert.equal(Config.Tty, false);
  assert.deepEqual(HostConfig.CapDrop, ['ALL']);
  assert.equal(HostConfig.CapAdd, null);
  assert.deepEqual(HostConfig.SecurityOpt, ['no-new-privileges']);
  assert.equal(HostConfig.Privileged, false);
  assert.equal(HostConfig.ReadonlyRootfs, true);
  assert.equal(HostConfig.NetworkMode, 'none');
  assert.equal(HostConfig.IpcMode, 'private');
  assert.equal(HostConfig.LogConfig.Type, 'none');
  assert.equal(HostConfig.Memory, 128 * 2 ** 20);
  assert.equal(HostConfig.MemorySwap, 128 * 2 ** 20);
  assert.equal(HostConfig.PidsLimit, 77);
  assert.deepEqual(Mounts.map((m) => [m.Type, m.Destination]).sort(), PLACES.map((place) => ['volume', place]));
  assert.equal(Config.Labels['belljar.sandbox'], id);
  assert.equal(Config.Labels['belljar.role'], 'sandbox');
  assert.match(Config.Labels['belljar.owner'], /^[0-9a-f]{16}$/);
  assert.ok(Date.parse(Config.Labels['belljar.expires']) > Date.now(), Config.Labels['belljar.expires']);
  const command = 'id -u; id -un; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; ls /sys; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; wc -c </proc/interrupts; getent hosts localhost sandbox | wc -l; grep -v 127.0.0.1 /etc/resolv.conf; ulimit -c; touch /run/x /var/tmp/x; touch /usr/x || echo read-only';
  const { stdout } = structuredOf(await tools.run_command({ sandbox: id, command }));
  assert.match(stdout, /^1000\ncoderunner\nCapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\nlo\n0\n2\n0\nread-only\n$/);
  await session.close();
});

test('labels tell the owner and when the lifetime is over, also of a sandbox that was prepared', async (t) => {
  const { tools, session } = await start(t);
  await sleep(2000); // the server has prepared a sandbox by now, or is about to
  const first = structuredOf(await tools.create_sandbox({ name: 'first' })).id;
  const began = Date.now();
  const second = structuredOf(await tools.create_sandbox({ name: 'second', lifetime_s: 3600 })).id;
  const labels = async (id) => (await inspect(id)).Config.Labels;
  const [one, two] = [await labels(first), await labels(second)];
  assert.match(one['belljar.owner'], /^[0-9a-f]{16}$/);
  assert.equal(two['belljar.owner'], one['belljar.owner']);
  const expires = Date.parse(two['belljar.expires']);
  assert.ok(expires >= began + 3599_000 && expires <= Date.now() + 3601_000, two['belljar.expires']);
  const volume = (await docker('GET', `/volumes/belljar-${second}-workspace`)).json.Labels;
  assert.equal(volume['belljar.owner'], one['belljar.owner']);
  assert.equal(volume['belljar.sandbox'], second);
  await session.close();
});

/** Whether the agent has a socket: its standard input and output are pipes. */
async function isDirect(id) {
  const dir = `/proc/${(await inspect(id)).State.Pid}/fd`;
  return readdirSync(dir).some((fd) => readlinkSync(`${dir}/${fd}`).startsWith('socket:'));
}

test('the broker connects to the agent directly, and else uses the attached stream', isPrivate, async (t) => {
  const { tools, state, session } = await start(t, { IDLE: 5 });
  const { id } = structuredOf(await tools.create_sandbox({ name: 'near' }));
  const command = 'ls -A /tmp; head -c 3000000 /dev/zero | tr "\\0" x > big; wc -c <big; cat big | tail -c 5';
  assert.equal(structuredOf(await tools.run_command({ sandbox: 'near', command })).stdout, '3000000\nxxxxx');
  assert.ok(await isDirect(id));
  // Something in the place of the socket, that the agent cannot remove.
  structuredOf(await tools.run_command({ sandbox: 'near', command: 'mkdir -p /tmp/.belljar-channel/x' }));
  await until(async () => (await made(state)).containers.length === 0, 'the sandbox sleeps');
  assert.equal(structuredOf(await tools.run_command({ sandbox: 'near', command: 'wc -c <big' })).stdout, '3000000\n');
  assert.ok(!(await isDirect(id)));
  // A link to a socket of the host: the agent replaces it.
  structuredOf(await tools.run_command({ sandbox: 'near', command: 'rm -r /tmp/.belljar-channel; ln -s /run/docker.sock /tmp/.belljar-channel' }));
  await until(async () => (await made(state)).containers.length === 0, 'the sandbox sleeps');
  assert.equal(structuredOf(await tools.run_command({ sandbox: 'near', command: 'ls -A /tmp; wc -c <big' })).stdout, '3000000\n');
  assert.ok(await isDirect(id));
  await session.close();
});

// In another pid namespace than the daemon's, the broker finds the socket but cannot tell that the agent is behind it.
test('an agent that the broker cannot recognise is used by the attached stream', isPrivate, (t) => {
  const env = serverEnv({ BELLJAR_STATE_DIR: stateDir(t) });
  const run = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', BELLJAR, 'exec', '--', 'sh', '-c', 'ls -A /tmp; echo ran'], { env, encoding: 'utf8' });
  assert.deepEqual([run.stdout, run.status], ['ran\n', 0], run.stderr);
});

test('the report names the layers of the daemon', async (t) => {
  const { tools, session } = await start(t);
  const info = structuredOf(await tools.sandbox_info({ detail: 'full' }));
  const layers = Object.fromEntries(info.isolation.map(({ layer, state }) => [layer, state]));
  assert.equal(info.engine, 'docker');
  assert.notEqual(info.image, 'host');
  assert.equal(layers.capabilities, 'on');
  assert.equal(layers.daemon, 'on');
  assert.equal(layers.ids, 'weaker');
  await session.close();
});

test('files survive sleep, a killed server and the next one', async (t) => {
  const { state, tools, session } = await start(t, { IDLE: 1 });
  const { id } = structuredOf(await tools.create_sandbox({ name: 'kept' }));
  await tools.run_command({ sandbox: 'kept', command: 'echo one > a; echo two > ~/b; echo three > /tmp/c; echo four > /app/d; echo five > /artifacts/e' });
  await until(async () => (await made(state)).containers.length === 0, 'the sandbox sleeps');
  assert.equal((await made(state)).volumes.length, PLACES.length);
  const read = async (with_) => structuredOf(await with_.run_command({ sandbox: 'kept', command: 'cat a ~/b /tmp/c /app/d /artifacts/e' })).stdout;
  assert.equal(await read(tools), 'one\ntwo\nthree\nfour\nfive\n');
  process.kill(session.transport.pid, 'SIGKILL');
  await session.close().catch(() => {});
  const next = await start(t, { STATE_DIR: state });
  assert.equal(await read(next.tools), 'one\ntwo\nthree\nfour\nfive\n');
  await next.tools.reset_sandbox({ sandbox: 'kept' });
  assert.equal(structuredOf(await next.tools.run_command({ sandbox: 'kept', command: 'ls -A' })).stdout, '');
  await next.tools.delete_sandbox({ sandbox: 'kept' });
  await next.session.close();
  assert.deepEqual((await made(state)).containers, []);
  assert.deepEqual((await made(state)).volumes.filter((name) => name.includes(id)), []);
});

test('sandboxes are not removed if the database is lost, and are there again with it', async (t) => {
  const { state, tools, session } = await start(t);
  await tools.create_sandbox({ name: 'kept' });
  await tools.write_file({ sandbox: 'kept', path: 'a', content: 'still here' });
  await session.close();
  renameSync(`${state}/db`, `${state}/aside`);
  const without = await start(t, { STATE_DIR: state });
  structuredOf(await without.tools.run_code({ code: '1' }));
  refused(await without.tools.read_file({ sandbox: 'kept', path: 'a' }), /there is no sandbox/);
  await without.session.close();
  rmSync(`${state}/db`, { recursive: true });
  renameSync(`${state}/aside`, `${state}/db`);
  const again = await start(t, { STATE_DIR: state });
  assert.equal(textOf(await again.tools.read_file({ sandbox: 'kept', path: 'a' })).trim(), 'still here');
  await again.tools.delete_sandbox({ sandbox: 'kept' });
  await again.session.close();
});

test('the next start removes what a killed server left, and nothing of another one', async (t) => {
  const first = await start(t);
  const second = await start(t);
  const { id } = structuredOf(await second.tools.create_sandbox({ name: 'other' }));
  await first.tools.run_code({ code: '1' });
  process.kill(first.session.transport.pid, 'SIGKILL');
  await first.session.close().catch(() => {});
  const again = await start(t, { STATE_DIR: first.state });
  await again.tools.run_code({ code: '1' });
  assert.equal((await inspect(id)).State.Running, true);
  assert.equal(structuredOf(await second.tools.run_command({ sandbox: 'other', command: 'echo here' })).stdout, 'here\n');
  await again.session.close();
  await second.session.close();
  assert.deepEqual((await made(first.state)).containers, []);
});

test('a container that is removed from outside is reported, and the next call works', async (t) => {
  const { tools, session } = await start(t);
  const { id } = structuredOf(await tools.create_sandbox({ name: 'hit' }));
  await tools.write_file({ sandbox: 'hit', path: 'kept.txt', content: 'still here' });
  const running = tools.run_command({ sandbox: 'hit', command: 'sleep 60' });
  await until(async () => (await docker('GET', `/containers/belljar-${id}/top`)).json.Processes?.some((p) => p.join(' ').includes('sleep 60')), 'the program runs');
  await docker('DELETE', `/containers/belljar-${id}?force=1`);
  refused(await running, /its container was (removed from Docker|killed from outside); processes and sessions are lost, files are kept/);
  assert.equal(textOf(await tools.read_file({ sandbox: 'hit', path: 'kept.txt' })).trim(), 'still here');
  await session.close();
});

test('a volume that is removed from outside is reported', async (t) => {
  const { tools, state, session } = await start(t, { IDLE: 1 });
  const { id } = structuredOf(await tools.create_sandbox({ name: 'lost' }));
  await until(async () => (await made(state)).containers.length === 0, 'the sandbox sleeps');
  assert.equal((await docker('DELETE', `/volumes/belljar-${id}-workspace`)).status, 204);
  refused(await tools.run_command({ sandbox: 'lost', command: 'true' }), /are no longer in Docker: its volume was removed; delete the sandbox, or reset it/);
  await tools.reset_sandbox({ sandbox: 'lost' });
  assert.equal(structuredOf(await tools.run_command({ sandbox: 'lost', command: 'echo new' })).stdout, 'new\n');
  await session.close();
});

test('memory that runs out is reported as that', async (t) => {
  const { tools, session } = await start(t);
  await tools.create_sandbox({ name: 'small', memory_mb: 64 });
  const result = structuredOf(await tools.run_code({ sandbox: 'small', code: 'x = bytearray(10**9)' }));
  assert.match(JSON.stringify(result), /memory/);
  assert.notEqual(result.exit_code, 0);
  await session.close();
});

test('only images that are allowed are used', async (t) => {
  const { tools, session } = await start(t);
  for (const image of ['--privileged', 'file:///etc', 'a b', '../x', 'UPPER', 'x@sha256:bad', 'host.example//x', 'host'])
    refused(await tools.create_sandbox({ image }), /is not the name of an image/);
  refused(await tools.create_sandbox({ image: 'nowhere.invalid/x:1' }), /Docker has no 'nowhere.invalid\/x:1', and this server may not pull it/);
  await session.close();
  const allowed = await start(t, { IMAGES: 'nowhere.invalid/*' });
  refused(await allowed.tools.create_sandbox({ image: 'nowhere.invalid/x:1' }), /cannot be pulled .*(cannot reach the registry|has no network|no such image)/);
  await allowed.session.close();
});

test('an image without any program has files and nothing to run', async (t) => {
  const empty = Buffer.alloc(1024);
  const created = await docker('POST', '/images/create?fromSrc=-&repo=localhost/belljar-empty&tag=latest', { body: empty, type: 'application/x-tar' });
  assert.equal(created.status, 200);
  const { tools, session } = await start(t);
  await tools.create_sandbox({ name: 'empty', image: 'localhost/belljar-empty:latest' });
  await tools.write_file({ sandbox: 'empty', path: 'a.txt', content: 'works' });
  assert.equal(textOf(await tools.read_file({ sandbox: 'empty', path: 'a.txt' })).trim(), 'works');
  refused(await tools.run_code({ sandbox: 'empty', code: '1' }), /no interpreter for python/);
  await session.close();
});

test('another runtime is passed through', isPrivate, async (t) => {
  const { tools, session } = await start(t, { DOCKER_RUNTIME: 'other' });
  const { id } = structuredOf(await tools.create_sandbox({}));
  assert.equal((await inspect(id)).HostConfig.Runtime, 'other');
  await session.close();
  const { tools: none, session: second } = await start(t, { DOCKER_RUNTIME: 'kata' });
  refused(await none.run_code({ code: '1' }), /docker-runtime: this Docker has no runtime 'kata'/);
  await second.close();
});

test('gVisor works if it has openat2(), and is refused with that reason otherwise', isPrivate, async (t) => {
  if (spawnSync('runsc', ['--version']).error) return t.skip('no runsc on this machine: apt-get install runsc');
  const { tools, session } = await start(t, { DOCKER_RUNTIME: 'gvisor' });
  const result = await tools.run_command({ command: 'dmesg | head -1; echo up' }, { timeout: 180000 });
  if (result.isError) refused(result, /openat2\(\) \(Linux 5.6 or newer\)/);
  else assert.match(structuredOf(result).stdout, /up\n$/);
  await session.close();
});

test('a daemon that is killed in the middle of a run is reported, and the next call works', isPrivate, async (t) => {
  const { tools, session } = await start(t);
  await tools.create_sandbox({ name: 'durable' });
  await tools.write_file({ sandbox: 'durable', path: 'a', content: 'before' });
  const running = tools.run_command({ sandbox: 'durable', command: 'echo started > s; sleep 100' });
  await until(async () => !(await tools.read_file({ sandbox: 'durable', path: 's' })).isError, 'the program runs');
  await restartDaemon();
  refused(await running, /the sandbox ended/);
  assert.equal(textOf(await tools.read_file({ sandbox: 'durable', path: 'a' })).trim(), 'before');
  await session.close();
});

test('a server that is closed at once leaves nothing', async (t) => {
  const state = stateDir(t);
  const server = startRaw(t, BELLJAR, { env: { BELLJAR_STATE_DIR: state } });
  await server.close();
  await until(async () => (await made(state).catch(() => ({ containers: [1] }))).containers.length === 0, 'nothing is left');
});
