// faults.test.mjs - a daemon that answers wrongly, too late, too much or not at all: every caller gets a
// clear error, and the next call works. The daemon is a fake one (fake_daemon.mjs).
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { open, refused, structuredOf, toolsOf } from '../e2e/lib/sandboxed.mjs';
import { until } from './docker_api.mjs';
import { fakeDaemon } from './fake_daemon.mjs';

async function start(t, options, settings = {}) {
  const daemon = await fakeDaemon(t, options);
  if (options?.spoil) daemon.spoil = options.spoil;
  const session = await open(t, { DOCKER_HOST: daemon.host, IMAGE: 'img:1', ...settings });
  return { daemon, session, tools: toolsOf(() => session) };
}

/** Answers `how` to the first matching calls, `times` of them. */
const once = (method, pattern, how, times = 1) => {
  let left = times;
  return (m, path) => (m === method && pattern.test(path) && left-- > 0 ? how : undefined);
};

// Which call is spoiled, how, and what the caller reads.
const creations = [
  ['POST', /^\/containers\/create/, { status: 500, body: '{"message":"disk is full\\u001b[2J"}' }, /Docker refused \(status 500\): disk is full\\x1b\[2J/],
  ['POST', /^\/containers\/create/, { status: 500, body: '<html>' }, /Docker refused \(status 500\)/],
  ['POST', /^\/containers\/create/, 'truncated', /Docker at .*transfer closed/],
  ['POST', /^\/containers\/create/, 'half', /Docker's answer cannot be read/],
  ['POST', /^\/containers\/create/, 'oversized', /sent an answer of more than 4194304 bytes/],
  ['POST', /^\/containers\/create/, 'closes', /Docker at /],
  ['POST', /^\/containers\/create/, { status: 201, body: '{"Id":"../../etc"}' }, /the daemon answered without an id/],
  ['POST', /^\/containers\/create/, { status: 201, body: '[]' }, /the daemon answered without an id/],
  ['POST', /\/start$/, { status: 500, body: '{"message":"no runtime"}' }, /the container does not start: Docker refused \(status 500\): no runtime/],
  ['POST', /^\/volumes\/create/, { status: 500, body: '{"message":"no space left"}' }, /Docker refused \(status 500\): no space left/],
  ['ATTACH', /attach/, 'refused', /refused a connection to the container \(status 409\): refused/],
  ['ATTACH', /attach/, 'foreign', /an unknown header: 48 54 54 50/],
  ['ATTACH', /attach/, 'cut', /ended in the middle of a piece of output/],
];

test('a creation that fails is explained, leaves nothing, and the next one works', async (t) => {
  const { daemon, session, tools } = await start(t);
  // The sandbox that the server prepares must not get the spoiled answer.
  await tools.delete_sandbox({ sandbox: structuredOf(await tools.create_sandbox({ memory_mb: 64 })).id });
  await until(() => daemon.containers.size === 0, 'the prepared sandbox is gone');
  daemon.images.add('img:2');
  daemon.spoil = once('GET', /^\/images\/img:2\/json/, { status: 500, body: '' });
  refused(await tools.create_sandbox({ image: 'img:2' }), /Docker refused \(status 500\)/);
  for (const [method, pattern, how, why] of creations) {
    // libcurl repeats a request on a connection that was closed before the first byte.
    daemon.spoil = once(method, pattern, how, /volumes/.test(pattern.source) ? 3 : how === 'closes' ? 9 : 1);
    const result = await tools.create_sandbox({ memory_mb: 64 });
    assert.ok(result.isError, `${method} ${pattern} ${JSON.stringify(how)}`);
    refused(result, why);
    daemon.spoil = () => undefined;
    await until(() => daemon.containers.size === 0, `${method} ${pattern} leaves no container`);
    const { id } = structuredOf(await tools.create_sandbox({ memory_mb: 64 }));
    await tools.delete_sandbox({ sandbox: id });
    assert.equal(daemon.containers.size, 0);
    assert.equal([...daemon.volumes.keys()].length, 0);
  }
  await session.close();
});

test('an attach without an answer is given up after a minute', async (t) => {
  const { daemon, session, tools } = await start(t);
  structuredOf(await tools.create_sandbox({ memory_mb: 64 }));
  daemon.spoil = once('ATTACH', /attach/, 'hangs');
  refused(await tools.create_sandbox({ memory_mb: 65 }, { timeout: 300000 }), /Docker at .* does not answer in time/);
  structuredOf(await tools.create_sandbox({ memory_mb: 66 }));
  assert.equal(daemon.containers.size, 2);
  await session.close();
});

test('a daemon that cannot be used is named when the server starts', async (t) => {
  for (const [options, why] of [
    [{ spoil: once('GET', /^\/version/, { status: 500, body: '' }) }, /Docker refused \(status 500\)/],
    [{ spoil: once('GET', /^\/version/, { status: 200, body: '{"ApiVersion":"1.24"}' }) }, /the daemon speaks version 1.24 of Docker's API/],
    [{ spoil: once('GET', /^\/version/, { status: 200, body: '{}' }) }, /neither Docker nor Podman/],
    [{ arch: 'riscv64' }, /Docker's machine is riscv64 and this one/],
  ]) {
    const { tools, session } = await start(t, options);
    await until(async () => (await tools.run_code({ code: '1' })).isError, 'the engine fails');
    refused(await tools.run_code({ code: '1' }), why);
    await session.close();
  }
  const session = await open(t, { DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
  refused(await toolsOf(() => session).run_code({ code: '1' }), /Docker at unix:\/\/\/nonexistent\/docker.sock cannot be reached: start the daemon/);
  await session.close();
});

test('a slow daemon is waited for', async (t) => {
  const { daemon, session, tools } = await start(t);
  let waiting = 0;
  daemon.spoil = (method, path) => {
    if (method === 'POST' && path.startsWith('/containers/create')) waiting++;
    const end = Date.now() + 300;
    while (Date.now() < end);
    return undefined;
  };
  structuredOf(await tools.create_sandbox({ memory_mb: 64 }));
  assert.ok(waiting >= 1);
  await session.close();
});

test('connections that end together end all sandboxes, and the next call works', async (t) => {
  const { daemon, session, tools } = await start(t);
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push(structuredOf(await tools.create_sandbox({ memory_mb: 64, name: `s${i}` })).id);
  const runs = ids.map((sandbox) => tools.run_command({ sandbox, command: 'sleep 100' }));
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const { socket } of daemon.containers.values()) socket?.destroy();
  for (const result of await Promise.all(runs)) assert.equal(result.isError, true);
  structuredOf(await tools.create_sandbox({ memory_mb: 64, name: 'after' }));
  await session.close();
});

test('a name that another container has is taken from a dead server only', async (t) => {
  const { daemon, session, tools } = await start(t, {}, { IDLE: 1 });
  const { id } = structuredOf(await tools.create_sandbox({ memory_mb: 64, name: 'twice' }));
  await until(() => daemon.containers.size === 0, 'the sandbox sleeps');
  daemon.containers.set('old', { Id: 'old', Name: `belljar-${id}`, Config: { Labels: { 'belljar.instance': '0000000000000000' } }, State: {} });
  daemon.spoil = once('POST', /^\/containers\/create/, { status: 409, body: '{"message":"in use"}' });
  assert.notEqual((await tools.list_directory({ sandbox: 'twice', path: '/' })).isError, true);
  assert.ok(!daemon.containers.has('old'));
  await session.close();
});

test('a pull shows progress, and its failures are explained', async (t) => {
  const { daemon, session, tools } = await start(t, {}, { IMAGES: 'reg.example/*' });
  for (const [line, why] of [
    ['{"error":"manifest for x not found"}', /the registry has no such image: check the name and the tag/],
    ['{"error":"write /x: no space left on device"}', /Docker's disk is full/],
    ['{"error":"unauthorized: authentication required"}', /the registry wants a login: run 'docker login'/],
    ['{"error":"dial tcp: lookup reg.example: no such host"}', /Docker cannot reach the registry/],
  ]) {
    daemon.pull = ['{"status":"Pulling"}', line];
    refused(await tools.create_sandbox({ image: 'reg.example/x:1', memory_mb: 64 }), why);
    daemon.images.delete('reg.example/x:1');
  }
  daemon.pull = ['{"status":"Downloading","id":"aa","progressDetail":{"current":10,"total":100}}', '{"status":"Pull complete","id":"aa"}'];
  structuredOf(await tools.create_sandbox({ image: 'reg.example/x:1', memory_mb: 64 }));
  assert.ok(daemon.calls.includes('POST /images/create?fromImage=reg.example%2Fx%3A1&platform=linux%2Famd64'));
  await session.close();
});

test('logins come from the configuration of Docker, or from its helper', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-login-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const auth = Buffer.from('me:secret').toString('base64');
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ auths: { 'one.example': { auth } }, credHelpers: { 'two.example': 'fake', 'three.example': 'missing' } }));
  writeFileSync(join(dir, 'docker-credential-fake'), '#!/bin/sh\nread registry\necho "{\\"Username\\":\\"helped\\",\\"Secret\\":\\"by $registry $1\\"}"\n');
  chmodSync(join(dir, 'docker-credential-fake'), 0o755);
  const before = { DOCKER_CONFIG: process.env.DOCKER_CONFIG, PATH: process.env.PATH };
  process.env.DOCKER_CONFIG = dir;
  process.env.PATH = `${dir}:${process.env.PATH}`;
  const { daemon, session, tools } = await start(t, {}, { IMAGES: 'one.example/*,two.example/*,three.example/*' });
  Object.assign(process.env, before);
  if (before.DOCKER_CONFIG === undefined) delete process.env.DOCKER_CONFIG;
  const login = async (image) => {
    structuredOf(await tools.create_sandbox({ image, memory_mb: 64 }));
    const header = daemon.headers[daemon.calls.findIndex((call) => call.includes(encodeURIComponent(image)))]['x-registry-auth'];
    return header && JSON.parse(Buffer.from(header, 'base64url'));
  };
  assert.deepEqual(await login('one.example/x:1'), { username: 'me', password: 'secret', serveraddress: 'one.example' });
  assert.deepEqual(await login('two.example/x:1'), { username: 'helped', password: 'by two.example get', serveraddress: 'two.example' });
  assert.equal(await login('three.example/x:1'), undefined);
  await session.close();
});

test('a graphics processor is asked for as the daemon has it, and refused where it has none', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-cdi-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'gpu.json'), JSON.stringify({ cdiVersion: '0.5.0', kind: 'nvidia.com/gpu', devices: [{ name: '0', containerEdits: { deviceNodes: [{ path: '/dev/null' }] } }] }));
  for (const [info, request] of [
    [{ CDISpecDirs: ['/etc/cdi'] }, { Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=0'] }],
    [{ Runtimes: { runc: {}, nvidia: {} } }, { Driver: 'nvidia', DeviceIDs: ['0'], Capabilities: [['gpu']] }],
    [{}, null],
  ]) {
    const { daemon, session, tools } = await start(t, { info }, { CDI_DIRS: dir, GPU_MAX: 'auto' });
    const made = await tools.create_sandbox({ gpu: 'auto', memory_mb: 64 });
    if (request === null) refused(made, /gpu: this Docker has neither devices of the Container Device Interface nor the runtime 'nvidia'/);
    else {
      const { id } = structuredOf(made);
      const container = [...daemon.containers.values()].find(({ Name }) => Name === `belljar-${id}`);
      assert.deepEqual(container.Config.HostConfig.DeviceRequests, [request]);
    }
    await session.close();
  }
});
