// Every profile over every transport: the documented example of its original server. The engine is
// that of BELLJAR_ENGINE. doc/profiles.md names these tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { idsOnDisk, jsonOf, textsOf } from '../lib/profile.mjs';
import { startIndex } from '../lib/package_index.mjs';
import { prepareWalks, walks } from '../lib/profile_walks.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { sleep, stateDir, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-walks-'));
let index, settings;
before(async () => {
  index = await startIndex(dir);
  settings = prepareWalks(dir, index);
});
after(() => {
  index.stop();
  rmSync(dir, { recursive: true, force: true });
});

const partsOf = (session) => {
  const tools = toolsOf(async () => session);
  return { client: session.client, dir, tools, json: jsonOf(tools), text: textsOf(tools) };
};
const start = (t, args = [], env = {}) =>
  startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', ...args], env: { BELLJAR_STATE_DIR: stateDir(t), ...settings, ...env } });

for (const [name, walk] of Object.entries(walks)) {
  test(`${name} over stdio`, async (t) => {
    const session = await connectV1(t, {
      program: BELLJAR,
      args: ['serve', '--profile', name],
      env: { BELLJAR_STATE_DIR: stateDir(t), ...settings },
    });
    await walk(partsOf(session));
    await session.close();
  });

  test(`${name} over SSE and streamable HTTP, beside the default set`, async (t) => {
    const server = await start(t);
    for (const [kind, path] of [['sse', 'sse'], ['streamable', 'mcp']]) {
      const session = await connectHttp(t, server, { version: 1, kind, path: `/p/${name}/${path}` });
      await walk(partsOf(session));
      await session.client.close();
    }
    const session = await connectHttp(t, server, { version: 1 });
    assert.ok((await session.client.listTools()).tools.some((tool) => tool.name === 'run_code'));
    await session.client.close();
    await server.close();
  });

  test(`${name} on /sse and /mcp with --profile`, async (t) => {
    const server = await start(t, ['--profile', name]);
    const sse = await connectHttp(t, server, { version: 1, kind: 'sse' });
    await walk(partsOf(sse));
    await sse.client.close();
    const mcp = await connectHttp(t, server, { version: 2 });
    assert.ok((await mcp.client.listTools()).tools.length >= 3);
    await mcp.client.close();
    const other = await connectHttp(t, server, { version: 1, path: '/p/default/mcp' });
    const ran = await other.call({ name: 'run_code', arguments: { code: 'print(2)' } });
    assert.equal(ran.structuredContent.stdout, '2\n');
    await other.client.close();
    await server.close();
  });
}

