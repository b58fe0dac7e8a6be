// The cache of packages: what one sandbox has installed, another gets without the index.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BELLJAR, notOn } from '../lib/programs.mjs';
import { open, refused, sleep, stateDir, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const indexes = [];
const dir = mkdtempSync(join(tmpdir(), 'belljar-cache-'));
after(() => {
  for (const index of indexes) index.kill();
  rmSync(dir, { recursive: true, force: true });
});

/** An index of its own, with requests() that it got and stop(). */
async function startIndex() {
  const portFile = join(dir, `port${indexes.length}`);
  const index = spawn('python3', [fileURLToPath(new URL('../lib/package_index.py', import.meta.url)), portFile], { stdio: 'inherit' });
  indexes.push(index);
  while (!existsSync(portFile)) await sleep(20);
  const url = `http://127.0.0.1:${readFileSync(portFile)}`;
  return {
    url,
    requests: () => (existsSync(`${portFile}.log`) ? readFileSync(`${portFile}.log`, 'utf8') : ''),
    release: () => writeFileSync(`${portFile}.go`, ''),
    stop: () => new Promise((resolve) => index.once('exit', resolve) && index.kill('SIGKILL')),
  };
}

async function serve(t, index, settings) {
  const state = stateDir(t);
  const session = open(t, { STATE_DIR: state, PIP_INDEX: `${index.url}/simple`, NPM_REGISTRY: `${index.url}/npm`, ANSWER_WITHIN: 170000, ...settings });
  const tools = toolsOf(() => session);
  t.after(async () => (await session).close());
  return {
    tools,
    cache: () => readdirSync(join(state, 'cache')).map((name) => ({ name, path: join(state, 'cache', name) })),
    install: (packages, more) => tools.install_packages({ packages, ...more }, { timeout: 180000 }),
    create: async (name) => (await tools.create_sandbox({ name }), { sandbox: name }),
  };
}
/** Pages that are older than their time are still used while the index cannot be reached. */
function makePagesOld(entries) {
  for (const { name, path } of entries) if (name.startsWith('p-')) utimesSync(path, 1000, 1000);
}
/** The files, without the pip that an image without one has fetched. */
const filesOf = (entries) => entries.map(({ name }) => name.split('~')[1]).filter((name) => name && !name.startsWith('pip-')).sort();

/** For tests of the mirror's own work, which no engine has a part in. */
const ofTheMirror = notOn('docker', 'the mirror is the same process, tested with the native engine');

test('a second sandbox installs the same without the index', async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index);
  assert.deepEqual(structuredOf(await install(['gamma[more]==1.1'], await create('one'))).installed, ['alpha==1.0', 'beta==1.0', 'gamma==1.1']);
  const names = filesOf(cache());
  assert.deepEqual(names, ['alpha-1.0-py3-none-any.whl', 'beta-1.0-py3-none-any.whl', 'gamma-1.1-py3-none-any.whl']);
  await index.stop();
  makePagesOld(cache());
  const two = await create('two');
  assert.deepEqual(structuredOf(await install(['gamma[more]==1.1'], two)).installed, ['alpha==1.0', 'beta==1.0', 'gamma==1.1']);
  refused(await install(['pymupdf'], two), /pip failed: .*the package index cannot be used/);
});

test('an index whose name has no address cannot be used, and is not taken for one that lacks the package', ofTheMirror, async (t) => {
  const { install } = await serve(t, { url: 'http://no-host.invalid' });
  refused(await install(['alpha']), /pip failed: the package index cannot be used: no-host\.invalid: /);
});

test('a second sandbox installs the same packages of npm without the registry', async (t) => {
  const index = await startIndex();
  const { install, create, cache, tools } = await serve(t, index);
  const language = 'javascript';
  const one = await create('one');
  if (structuredOf(await tools.run_command({ ...one, command: 'command -v npm' })).exit_code !== 0) return t.skip('the sandbox has no npm');
  assert.deepEqual(structuredOf(await install(['left', '@scope/right'], { ...one, language })).installed, ['@scope/right@1.0.0', 'left@1.0.0']);
  assert.deepEqual(filesOf(cache()), ['left-1.0.0.tgz', 'right-1.0.0.tgz']);
  await index.stop();
  makePagesOld(cache());
  const two = await create('two');
  assert.equal(structuredOf(await install(['left', '@scope/right'], { ...two, language })).installed.length, 2);
  const run = { ...two, language, code: 'console.log(require("left"), require("@scope/right"))' };
  assert.equal(structuredOf(await tools.run_code(run)).stdout, 'left @scope/right\n');
});

test('a file without the hash of its index is not kept', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache, tools } = await serve(t, index, { PACKAGE_CACHE: '64M' });
  const at = await create('bad');
  refused(await install(['wrong-hash'], at), /does not have the hash/);
  refused(await install(['dies'], at), /pip failed/);
  refused(await install(['hangs'], at), /pip failed/);
  await tools.create_sandbox({ name: 'endless', disk_mb: 300 }); // 10 GiB: more than a file of the cache may have
  refused(await install(['endless'], { sandbox: 'endless' }), /pip failed|wrote more than 300 MiB/);
  assert.deepEqual(filesOf(cache()), []);
  assert.ok(cache().every(({ name }) => !name.startsWith('t-')), 'no temporary file is left');
});

