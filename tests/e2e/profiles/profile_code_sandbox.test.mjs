// The profile code-sandbox, over stdio: workspaces, commands, files and copies.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { AWKWARD, idsOnDisk, imageNote, jsonOf, profile } from '../lib/profile.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { refused, stateDir, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-code-sandbox-'));
chmodSync(dir, 0o777);
after(() => rmSync(dir, { recursive: true, force: true }));
mkdirSync(join(dir, 'project/src'), { recursive: true });
writeFileSync(join(dir, 'project/src/main.py'), 'print("main")\n');
writeFileSync(join(dir, 'project/README'), 'read me\n');
writeFileSync(join(dir, 'one.txt'), 'one\n');

const { tools, json } = profile('code-sandbox', { ALLOW_PATH: dir });
/** A workspace: its ids, and a command that must succeed. */
async function workspace() {
  const { container_id, workspace_id, workspace_path } = await json.sandbox_initialize();
  const ids = { container_id, workspace_id };
  const run = async (...commands) => {
    const { success, results } = await json.sandbox_exec({ ...ids, commands });
    assert.equal(success, true, JSON.stringify(results));
    return results.map(({ stdout }) => stdout).join('');
  };
  return { ids, path: workspace_path, run };
}

test('initialize, write, exec, copy in, copy out, clean, stop', async () => {
  const first = await json.sandbox_initialize();
  assert.equal(first.success, true);
  assert.equal(first.mode, 'persistent');
  assert.equal(first.workspace_path, `/app/workspaces/${first.workspace_id}`);
  const ids = { container_id: first.container_id, workspace_id: first.workspace_id };
  assert.deepEqual(await json.write_file_sandbox({ ...ids, file_name: 'main.py', file_contents: 'print(6 * 7)\n' }), {
    success: true,
    file_path: `${first.workspace_path}/main.py`,
  });
  const commands = ['pwd', 'python main.py', 'echo bad >&2; exit 3', 'echo never'];
  const ran = await json.sandbox_exec({ ...ids, commands });
  assert.equal(ran.success, true); // the commands could be run
  assert.deepEqual(ran.results, [
    { command: 'pwd', exit_code: 0, stdout: `${first.workspace_path}\n`, stderr: '', success: true },
    { command: 'python main.py', exit_code: 0, stdout: '42\n', stderr: '', success: true },
    { command: 'echo bad >&2; exit 3', exit_code: 3, stdout: '', stderr: 'bad\n', success: false },
  ]);
  const copied = await json.copy_file({ ...ids, local_src_file: join(dir, 'one.txt') });
  assert.equal(copied.file_path, `${first.workspace_path}/one.txt`);
  const project = await json.copy_project({ ...ids, local_src_dir: join(dir, 'project') });
  assert.equal(project.dest_dir, `${first.workspace_path}/project`);
  await json.copy_project({ ...ids, local_src_dir: join(dir, 'project'), dest_dir: 'other/place' });
  await json.copy_file({ ...ids, local_src_file: join(dir, 'one.txt'), dest_path: 'sub/two.txt' });
  const { results } = await json.sandbox_exec({ ...ids, commands: ['find . -type f | LC_ALL=C sort', 'python3 project/src/main.py'] });
  assert.equal(
    results[0].stdout,
    './main.py\n./one.txt\n./other/place/README\n./other/place/src/main.py\n./project/README\n./project/src/main.py\n./sub/two.txt\n',
  );
  assert.equal(results[1].stdout, 'main\n');
  const out = await json.copy_file_from_sandbox({
    ...ids,
    container_src_path: 'sub/two.txt',
    local_dest_path: join(dir, 'back.txt'),
  });
  assert.equal(out.local_path, join(dir, 'back.txt'));
  assert.equal(out.file_size, 4);
  assert.equal(readFileSync(join(dir, 'back.txt'), 'utf8'), 'one\n');
  const logs = await json.get_container_logs({ container_id: first.container_id });
  assert.match(logs.logs, /^\$ pwd\n\/app\/workspaces\/[^]*\$ python main.py\n42\n\$ echo bad >&2; exit 3\nbad\n/);
  assert.equal((await json.clean_workspace(ids)).success, true);
  assert.equal((await json.sandbox_exec({ ...ids, commands: ['ls -A'] })).results[0].stdout, '');
  const stopped = await json.sandbox_stop({ container_id: first.container_id });
  assert.match(stopped.message, /kept/);
  assert.equal((await json.sandbox_exec({ ...ids, commands: ['true'] })).success, true);
});

test('workspaces of one container do not reach each other', async () => {
  const [one, two] = [await workspace(), await workspace()];
  assert.equal(one.ids.container_id, two.ids.container_id);
  assert.notEqual(one.ids.workspace_id, two.ids.workspace_id);
  await one.run('echo secret > f; chmod 777 . f; echo s > /tmp/secret; ln -s / root');
  assert.equal(await two.run(`cat ${one.path}/f /tmp/secret /app/workspaces/*/f 2>/dev/null || echo none; ls /app/workspaces`), `none\n${two.ids.workspace_id}\n`);
  const { container_id } = one.ids;
  assert.equal(await one.run('cat root/tmp/secret'), 's\n');
  // Another container's workspace is not reached by its id.
  const alone = await json.sandbox_initialize({ use_persistent: false });
  const crossed = await json.sandbox_exec({ container_id: alone.container_id, workspace_id: one.ids.workspace_id, commands: ['true'] });
  assert.equal(crossed.success, false);
  assert.match(crossed.error, /has no workspace/);
  assert.equal((await json.sandbox_exec({ container_id, commands: ['ls /app'] })).results[0].stdout, '');
});