test('callers with different tokens do not see each other', async (t) => {
  const tokens = join(stateDir(t), 'tokens');
  const token = (user) => {
    const { stdout, stderr, status } = spawnSync(BELLJAR, ['token', 'add', user, '--token-file', tokens, '--scopes', 'run,files,admin'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stdout.match(/\S{20,}/)[0];
  };
  const headers = ['ann', 'bob'].map((user) => ({ authorization: `Bearer ${token(user)}` }));
  const server = await start(t, ['--auth', 'token', '--token-file', tokens]);
  const open = async (name) =>
    Promise.all(
      headers.map(async (own) => partsOf(await connectHttp(t, server, { version: 1, headers: own, path: `/p/${name}/mcp` }))),
    );
  {
    const [ann, bob] = await open('code-executor');
    const { executor_id } = await ann.json.create_executor();
    assert.deepEqual(await bob.json.execute_code({ executor_id, code: '1' }), { success: false, message: 'Executor not found' });
    assert.deepEqual(await bob.json.delete_executor({ executor_id }), { success: false, message: 'Executor not found' });
    assert.equal((await ann.json.delete_executor({ executor_id })).success, true);
  }
  {
    const [ann, bob] = await open('execution-client');
    await ann.json.execute_bash({ command: 'echo secret > /workspace/f' });
    assert.equal((await bob.json.execute_bash({ command: 'ls /workspace' })).stdout, '');
    assert.match(await bob.text.cleanup_all(), /^1 container removed/);
    assert.equal((await ann.json.execute_bash({ command: 'cat /workspace/f' })).stdout, 'secret\n');
  }
  {
    const [ann, bob] = await open('code-sandbox');
    const { container_id, workspace_id } = await ann.json.sandbox_initialize();
    const { error } = await bob.json.sandbox_exec({ container_id, workspace_id, commands: ['true'] });
    assert.match(error, /no container/);
  }
  {
    const [ann, bob] = await open('sandbox-interpreter');
    await ann.text.initialize_sandbox();
    const early = await bob.tools.execute_code({ code: '1' });
    assert.equal(early.isError, true);
  }
  {
    const [ann, bob] = await open('python-executor');
    await ann.json.execute_python({ code: "open('secret', 'w').close()" });
    assert.equal((await bob.json.execute_python({ code: 'import os; print(os.listdir())' })).stdout, '[]\n');
  }
  await server.close();
});

test('a sandbox of the caller that has the name of a profile is not used, and the answer names it', async (t) => {
  const server = await start(t);
  const own = await connectHttp(t, server, { version: 1 });
  const open = async (name) => partsOf(await connectHttp(t, server, { version: 1, path: `/p/${name}/mcp` }));
  for (const name of ['code-sandbox', 'execution-client', 'python-executor'])
    assert.ok(!(await own.call({ name: 'create_sandbox', arguments: { name } })).isError);
  const complaint = (name) => new RegExp(`the sandbox '${name}' was not made by these tools.* \\(belljar rm ${name}\\)`);
  assert.match((await (await open('code-sandbox')).json.sandbox_initialize()).error, complaint('code-sandbox'));
  assert.match((await (await open('execution-client')).json.execute_bash({ command: 'id' })).stderr, complaint('execution-client'));
  assert.match((await (await open('python-executor')).json.execute_python({ code: '1' })).error, complaint('python-executor'));
  await server.close();
});

test('over HTTP, a temporary sandbox of a client that vanished is deleted when it is idle', async (t) => {
  const state = stateDir(t);
  const server = await start(t, ['--idle', '1'], { BELLJAR_STATE_DIR: state });
  const { json, client } = partsOf(await connectHttp(t, server, { version: 1, path: '/p/code-executor/mcp' }));
  const { executor_id } = await json.create_executor();
  const isOnDisk = async () => (await idsOnDisk(state)).includes(executor_id); // beside a prepared sandbox
  assert.ok(await isOnDisk());
  await client.close();
  while (await isOnDisk()) await sleep(100);
  await server.close();
});

test('over HTTP, an unknown profile is answered with the paths of all', async (t) => {
  const server = await start(t);
  const servers = ['', '/p/default', ...Object.keys(walks).map((name) => `/p/${name}`)].map((prefix) => `${prefix}/mcp`);
  for (const answer of [await server.get({}, '/p/code-exekutor/sse'), await server.post({}, {}, '/p/code-exekutor/mcp')]) {
    assert.equal(answer.status, 404);
    assert.deepEqual({ ...answer.json, servers: answer.json.servers.sort() }, { error: 'not found', servers: servers.sort() });
  }
  await server.close();
});

test('an unknown tool, missing and ill-typed arguments are named by every profile over SSE', async (t) => {
  const server = await start(t);
  for (const [name, tool, args, complaint] of [
    ['code-executor', 'write_file', { executor_id: 'x', content: 'x' }, /'file_path' is missing/],
    ['code-executor', 'create_executor', { timeout: 'long' }, /'timeout'/],
    ['sandbox-interpreter', 'execute_code', {}, /'code' is missing/],
    ['sandbox-interpreter', 'initialize_sandbox', { image: 1 }, /'image'/],
    ['code-sandbox', 'sandbox_exec', { container_id: 'x' }, /'commands' is missing/],
    ['code-sandbox', 'sandbox_initialize', { use_persistent: 'maybe' }, /'use_persistent'/],
    ['execution-client', 'read_file', {}, /'file_path' is missing/],
    ['execution-client', 'execute_bash', { command: 'true', timeout: 'long' }, /'timeout'/],
    ['python-executor', 'install_package', {}, /'package_name' is missing/],
    ['python-executor', 'execute_python', { code: '1', timeout: {} }, /'timeout'/],
  ]) {
    const session = await connectHttp(t, server, { version: 1, kind: 'sse', path: `/p/${name}/sse` });
    const result = await session.call({ name: tool, arguments: args });
    assert.equal(result.isError, true, `${name} ${tool}`);
    assert.match(result.content[0].text, complaint);
    await assert.rejects(session.call({ name: `${tool}s`, arguments: {} }), new RegExp(`unknown tool '${tool}s'; did you mean '${tool}'`));
    await session.client.close();
  }
  await server.close();
});

test('code-sandbox: messages are in the language that the client names', async (t) => {
  const server = await start(t);
  const message = async (kind, language) => {
    const headers = language && { 'accept-language': language };
    const path = `/p/code-sandbox/${kind === 'sse' ? 'sse' : 'mcp'}`;
    const { json, client } = partsOf(await connectHttp(t, server, { version: 1, kind, headers, path }));
    const { success, error } = await json.sandbox_stop({ container_id: 'none' });
    await client.close();
    assert.equal(success, false);
    return error;
  };
  const english = "there is no container 'none': call sandbox_initialize";
  const chinese = "容器 'none' 不存在：请先调用 sandbox_initialize";
  assert.equal(await message('streamable'), english);
  assert.equal(await message('streamable', 'zh-CN,zh;q=0.9,en;q=0.8'), chinese);
  assert.equal(await message('sse', 'en;q=0.5, zh'), chinese);
  assert.equal(await message('sse', 'de, zh;q=0.1'), english);
  await server.close();
  for (const [locale, expected] of [[{ LANG: 'zh_CN.UTF-8', LC_ALL: '' }, chinese], [{ LANG: 'zh_CN.UTF-8', LC_ALL: 'C.UTF-8' }, english]]) {
    const session = await connectV1(t, {
      program: BELLJAR,
      args: ['serve', '--profile', 'code-sandbox'],
      env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ALLOW_PATH: dir, ...locale },
    });
    const { json } = partsOf(session);
    assert.equal((await json.sandbox_stop({ container_id: 'none' })).error, expected);
    const { container_id, workspace_id, workspace_path: to } = await json.sandbox_initialize();
    const { message } = await json.copy_project({ container_id, workspace_id, local_src_dir: 'project' });
    const from = join(dir, 'project');
    assert.equal(
      message,
      expected === chinese
        ? `已将 '${from}' 复制到 '${to}/project'：2 项，14 字节`
        : `copied '${from}' to '${to}/project': 2 entries, 14 bytes`,
    );
    await session.close();
  }
});
