// The profile sandbox-interpreter, over stdio: initialize, execute, stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOnDisk, imageNote, profile } from '../lib/profile.mjs';
import { docker } from '../../docker/docker_api.mjs';
import { BELLJAR, ENGINE } from '../lib/programs.mjs';
import { refused, stateDir, textOf, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const onlyDocker = { skip: ENGINE === 'docker' ? false : 'native: it has no images' };
const { tools } = profile('sandbox-interpreter');
const text = async (name, args) => {
  const result = await tools[name](args);
  assert.ok(!result.isError, textOf(result));
  assert.equal(result.content.length, 1);
  return textOf(result);
};

test('initialize, execute, stop, as the original documents it', async () => {
  refused(await tools.execute_code({ code: 'print(1)' }), /call initialize_sandbox first/);
  const ready = await text('initialize_sandbox', {});
  assert.match(ready, /^Sandbox sb_\S+ is ready \(Python 3\.\d+/);
  assert.match(ready, imageNote('alpine:latest'));
  assert.equal(await text('execute_code', { code: "print('Hello, World!')" }), 'Hello, World!\n');
  assert.equal(await text('execute_code', { code: 'echo "$((6 * 7))"; pwd', language: 'bash' }), '42\n/workspace\n');
  assert.match(await text('stop_sandbox'), /stopped and removed/);
  assert.match(await text('stop_sandbox'), /no sandbox to stop/);
  refused(await tools.execute_code({ code: 'print(1)' }), /call initialize_sandbox first/);
});

test('stdout, then stderr, then the exit status', async () => {
  await text('initialize_sandbox', {});
  assert.equal(
    await text('execute_code', {
      code: "import sys\nprint('err', file=sys.stderr)\nprint('out')\nsys.exit(4)",
    }),
    'out\nerr\n\nExit code: 4',
  );
  assert.match(await text('execute_code', { code: 'raise ValueError("no")' }), /ValueError: no\n\nExit code: 1$/);
  refused(await tools.execute_code({ code: 'x', language: 'klingon' }), /'klingon' is not known; there are: python/);
  refused(await tools.execute_code({}), /'code' is missing/);
  refused(await tools.execute_code({ code: 7 }), /'code'/);
});

test('files stay between calls, and a second initialize begins anew', async () => {
  await text('initialize_sandbox', {});
  await text('execute_code', { code: "open('kept', 'w').write('yes')" });
  assert.equal(await text('execute_code', { code: "print(open('kept').read())" }), 'yes\n');
  refused(await tools.initialize_sandbox({ image: 'a b' }), /'a b' is not the name of an image/);
  assert.equal(await text('execute_code', { code: "print(open('kept').read())" }), 'yes\n');
  await text('initialize_sandbox', {});
  assert.match(await text('execute_code', { code: "print(open('kept').read())" }), /FileNotFoundError/);
});

test('a program that never ends is ended', async (t) => {
  const session = await connectV1(t, {
    program: BELLJAR,
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'sandbox-interpreter', BELLJAR_RUN_TIMEOUT: '1' },
  });
  const use = toolsOf(async () => session);
  await use.initialize_sandbox();
  assert.match(textOf(await use.execute_code({ code: 'while True: pass' })), /ended after 1 seconds/);
  await session.close();
});

test('each connection has a sandbox of its own, which goes with it', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'sandbox-interpreter' };
  const sessions = await Promise.all([0, 1].map(() => connectV1(t, { program: BELLJAR, env })));
  const clients = sessions.map((session) => toolsOf(async () => session));
  const ids = [];
  for (const [i, client] of clients.entries()) {
    ids.push(textOf(await client.initialize_sandbox()).match(/sb_[a-z2-7]+/)[0]);
    await client.execute_code({ code: `open('mine', 'w').write('${i}')` });
  }
  for (const [i, client] of clients.entries())
    assert.equal(textOf(await client.execute_code({ code: "print(open('mine').read())" })), `${i}\n`);
  await sessions[0].close();
  assert.deepEqual(await idsOnDisk(env.BELLJAR_STATE_DIR), [ids[1]]);
  await sessions[1].close();
  assert.deepEqual(await idsOnDisk(env.BELLJAR_STATE_DIR), []);
});

/** Saves the tests' image as `name`, after a command in it. */
async function saveImage(name, command) {
  const [repo, tag] = name.split(':');
  const call = async (...args) => {
    const { status, json } = await docker(...args);
    assert.ok(status < 300 || status === 304, JSON.stringify(json));
    return json;
  };
  // Podman's own default of open files may be more than this machine allows.
  const Ulimits = ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 1024, Hard: 1024 }));
  const { Id } = await call('POST', '/containers/create', {
    body: { Image: process.env.E2E_BELLJAR_IMAGE, Cmd: ['sh', '-c', command], NetworkDisabled: true, HostConfig: { Ulimits } },
  });
  await call('POST', `/containers/${Id}/start`);
  await call('POST', `/containers/${Id}/wait`);
  await call('POST', `/commit?container=${Id}&repo=${encodeURIComponent(repo)}&tag=${tag}`, { body: {} });
  await call('DELETE', `/containers/${Id}?force=1&v=1`);
}

test('an image without Python is replaced by the same system with Python', onlyDocker, async (t) => {
  await saveImage('docker.io/library/alpine:latest', 'rm /usr/bin/python3*');
  await saveImage('localhost/nothing:1', 'rm /usr/bin/python3*');
  await saveImage('docker.io/library/python:3-alpine', 'true');
  const session = await connectV1(t, {
    program: BELLJAR,
    args: ['serve', '--profile', 'sandbox-interpreter'],
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_IMAGE: undefined },
  });
  const use = toolsOf(async () => session);
  assert.match(
    textOf(await use.initialize_sandbox()),
    /^Sandbox sb_\S+ is ready \(Python 3\.\S+\)\. The image 'alpine:latest' has no Python, and a sandbox has neither root nor the network to install it: programs come from 'python:3-alpine'/,
  );
  assert.equal(textOf(await use.execute_code({ code: 'print(6 * 7)' })), '42\n');
  refused(await use.initialize_sandbox({ image: 'localhost/nothing:1' }), /image has no Python \(.*not found.*\), and a sandbox has neither root nor the network.*an image that has it, such as python:3-slim/);
  assert.equal(textOf(await use.execute_code({ code: 'echo $((6 * 7))', language: 'bash' })), '42\n');
  assert.match(textOf(await use.stop_sandbox()), /removed/);
  await session.close();
  for (const image of ['alpine:latest', 'localhost/nothing:1', 'python:3-alpine']) await docker('DELETE', `/images/${encodeURIComponent(image)}?force=1`);
});