test('a file without a hash is passed on, and a link to another host is not followed', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index);
  const at = await create('links');
  assert.deepEqual(structuredOf(await install(['nohash'], at)).installed, ['nohash==1.0']);
  refused(await install(['elsewhere'], at), /pip failed/);
  assert.doesNotMatch(index.requests(), /files\/elsewhere/);
  assert.deepEqual(filesOf(cache()), []);
});

test('with the policy packages, the pip of a program uses the cache too', async (t) => {
  const index = await startIndex();
  const { tools, create, install, cache } = await serve(t, index);
  await tools.create_sandbox({ name: 'own', network: 'packages' });
  const command = 'python3 -m pip --version || exit 77; python3 -m pip install -q alpha==2.0 && python3 -c "import alpha; print(alpha.VALUE)"';
  const { stdout, exit_code, stderr } = structuredOf(await tools.run_command({ sandbox: 'own', command }, { timeout: 180000 }));
  if (exit_code === 77) return t.skip('the sandbox has no pip');
  assert.match(stdout, /\n2\n$/, stderr);
  assert.deepEqual(filesOf(cache()), ['alpha-2.0-py3-none-any.whl']);
  await index.stop();
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], await create('other'))).installed, ['alpha==2.0']);
});

test('a file that was changed on the disk is fetched again', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index);
  await install(['alpha==2.0'], await create('first'));
  const entry = cache().find(({ name }) => name.includes('~'));
  writeFileSync(entry.path, 'something else');
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], await create('second'))).installed, ['alpha==2.0']);
  assert.equal(index.requests().match(/GET \/files\/alpha\/alpha-2/g).length, 2);
  assert.ok(statSync(entry.path).size > 100);
});

test('many sandboxes install the same at once', async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index);
  const places = [];
  for (let i = 0; i < 4; i++) places.push(await create(`at-once-${i}`));
  for (const answer of await Promise.all(places.map((at) => install(['large', 'beta'], at))))
    assert.deepEqual(structuredOf(answer).installed, ['alpha==1.0', 'beta==1.0', 'large==1.0']);
  assert.deepEqual(filesOf(cache()).map((name) => name.split('-')[0]), ['alpha', 'beta', 'large']);
});

test('the oldest files make room', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index, { PACKAGE_CACHE: '7M' });
  const at = await create('room');
  await install(['alpha==2.0'], at);
  for (const { path } of cache()) utimesSync(path, 1000, 1000);
  await install(['large'], at);
  assert.deepEqual(filesOf(cache()), ['alpha-2.0-py3-none-any.whl', 'large-1.0-py3-none-any.whl']);
  for (const { path } of cache()) utimesSync(path, 2000, 2000); // the cache counts in seconds
  writeFileSync(join(cache()[0].path, '..', 'p-filler'), Buffer.alloc(5 << 20));
  await install(['gamma==1.0'], await create('more'));
  // The mirror makes room after it has sent the last byte.
  for (let i = 0; i < 500 && filesOf(cache()).includes('large-1.0-py3-none-any.whl'); i++) await new Promise((resolve) => setTimeout(resolve, 20));
  const left = filesOf(cache());
  assert.ok(!left.includes('large-1.0-py3-none-any.whl') && left.includes('gamma-1.0-py3-none-any.whl'), left.join());
  assert.ok(cache().reduce((sum, { path }) => sum + statSync(path).size, 0) <= 7 << 20);
});

test('files that are being written count, and those of killed processes are removed', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index, { PACKAGE_CACHE: '7M' });
  await install(['alpha==1.0'], await create('first'));
  const other = join(cache()[0].path, '..', 't-other');
  writeFileSync(other, Buffer.alloc(4 << 20)); // more than half
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], await create('passed'))).installed, ['alpha==2.0']);
  assert.deepEqual(filesOf(cache()), ['alpha-1.0-py3-none-any.whl']);
  const old = Date.now() / 1000 - 3700;
  utimesSync(other, old, old);
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], await create('kept'))).installed, ['alpha==2.0']);
  assert.deepEqual(filesOf(cache()), ['alpha-1.0-py3-none-any.whl', 'alpha-2.0-py3-none-any.whl']);
  assert.ok(!existsSync(other));
});

test('more requests than one sandbox may have at the mirror wait', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { tools } = await serve(t, index);
  await tools.create_sandbox({ name: 'many', network: 'packages' });
  const code = `import concurrent.futures, urllib.request
get = lambda _: urllib.request.urlopen('http://pip.belljar.internal/simple/alpha/', timeout=60).status
with concurrent.futures.ThreadPoolExecutor(40) as pool: print(set(pool.map(get, range(60))))`;
  assert.equal(structuredOf(await tools.run_code({ sandbox: 'many', code }, { timeout: 180000 })).stdout, '{200}\n');
});