test('a workspace is found by its directory, and another one is not written to', async () => {
  const [one, two] = [await workspace(), await workspace()];
  const { container_id } = one.ids;
  const written = await json.write_file_sandbox({ container_id, file_name: 'f', file_contents: '1\n', dest_dir: `${one.path}/d` });
  assert.deepEqual(written, { success: true, file_path: `${one.path}/d/f` });
  assert.equal(await one.run('cat d/f'), '1\n');
  await json.copy_file({ container_id, local_src_file: join(dir, 'one.txt'), dest_path: `${two.path}/copy` });
  assert.equal(await two.run('cat copy'), 'one\n');
  const { results } = await json.sandbox_exec({ container_id, commands: ['cd /', `cd ${one.path}/d && cat f`] });
  assert.deepEqual(results.map(({ stdout }) => stdout), ['', '1\n']);
  // Without an argument that names a directory of a workspace, the container itself is used.
  assert.equal((await json.sandbox_exec({ container_id, commands: ['ls -A'] })).results[0].stdout, '');
  await json.copy_file_from_sandbox({ container_id, container_src_path: `${one.path}/d/f`, local_dest_path: 'by-path' });
  assert.equal(readFileSync(join(dir, 'by-path'), 'utf8'), '1\n');
  for (const refusal of [
    await json.write_file_sandbox({ ...two.ids, file_name: `${one.path}/f`, file_contents: '' }),
    await json.write_file_sandbox({ ...two.ids, file_name: 'f', file_contents: '', dest_dir: one.path }),
    await json.copy_file({ ...two.ids, local_src_file: join(dir, 'one.txt'), dest_path: `${one.path}/f` }),
    await json.copy_file_from_sandbox({ ...two.ids, container_src_path: `${one.path}/f` }),
  ]) {
    assert.equal(refusal.success, false);
    assert.match(refusal.error, /is in another workspace: pass the workspace_id/);
  }
  assert.equal(await one.run('ls'), 'd\n');
});

test('an empty argument that may be left out is left out', async () => {
  const { ids, path, run } = await workspace();
  const { container_id } = ids;
  assert.equal((await json.write_file_sandbox({ ...ids, file_name: 'f', file_contents: 'x', dest_dir: '' })).file_path, `${path}/f`);
  assert.equal((await json.copy_file({ ...ids, local_src_file: join(dir, 'one.txt'), dest_path: '' })).file_path, `${path}/one.txt`);
  assert.equal((await json.copy_project({ ...ids, local_src_dir: join(dir, 'project'), dest_dir: '' })).dest_dir, `${path}/project`);
  assert.equal((await json.copy_file_from_sandbox({ ...ids, container_src_path: 'f', local_dest_path: '' })).local_path, join(dir, 'f'));
  assert.equal((await json.sandbox_exec({ container_id, workspace_id: '', commands: ['pwd'] })).results[0].stdout, '/app\n');
  refused(await tools.clean_workspace({ container_id, workspace_id: '' }), /'workspace_id'/);
  assert.equal(await run('cat f'), 'x');
});

test('standalone mode, and --no-persistent', async (t) => {
  const alone = await json.sandbox_initialize({ use_persistent: false });
  assert.equal(alone.mode, 'standalone');
  assert.equal(alone.workspace_path, '/app');
  assert.match(alone.message, imageNote('python:3.9-slim'));
  const { container_id } = alone;
  assert.equal((await json.sandbox_exec({ container_id, commands: ['pwd'] })).results[0].stdout, '/app\n');
  assert.match((await json.sandbox_stop({ container_id })).message, /removed/);
  const gone = await json.sandbox_exec({ container_id, commands: ['pwd'] });
  assert.equal(gone.success, false);
  assert.match(gone.error, /no container/);
  const state = stateDir(t);
  const session = await connectV1(t, {
    program: BELLJAR,
    args: ['serve', '--profile', 'code-sandbox', '--no-persistent'],
    env: { BELLJAR_STATE_DIR: state },
  });
  const made = await jsonOf(toolsOf(async () => session)).sandbox_initialize();
  assert.equal(made.mode, 'standalone');
  await session.close();
  assert.deepEqual(await idsOnDisk(state), []);
});

