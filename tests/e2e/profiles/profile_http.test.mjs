// What the profile execution-client has over HTTP beside MCP, and users that a proxy names.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { jsonOf } from '../lib/profile.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { stateDir, toolsOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-side-'));
chmodSync(dir, 0o755);
after(() => rmSync(dir, { recursive: true, force: true }));
mkdirSync(join(dir, 'charts'));
writeFileSync(join(dir, 'charts/SKILL.md'), '---\nname: Good charts\ndescription: Draw good charts\nversion: 1.2.0\ndependencies: numpy, pandas>=2\n---\n\nUse few colours.\n');

const start = (t, args, env = {}) =>
  startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', ...args], env: { BELLJAR_STATE_DIR: stateDir(t), ...env } });
const bash = async (t, server, options = {}) => {
  const session = await connectHttp(t, server, { version: 1, path: '/p/execution-client/mcp', ...options });
  return jsonOf(toolsOf(async () => session)).execute_bash;
};

for (const [name, args, prefix] of [
  ['with --profile', ['--profile', 'execution-client'], ''],
  ['beside the default set', [], '/p/execution-client'],
])
  test(`health, skills and artifacts ${name}`, async (t) => {
    const server = await start(t, [...args, '--skills-dir', dir], { MCP_ARTIFACT_SIZE_LIMIT_MB: '2' });
    const get = (path) => server.request('GET', prefix + path);
    assert.deepEqual((await get('/health')).json, { status: 'healthy' });
    assert.deepEqual((await get('/skills')).json, {
      skills: [{ skill_id: 'charts', name: 'Good charts', description: 'Draw good charts', version: '1.2.0' }],
      count: 1,
    });
    assert.deepEqual((await get('/skills/charts')).json, {
      skill_id: 'charts',
      name: 'Good charts',
      description: 'Draw good charts',
      version: '1.2.0',
      dependencies: 'numpy, pandas>=2',
      content: 'Use few colours.',
    });
    assert.equal((await get('/skills/none')).status, 404);
    assert.deepEqual((await get('/artifacts')).json, { artifacts: [], count: 0 });
    const run = await bash(t, server);
    await run({
      command: `cd /artifacts && mkdir 'a b' && printf '<b>\\377' > 'a b/r.html' && ln -s /etc/passwd link &&
        head -c 2097152 /dev/zero > fits && head -c 2097153 /dev/zero > large && mkfifo pipe`,
    });
    const { artifacts } = (await get('/artifacts')).json;
    assert.deepEqual(artifacts.map((each) => [each.name, each.size]), [['a b/r.html', 4], ['fits', 2097152], ['large', 2097153]]);
    const file = await get('/artifacts/a%20b/r.html');
    assert.equal(file.status, 200);
    assert.equal(file.headers['content-disposition'], 'attachment');
    assert.equal(file.headers['x-content-type-options'], 'nosniff');
    assert.equal((await get('/artifacts/fits')).status, 200);
    const large = await get('/artifacts/large');
    assert.equal(large.status, 413);
    assert.match(large.json.error, /at most 2 MiB/);
    for (const path of ['/artifacts/none', '/artifacts/pipe', '/artifacts/a%20b', '/nonsense'])
      assert.equal((await get(path)).status, 404, path);
    // A link leads to the sandbox's own file.
    assert.match((await get('/artifacts/link')).text, /coderunner/);
    assert.equal((await server.request('POST', `${prefix}/artifacts`)).status, 404);
    if (prefix !== '') assert.equal((await server.request('GET', '/skills')).status, 404);
    await server.close();
  });

test('the side paths need a token, and each caller has artifacts of their own', async (t) => {
  const tokens = join(stateDir(t), 'tokens');
  const token = (user, scopes) => {
    const added = spawnSync(BELLJAR, ['token', 'add', user, '--token-file', tokens, '--scopes', scopes], { encoding: 'utf8' });
    return { authorization: `Bearer ${added.stdout.match(/\S{20,}/)[0]}` };
  };
  const [ann, bob, eve] = [token('ann', 'run,files'), token('bob', 'run,files'), token('eve', 'run')];
  const server = await start(t, ['--profile', 'execution-client', '--auth', 'token', '--token-file', tokens]);
  const run = await bash(t, server, { headers: ann });
  await run({ command: 'echo mine > /artifacts/f' });
  const get = (path, headers) => server.request('GET', path, headers);
  assert.equal((await get('/artifacts/f', ann)).text, 'mine\n');
  assert.equal((await get('/artifacts/f', bob)).status, 404);
  assert.equal((await get('/artifacts/f', eve)).status, 403);
  for (const path of ['/artifacts', '/skills', '/health', '/nonsense']) assert.equal((await get(path)).status, 401, path);
  await server.close();
});

test('--trust-user-header: a proxy names users, who are separate', async (t) => {
  const server = await start(t, ['--trust-user-header']);
  const own = await bash(t, server);
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((user) => bash(t, server, { headers: { 'x-user-id': user } })));
  await ann({ command: 'echo ann > /artifacts/f' });
  assert.equal((await bob({ command: 'ls /artifacts' })).stdout, '');
  assert.equal((await own({ command: 'ls /artifacts' })).stdout, '');
  assert.equal((await ann({ command: 'cat /artifacts/f' })).stdout, 'ann\n');
  const get = (headers) => server.request('GET', '/p/execution-client/artifacts/f', headers);
  assert.equal((await get({ 'x-user-id': 'ann' })).text, 'ann\n');
  assert.equal((await get({ 'x-user-id': 'bob' })).status, 404);
  for (const bad of ['a>b', '../x', 'x'.repeat(100)]) {
    const refused = await get({ 'x-user-id': bad });
    assert.equal(refused.status, 403, bad);
    assert.match(refused.json.error_description, /x-user-id/);
  }
  await server.close();
  const plain = await start(t, []);
  const [one, two] = await Promise.all(['ann', 'bob'].map((user) => bash(t, plain, { headers: { 'x-user-id': user } })));
  await one({ command: 'echo same > /workspace/f' });
  assert.equal((await two({ command: 'cat /workspace/f' })).stdout, 'same\n', 'without the option the header means nothing');
  await plain.close();
});