test('a build reaches the mirror, and cannot make it do anything else', async (t) => {
  const index = await startIndex();
  const { install, create, tools, cache } = await serve(t, index);
  const at = await create('attack');
  assert.deepEqual(structuredOf(await install(['probes'], at)).installed, ['probes==1.0']);
  const results = JSON.parse(structuredOf(await tools.run_command({ ...at, command: 'cat ~/probes' })).stdout);
  assert.equal(results['GET http://pip.belljar.internal/simple/alpha/'], 200);
  delete results['GET http://pip.belljar.internal/simple/alpha/'];
  for (const [what, status] of Object.entries(results)) assert.ok([400, 403, 404].includes(status), `${what}: ${status}`);
  assert.ok(Object.keys(results).length >= 14);
  assert.doesNotMatch(index.requests(), /POST|PUT|upload|\.\./);
  assert.deepEqual(filesOf(cache()), ['probes-1.0.tar.gz']);
});

test('one sandbox has at most 16 connections to the mirror; others wait, and other sandboxes do not', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { tools, create, install } = await serve(t, index);
  await tools.create_sandbox({ name: 'greedy', network: 'packages' });
  const code = `
import concurrent.futures, urllib.request
def fetch(n):
    return len(urllib.request.urlopen(f'http://pip.belljar.internal/files/waits/waits-1.{n}-py3-none-any.whl', timeout=120).read())
with concurrent.futures.ThreadPoolExecutor(24) as pool:
    print(sum(size > 300 for size in pool.map(fetch, range(24))))
`;
  const run = tools.run_code({ sandbox: 'greedy', code, timeout_s: 150 }, { timeout: 180000 });
  const asked = () => new Set(index.requests().match(/GET \/files\/waits\/\S+/g)).size;
  for (let i = 0; i < 1000 && asked() < 16; i++) await sleep(20);
  await sleep(500); // for one too many
  assert.equal(asked(), 16);
  assert.deepEqual(structuredOf(await install(['alpha==1.0'], await create('modest'))).installed, ['alpha==1.0']);
  assert.equal(asked(), 16);
  index.release();
  assert.equal(structuredOf(await run).stdout, '24\n');
  assert.equal(asked(), 24);
});

test('--package-cache 0 keeps nothing', ofTheMirror, async (t) => {
  const index = await startIndex();
  const { install, create, cache } = await serve(t, index, { PACKAGE_CACHE: 0 });
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], await create('direct'))).installed, ['alpha==2.0']);
  assert.throws(cache, /ENOENT/);
});

test('belljar cache warm, ls and rm', ofTheMirror, async (t) => {
  const index = await startIndex();
  const state = stateDir(t);
  const verb = (...args) => {
    const flags = ['--state-dir', state, ...(args[0] === 'warm' ? ['--pip-index', `${index.url}/simple`, '--npm-registry', `${index.url}/npm`] : [])];
    const { status, stdout, stderr } = spawnSync(BELLJAR, ['cache', ...flags, ...args], { encoding: 'utf8' });
    return { status, text: stdout + stderr };
  };
  assert.match(verb('ls').text, /^0 files and 0 pages, 0 bytes$/m);
  writeFileSync(join(dir, 'requirements.txt'), 'gamma[more]==1.1 ; python_version > "3" # why\n-e .\n');
  writeFileSync(join(dir, 'package.json'), '{"dependencies": {"left": "1"}, "devDependencies": {"@scope/right": "^1.0.0"}}');
  assert.match(verb('warm', join(dir, 'requirements.txt')).text, /The cache has what '.*requirements\.txt' lists/);
  assert.match(verb('warm', join(dir, 'package.json')).text, /The cache has what/);
  const listed = verb('ls').text;
  for (const name of ['alpha-1.0-', 'beta-1.0-', 'gamma-1.1-', 'left-1.0.0.tgz', 'right-1.0.0.tgz']) assert.ok(listed.includes(name), name);
  assert.match(JSON.stringify(JSON.parse(verb('ls', '--json', 'alpha').text).files), /"hash":"sha256-[0-9a-f]{64}"/);
  assert.match(verb('rm', 'alpha').text, /Removed 1 files and 0 pages/);
  assert.doesNotMatch(verb('ls').text, /alpha/);
  assert.match(verb('rm').text, /Removed 4 files/);
  assert.match(verb('ls').text, /^0 files and 0 pages/m);
  writeFileSync(join(dir, 'bad.txt'), 'nothere\n');
  const failed = verb('warm', join(dir, 'bad.txt'));
  assert.match(failed.text, /No matching distribution found for nothere/);
  assert.equal(failed.status, 1);
  assert.match(verb('warm').text, /name one file/);
  assert.match(spawnSync(BELLJAR, ['ps', '--state-dir', state], { encoding: 'utf8' }).stdout, /^(?!.*cache-warm)/s);
});