test('contents and paths', async () => {
  const { ids, path, run } = await workspace();
  for (const file_contents of [AWKWARD, '', 'x'.repeat(5 * 1024 * 1024)]) {
    const { file_path } = await json.write_file_sandbox({
      ...ids, file_name: `a 'b' "c" $(d).txt`, dest_dir: 'e f/g', file_contents,
    });
    assert.equal(file_path, `${path}/e f/g/a 'b' "c" $(d).txt`);
    await json.copy_file_from_sandbox({ ...ids, container_src_path: file_path, local_dest_path: 'same' });
    assert.ok(readFileSync(join(dir, 'same'), 'utf8') === file_contents);
  }
  for (const bad of [
    { file_name: '../x' }, { file_name: 'x', dest_dir: '../..' }, { file_name: '../x', dest_dir: 'a' },
    { file_name: '/../x' },
  ]) {
    const refusal = await json.write_file_sandbox({ ...ids, file_contents: '', ...bad });
    assert.equal(refusal.success, false, JSON.stringify(bad));
    assert.match(refusal.error, /leads out of/);
  }
  await run('ln -s /etc/passwd link; ln -s / up');
  writeFileSync(join(dir, '..', 'belljar-outside'), 'outside');
  for (const local of ['/etc/passwd', join(dir, '../belljar-outside'), '../belljar-outside']) {
    const refusal = await json.copy_file({ ...ids, local_src_file: local });
    assert.equal(refusal.success, false, local);
    assert.match(refusal.error, /^local_src_file: /);
  }
  writeFileSync(join(dir, 'a file'), 'file');
  const noProject = await json.copy_project({ ...ids, local_src_dir: join(dir, 'a file') });
  assert.equal(noProject.success, false);
  assert.match(noProject.error, /^local_src_dir: .*a file: is not a directory/);
  const nothing = await json.copy_file_from_sandbox({ ...ids, container_src_path: 'nothing', local_dest_path: join(dir, 'out') });
  assert.match(nothing.error, /^container_src_path: in the sandbox: .*nothing: No such file/);
  const outward = await json.copy_file_from_sandbox({ ...ids, container_src_path: 'link', local_dest_path: '/tmp/belljar-escaped' });
  assert.equal(outward.success, false);
  assert.equal(existsSync('/tmp/belljar-escaped'), false);
  rmSync(join(dir, '..', 'belljar-outside'));
});

test('errors have the shape of the profile', async () => {
  const missing = await json.sandbox_exec({ container_id: 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa', commands: ['true'] });
  assert.deepEqual(Object.keys(missing), ['success', 'error']);
  assert.match(missing.error, /no container 'sb_aaa/);
  for (const container_id of ['', 'x'.repeat(1000)])
    assert.match((await json.get_container_logs({ container_id })).error, /^there is no container 'x*/);
  const { container_id } = await json.sandbox_initialize();
  assert.match((await json.clean_workspace({ container_id, workspace_id: 'ws-none' })).error, /no workspace 'ws-none'/);
  assert.equal((await json.sandbox_stop({ container_id: 'x' })).success, false);
  const { workspace_id } = await json.sandbox_initialize();
  assert.match((await json.sandbox_stop({ container_id: workspace_id })).error, /no container/);
  assert.equal((await json.get_container_logs({ container_id: 'x' })).success, false);
  const file = await json.copy_file({ container_id, local_src_file: join(dir, 'none') });
  assert.equal(file.success, false);
  assert.match(file.error, /none/);
  refused(await tools.sandbox_exec({ container_id, commands: { ls: 1 } }), /'commands'/);
  refused(await tools.sandbox_exec({ commands: [] }), /'container_id' is missing/);
});

test('long outputs of many commands are shortened, not refused', async (t) => {
  for (const maxLine of ['100000', '10M']) {
    const session = await connectV1(t, {
      program: BELLJAR,
      env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'code-sandbox', BELLJAR_MAX_LINE: maxLine },
    });
    const use = jsonOf(toolsOf(async () => session));
    const { container_id, workspace_id } = await use.sandbox_initialize();
    // A zero byte has seven in the text of the answer.
    const long = "head -c 500000 /dev/zero; head -c 500000 /dev/zero | tr '\\0' 'é' >&2";
    const commands = ['echo first', ...Array(8).fill(long), 'echo last'];
    const { success, results } = await use.sandbox_exec({ container_id, workspace_id, commands });
    assert.equal(success, true);
    assert.deepEqual(results.map(({ command, exit_code }) => [command, exit_code]), commands.map((command) => [command, 0]));
    assert.equal(results[0].stdout, 'first\n');
    for (const { stdout } of results.slice(1, -1)) assert.match(stdout, /^\0+\n\[belljar: \d+ bytes left out\]\n\0+$/);
    assert.equal(results.at(-1).stdout, 'last\n');
    await session.close();
  }
});

test('a command that never ends, and output that never ends', async (t) => {
  const session = await connectV1(t, {
    program: BELLJAR,
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'code-sandbox', BELLJAR_RUN_TIMEOUT: '2' },
  });
  const use = jsonOf(toolsOf(async () => session));
  const { container_id, workspace_id } = await use.sandbox_initialize();
  const { success, results } = await use.sandbox_exec({ container_id, workspace_id, commands: ['yes belljar', 'true'] });
  assert.equal(success, true);
  assert.equal(results.length, 1);
  assert.equal(results[0].exit_code, 124);
  assert.match(results[0].stdout, /bytes left out/);
  assert.match(results[0].stderr, /ended after 2 seconds/);
  await session.close();
});
