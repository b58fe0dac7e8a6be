// The profile sandbox-interpreter, over stdio: initialize, execute, stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOnDisk, imageNote, profile } from '../lib/profile.mjs';
import { docker, made, until } from '../../docker/docker_api.mjs';
import { serveRepository } from '../lib/apt_repository.mjs';
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

test('of two initializations at a time one may be told that the other replaced its sandbox', async () => {
  await tools.stop_sandbox();
  const results = await Promise.all([0, 1, 2].map(() => tools.initialize_sandbox({})));
  for (const result of results.filter(({ isError }) => isError)) refused(result, /^the sandbox was put to sleep, reset or deleted meanwhile/);
  assert.ok(results.some(({ isError }) => !isError));
  assert.equal(await text('execute_code', { code: 'print(1)' }), '1\n');
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
  assert.equal((await call('POST', `/containers/${Id}/wait`)).StatusCode, 0);
  await call('POST', `/commit?container=${Id}&repo=${encodeURIComponent(repo)}&tag=${tag}`, { body: {} });
  await call('DELETE', `/containers/${Id}?force=1&v=1`);
}

/** A server whose caller chooses images. */
async function connect(t, env = {}) {
  const session = await connectV1(t, {
    program: BELLJAR,
    args: ['serve', '--profile', 'sandbox-interpreter'],
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_IMAGE: undefined, ...env },
  });
  return { session, use: toolsOf(async () => session) };
}

const removeImages = async (...names) => {
  for (const name of names) await docker('DELETE', `/images/${encodeURIComponent(name)}?force=1`);
};

test('an image without Python is replaced by the same system with Python', onlyDocker, async (t) => {
  await saveImage('docker.io/library/alpine:latest', 'rm /usr/bin/python3*');
  await saveImage('docker.io/library/debian:1', 'rm /usr/bin/python3*');
  await saveImage('localhost/nothing:1', 'rm /usr/bin/python3*');
  await saveImage('docker.io/library/python:3-alpine', 'true');
  const { session, use } = await connect(t, { BELLJAR_IMAGES: 'python:3-alpine' });
  assert.match(
    textOf(await use.initialize_sandbox()),
    /^Sandbox sb_\S+ is ready \(Python 3\.\S+\)\. The image 'alpine:latest' has no Python, which cannot be installed \(it names no package server.*\): programs come from 'python:3-alpine'/,
  );
  assert.equal(textOf(await use.execute_code({ code: 'print(6 * 7)' })), '42\n');
  refused(await use.initialize_sandbox({ image: 'localhost/nothing:1' }), /image has no Python, which cannot be installed: it names no package server.*an image that has it, such as python:3-slim/);
  assert.equal(textOf(await use.execute_code({ code: 'echo $((6 * 7))', language: 'bash' })), '42\n');
  // The substitute cannot be had: the answer has both reasons.
  refused(await use.initialize_sandbox({ image: 'debian:1' }), /'debian:1' has no Python, which cannot be installed: it names no package server.*; nor can 'python:3-slim' be used instead: .*may not pull it/);
  await session.close();
  await removeImages('alpine:latest', 'debian:1', 'localhost/nothing:1', 'python:3-alpine');
});

/** Saves an image without Python whose apt has the source; its Python is what the package brings back. */
const saveWithoutPython = (name, source) =>
  saveImage(
    name,
    `mkdir -p /opt /var/lib/dpkg/info /var/lib/dpkg/updates /etc/apt && cp /usr/bin/python3 /opt/python &&
     rm /usr/bin/python3* && : >/var/lib/dpkg/status && echo '${source}' >/etc/apt/sources.list`,
  );

/** The images with Python that were made of the image. */
async function madeOf(name) {
  const id = (await docker('GET', `/images/${encodeURIComponent(name)}/json`)).json.Id.slice('sha256:'.length, 'sha256:'.length + 24);
  const { json } = await docker('GET', '/images/json');
  return json.flatMap(({ RepoTags }) => RepoTags ?? []).filter((tag) => tag.includes(`belljar-python:${id}`));
}

