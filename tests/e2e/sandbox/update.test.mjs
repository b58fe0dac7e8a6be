// update_sandbox: name, environment, labels, times and limits of an existing sandbox.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { notOn } from '../lib/programs.mjs';
import { open, refused, sandboxed, stateDir, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { create_sandbox, update_sandbox, list_sandboxes, sandbox_info, run_command, run_code, write_file, delete_sandbox } = tools;

test('update_sandbox changes the name, the labels and the times', async () => {
  const made = structuredOf(await create_sandbox({ name: 'first', labels: { task: '42', who: 'a=b' } }));
  assert.deepEqual(made.labels, { task: '42', who: 'a=b' });
  assert.match(textOf(await list_sandboxes({})), / first {2}ready, last used \S+ {2}task=42 {2}who=a=b$/);
  await write_file({ path: 'kept.txt', content: 'kept', sandbox: 'first' });
  const changed = structuredOf(
    await update_sandbox({
      sandbox: 'first', name: 'second', labels: { who: '', more: 'yes' }, idle_s: 77, lifetime_s: 500,
    }),
  );
  assert.equal(changed.id, made.id);
  assert.equal(changed.name, 'second');
  assert.equal(changed.idle_s, 77);
  assert.deepEqual(changed.labels, { task: '42', more: 'yes' });
  const info = structuredOf(await sandbox_info({ sandbox: 'second' }));
  assert.ok(info.expires_in_s > 300 && info.expires_in_s <= 500, `${info.expires_in_s}`);
  assert.equal(structuredOf(await run_command({ command: 'cat kept.txt', sandbox: 'second' })).stdout, 'kept');
  refused(await sandbox_info({ sandbox: 'first' }), /there is no sandbox 'first'/);
});

test('list_sandboxes shows labels and filters by them', async () => {
  await create_sandbox({ name: 'red', labels: { color: 'red', size: 'l' } });
  await create_sandbox({ name: 'blue', labels: { color: 'blue', size: 'l' } });
  const names = async (labels) => structuredOf(await list_sandboxes({ labels })).sandboxes.map((one) => one.name).sort();
  assert.deepEqual(await names({ size: 'l' }), ['blue', 'red']);
  assert.deepEqual(await names({ size: 'l', color: 'red' }), ['red']);
  assert.deepEqual(await names({ color: 'gre' }), []);
  assert.match(textOf(await list_sandboxes({ labels: { color: 'red' } })), /red .*color=red  size=l$/);
});

test('update_sandbox changes the environment of later runs', async () => {
  await create_sandbox({ name: 'vars', env: { OLD: '1', STAYS: '2' } });
  const code = 'import os; print(os.environ.get("OLD"), os.environ.get("STAYS"), os.environ.get("NEW"))';
  const seen = async () => structuredOf(await run_code({ code, sandbox: 'vars' })).stdout;
  assert.equal(await seen(), '1 2 None\n');
  await update_sandbox({ sandbox: 'vars', env: { OLD: '', NEW: '3' } });
  assert.equal(await seen(), 'None 2 3\n');
  const shell = await run_command({ command: 'echo "$OLD,$STAYS,$NEW"', sandbox: 'vars' });
  assert.equal(structuredOf(shell).stdout, ',2,3\n');
});

test('update_sandbox changes the limits of a sandbox that is awake', async (t) => {
  await create_sandbox({ name: 'limits', memory_mb: 128, pids: 64, cpus: 0.5 });
  const allocate = () => run_code({ code: 'x = b"x" * (200 << 20); print(len(x))', sandbox: 'limits' });
  assert.notEqual(structuredOf(await allocate()).exit_code, 0);
  const changed = await update_sandbox({ sandbox: 'limits', memory_mb: 512, pids: 128, cpus: 1 });
  if (changed.isError && /no cgroup controller/.test(textOf(changed))) return t.skip('no cgroups');
  const { limits } = structuredOf(changed);
  assert.deepEqual([limits.memory_mb, limits.pids, limits.cpus], [512, 128, 1]);
  assert.equal(structuredOf(await allocate()).stdout, `${200 << 20}\n`);
  const lowered = structuredOf(await update_sandbox({ sandbox: 'limits', memory_mb: 256 }));
  assert.equal(lowered.limits.memory_mb, 256);
  assert.equal(lowered.limits.pids, 128);
});

test('update_sandbox changes the disk limit of a sandbox that is awake', notOn('docker', 'volumes without quotas have no limit'), async () => {
  await create_sandbox({ name: 'disk', disk_mb: 16 });
  // Files of 8 MiB each. The limit may be watched only, so wait for the watch, which a busy machine delays.
  const write = (count, wait_s) =>
    run_command({ command: `for i in $(seq ${count}); do head -c 8M /dev/zero > big$i || exit 1; done; sleep ${wait_s}; ls | wc -l`, sandbox: 'disk' });
  const resize = async (disk_mb) => assert.equal(structuredOf(await update_sandbox({ sandbox: 'disk', disk_mb })).limits.disk_mb, disk_mb);
  await resize(64);
  assert.equal(structuredOf(await write(5, 3)).stdout, '5\n');
  await resize(16); // less than is in use: only further writes are refused
  assert.equal(structuredOf(await run_command({ command: 'sleep 1; ls | wc -l', sandbox: 'disk' })).stdout, '5\n');
  await resize(48);
  assert.match(JSON.stringify(await write(9, 60)), /disk: |No space left|Disk quota exceeded/);
});

test('one file beyond the disk limit fails, and its session goes on, also with a changed limit', notOn('docker', 'volumes without quotas have no limit'), async () => {
  const sandbox = structuredOf(await create_sandbox({ name: 'one-file', disk_mb: 16 })).id;
  const cell = async (code) => structuredOf(await run_code({ code, session: 's', sandbox }));
  const write = (mib) => cell(`with open('big', 'wb') as f: f.write(bytes(${mib} << 20))\nkept`);
  await cell('kept = 41 + 1');
  const refused = await write(20);
  assert.equal(refused.error.name, 'OSError');
  assert.match(refused.note, /^disk: (one file may have at most 15\.5 MiB, and all files together 16 MiB|no room is left, the limit is 16 MiB): delete files.*, or update_sandbox \{"disk_mb":32,"sandbox":"sb_\w+"\}; what was written is kept$/);
  structuredOf(await update_sandbox(JSON.parse(/\{.*\}/.exec(refused.note)[0])));
  // A limit is in force when the answer comes.
  assert.equal((await write(20)).values?.[0].text, '42');
  await run_command({ command: 'rm big', sandbox });
  await update_sandbox({ sandbox, disk_mb: 8 });
  const written = await write(20);
  assert.equal(written.error?.name, 'OSError');
  assert.equal((await cell('kept')).values[0].text, '42');
  const { stderr, note } = structuredOf(await run_command({ command: 'rm big; cat /dev/zero > big', sandbox }));
  assert.match(`${stderr} ${note}`, /disk: one file may have at most 7\.8 MiB|No space left|Disk quota/);
  structuredOf(await delete_sandbox({ sandbox }));
});

test('a sandbox whose disk limit is lowered below what it has written goes on, also after sleep', async () => {
  await create_sandbox({ name: 'lowered', disk_mb: 64, idle_s: 1 });
  const run = async (command) => structuredOf(await run_command({ command, sandbox: 'lowered' })).stdout;
  assert.equal(await run('head -c 32M /dev/zero > big; echo written'), 'written\n');
  await update_sandbox({ sandbox: 'lowered', disk_mb: 16 });
  assert.equal(await run('sleep 1; echo alive'), 'alive\n');
  const state = async () => structuredOf(await list_sandboxes()).sandboxes.find(({ name }) => name === 'lowered').state;
  for (let i = 0; (await state()) !== 'asleep'; i++) {
    assert.ok(i < 600, 'the sandbox did not fall asleep');
    await setTimeout(100);
  }
  assert.equal(await run('rm big; echo removed'), 'removed\n');
  assert.equal(structuredOf(await sandbox_info({ sandbox: 'lowered' })).limits.disk_mb, 16);
});

test('a disk limit below what is used is told, with what is used', async () => {
  await create_sandbox({ name: 'told', disk_mb: 64 });
  await run_command({ command: 'head -c 32M /dev/zero > big', sandbox: 'told' });
  assert.equal(structuredOf(await update_sandbox({ sandbox: 'told', disk_mb: 48 })).note, undefined);
  assert.match(
    structuredOf(await update_sandbox({ sandbox: 'told', disk_mb: 16 })).note,
    /^disk: 3[2-4] MiB are in use, and the limit is 16 MiB now: all files are kept, but writes are refused until files are deleted or the limit is higher$/,
  );
});

test('update_sandbox refuses what is not possible and changes nothing then', async () => {
  const made = structuredOf(await create_sandbox({ name: 'one' }));
  await create_sandbox({ name: 'two' });
  refused(await update_sandbox({ sandbox: 'one', name: 'two', idle_s: 5 }), /there is a sandbox named 'two' already/);
  refused(await update_sandbox({ sandbox: 'one', name: '.x' }), /^name: /);
  refused(await update_sandbox({ sandbox: 'one', memory_mb: 1048576 }), /^memory_mb: 1048576 is more than/);
  refused(await update_sandbox({ sandbox: 'one', env: { 'A=B': 'c' } }), /^env: /);
  refused(await update_sandbox({ sandbox: 'none-such', idle_s: 5 }), /there is no sandbox 'none-such'/);
  refused(
    await update_sandbox({ sandbox: 'one', name: 'two', memory_mb: 64 }),
    /there is a sandbox named 'two' already|no cgroup/,
  );
  const { name, idle_s, limits } = structuredOf(await sandbox_info({ sandbox: 'one', detail: 'full' }));
  assert.deepEqual([name, idle_s, limits.memory_mb], ['one', made.idle_s, made.limits.memory_mb]);
});

test('update_sandbox may be the first call, and waits until the sandbox has started', async (t) => {
  const session = await open(t, { STATE_DIR: stateDir(t) });
  const own = toolsOf(async () => session);
  const changed = await own.update_sandbox({ memory_mb: 300, labels: { k: 'v' } });
  if (changed.isError && /no cgroup controller/.test(textOf(changed))) return t.skip('no cgroups');
  const { name, limits, labels } = structuredOf(changed);
  assert.deepEqual([name, limits.memory_mb, labels], ['default', 300, { k: 'v' }]);
  assert.equal(structuredOf(await own.sandbox_info()).limits.memory_mb, 300);
  await session.close();
});

test('changes of a sandbox that sleeps hold when it wakes, in the next server', async (t) => {
  const STATE_DIR = stateDir(t);
  const inServer = async (fn) => {
    const session = await open(t, { STATE_DIR });
    await fn(toolsOf(async () => session));
    await session.close();
  };
  await inServer((own) => own.create_sandbox({ name: 'sleepy', disk_mb: 100 }));
  await inServer((own) => own.update_sandbox({ sandbox: 'sleepy', env: { A: 'b' }, pids: 100, disk_mb: 200, labels: { k: 'v' } }));
  await inServer(async (own) => {
    const { stdout } = structuredOf(await own.run_command({ command: 'echo $A', sandbox: 'sleepy' }));
    assert.equal(stdout, 'b\n');
    const info = structuredOf(await own.sandbox_info({ sandbox: 'sleepy' }));
    assert.deepEqual([info.limits.pids, info.limits.disk_mb], [100, 200]);
    assert.deepEqual(info.labels, { k: 'v' });
  });
});

test('a default sandbox that gets another name is no longer the default one, and the answer says so', async (t) => {
  const session = await open(t);
  const { run_command, update_sandbox, write_file } = toolsOf(async () => session);
  structuredOf(await write_file({ path: 'kept.txt', content: 'x' }));
  assert.equal(structuredOf(await update_sandbox({ labels: { a: 'b' } })).note, undefined);
  assert.match(structuredOf(await update_sandbox({ name: 'renamed' })).note, /calls that name none use a new, empty one .* pass its new name as 'sandbox'/);
  assert.equal(structuredOf(await run_command({ command: 'ls' })).stdout, '');
  assert.equal(structuredOf(await run_command({ command: 'ls', sandbox: 'renamed' })).stdout, 'kept.txt\n');
  await session.close();
});
