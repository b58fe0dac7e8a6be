// Every profile over every transport: the documented example of its original server. The engine is
// that of BELLJAR_ENGINE. doc/profiles.md names these tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connectHttp, startHttp } from './lib/http.mjs';
import { idsOnDisk, jsonOf, textsOf } from './lib/profile.mjs';
import { startIndex } from './lib/package_index.mjs';
import { prepareWalks, walks } from './lib/profile_walks.mjs';
import { BELLJAR } from './lib/programs.mjs';
import { sleep, stateDir, toolsOf } from './lib/sandboxed.mjs';
import { connectV1 } from './lib/sdk.mjs';

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
  await server.close();
});

test('over HTTP, a temporary sandbox of a client that vanished is deleted when it is idle', async (t) => {
  const state = stateDir(t);
  const server = await start(t, ['--idle', '1'], { BELLJAR_STATE_DIR: state });
  const { json, client } = partsOf(await connectHttp(t, server, { version: 1, path: '/p/code-executor/mcp' }));
  const { executor_id } = await json.create_executor();
  assert.deepEqual(await idsOnDisk(state), [executor_id]);
  await client.close();
  while ((await idsOnDisk(state)).length !== 0) await sleep(100);
  await server.close();
});