test('Python is installed in an image without it, by root without a network, and kept', onlyDocker, async (t) => {
  const image = 'localhost/installs:1';
  const repository = await serveRepository(
    t,
    `{ id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; sed 's/:.*//;s/ //g' /proc/net/dev | tail -n +3
       curl -s -m 5 -x http://${'$'}{http_proxy##*@} http://127.0.0.1:1/ -o /dev/null -w 'stranger %{http_code}\\n'
       curl -s -m 5 http://127.0.0.1:1/ -o /dev/null -w 'other %{http_code}\\n'; } >/opt/report`,
  );
  await saveWithoutPython(image, repository.source);
  const { session, use } = await connect(t, { BELLJAR_ALLOW_HOSTS: repository.host });
  assert.match(
    textOf(await use.initialize_sandbox({ image })),
    /^Sandbox sb_\S+ is ready \(Python 3\.\S+\)\. The image 'localhost\/installs:1' has no Python: it was installed by the image's own package manager, in a copy of the image that is kept as 'belljar-python:[0-9a-f]{24}-[0-9a-f]{16}'\./,
  );
  assert.equal(repository.asked, 1);
  // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID and SETUID; no interface but lo; the gate wants its password, and
  // connects to no other host.
  assert.equal(
    textOf(await use.execute_code({ code: "print(open('/opt/report').read())" })).trim(),
    '0\nCapEff:\t00000000000000db\nCapBnd:\t00000000000000db\nNoNewPrivs:\t1\nlo\nstranger 407\nother 403',
  );
  // The sandbox itself is one like any other.
  assert.match(textOf(await use.execute_code({ code: 'id -u; grep CapBnd /proc/self/status', language: 'bash' })), /^1000\nCapBnd:\t0{16}\n$/);
  assert.match(textOf(await use.initialize_sandbox({ image })), /it was installed/);
  assert.equal(repository.asked, 1);
  const [kept] = await madeOf(image);
  assert.deepEqual((await docker('GET', `/images/${encodeURIComponent(kept)}/json`)).json.Config.Cmd, ['/bin/sh']);
  // Another owner's image is none.
  refused(await use.initialize_sandbox({ image: kept.replace(/.{16}$/, '0123456789abcdef') }), /Docker has no '\S*belljar-python:/);
  await session.close();
  await removeImages(kept, image);
});

test('Python that cannot be installed is answered with the reason', onlyDocker, async (t) => {
  const image = 'localhost/installs:2';
  const repository = await serveRepository(t, 'true');
  const why = async (env, pattern) => {
    const { session, use } = await connect(t, env);
    refused(await use.initialize_sandbox({ image }), pattern);
    assert.equal(textOf(await use.execute_code({ code: 'echo $((6 * 7))', language: 'bash' })), '42\n');
    await session.close();
  };
  await saveWithoutPython(image, repository.source);
  repository.lose();
  await why({ BELLJAR_ALLOW_HOSTS: repository.host }, /has no Python, which cannot be installed: E: Failed to fetch .*404/);
  await why({}, /its package server 127\.0\.0\.1:\d+ is not among the hosts that this server allows: the operator can add it to --allow-hosts/);
  await why({ BELLJAR_NETWORK_MAX: 'none' }, /package servers cannot be reached: .*--network-max none/);
  assert.deepEqual(await madeOf(image), []);
  await removeImages(image);
});

test('an installer ends with its call, and with its server', onlyDocker, async (t) => {
  const image = 'localhost/installs:3', state = stateDir(t);
  const repository = await serveRepository(t, 'true');
  const installers = async () => (await made(state)).containers.filter((name) => name.includes('install'));
  await saveWithoutPython(image, repository.source);
  repository.hold();
  const { session, use } = await connect(t, { BELLJAR_ALLOW_HOSTS: repository.host, BELLJAR_STATE_DIR: state });
  const cancel = new AbortController();
  const cancelled = assert.rejects(use.initialize_sandbox({ image }, { signal: cancel.signal }));
  await until(async () => repository.asked === 1, 'the installer runs');
  assert.equal((await installers()).length, 1);
  cancel.abort();
  await cancelled;
  await until(async () => (await made(state)).containers.length === 0, 'the containers of the call are gone');
  const lost = assert.rejects(use.initialize_sandbox({ image }));
  await until(async () => repository.asked === 2, 'the installer runs again');
  process.kill(session.transport.pid, 'SIGKILL');
  await lost;
  await until(async () => (await made(state)).containers.length === 0, 'the containers of the server are gone');
  assert.deepEqual(await madeOf(image), []);
  await removeImages(image);
});
