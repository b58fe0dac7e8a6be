// Sandboxes: create, list, inspect, reset, delete; sleep and wake; quotas.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { notOn } from '../lib/programs.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { allTextOf, open, refused, sandboxed, stateDir, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { create_sandbox, list_sandboxes, sandbox_info, reset_sandbox, delete_sandbox, run_command, run_code, write_file } =
  tools;
const ID = /^sb_[a-z2-7]{26}$/;

test('create_sandbox takes limits, a name and an environment', async () => {
  const made = structuredOf(
    await create_sandbox({
      name: 'small', memory_mb: 128, cpus: 0.5, disk_mb: 64, pids: 64, idle_s: 60, lifetime_s: 3600,
      env: { GREETING: 'hello there' },
    }),
  );
  assert.match(made.id, ID);
  assert.equal(made.name, 'small');
  assert.equal(made.state, 'ready');
  assert.equal(made.idle_s, 60);
  assert.equal(made.lifetime_s, 3600);
  assert.deepEqual(
    [made.limits.memory_mb, made.limits.cpus, made.limits.disk_mb, made.limits.pids],
    [128, 0.5, 64, 64],
  );
  for (const sandbox of ['small', made.id]) {
    const ran = await run_command({ command: 'echo $GREETING', sandbox });
    assert.equal(structuredOf(ran).stdout, 'hello there\n');
  }
  refused(await create_sandbox({ name: 'small' }), /there is a sandbox named 'small' already/);
});

test('create_sandbox refuses values that are not possible', async () => {
  refused(await create_sandbox({ name: '.hidden' }), /^name: letters, digits and \. _ - only/);
  refused(await create_sandbox({ name: 'x'.repeat(65) }), /argument 'name': expected a string of at most 64 bytes/);
  refused(await create_sandbox({ memory_mb: 8 }), /argument 'memory_mb': expected an integer from 16 to/);
  refused(await create_sandbox({ memory_mb: 1048576 }), /^memory_mb: 1048576 is more than the \d+ that this server allows/);
  refused(await create_sandbox({ cpus: 'two' }), /argument 'cpus': expected a number/);
  refused(await create_sandbox({ image: 'python:9' }), /^image: (the native engine .* has "host" only|Docker has no 'python:9', and this server may not pull it)/);
  refused(await create_sandbox({ network: 'all' }), /argument 'network': expected one of "none", "packages", "allow", "open"/);
  refused(await create_sandbox({ gpu: '3' }), /gpu/);
  refused(await create_sandbox({ mounts: ['/etc'] }), /^mounts: '\/etc' is not among the directories/);
  refused(await create_sandbox({ env: { 'A=B': 'c' } }), /^env: a name must not be empty and must not contain '='/);
  refused(await create_sandbox({ labels: { '': 'c' } }), /^labels: a name must not be empty/);
  refused(await create_sandbox({ env: { A: 'x'.repeat(4096) } }), /^env: names and values have more than 4095 bytes/);
  refused(await create_sandbox({ nmae: 'x' }), /argument 'nmae' is not known; did you mean 'name'\?/);
});

test('sandbox_info is short unless all details are asked for', async () => {
  const result = await sandbox_info();
  assert.ok(textOf(result).length < 1000, textOf(result));
  const info = structuredOf(result);
  assert.ok(info.languages.includes('python') && info.limits.memory_mb > 0 && info.usage.memory_mb >= 0);
  for (const name of ['isolation', 'interpreters', 'ceilings', 'created']) assert.equal(info[name], undefined, name);
});

test('sandbox_info reports state, limits and isolation', async () => {
  await run_code({ code: 'x = 1', session: 'kept' });
  const started = structuredOf(await run_command({ command: 'sleep 100', background: true }));
  const info = structuredOf(await sandbox_info({ detail: 'full' }));
  assert.equal(info.name, 'default');
  assert.equal(info.network, 'none');
  assert.ok(info.usage.memory_mb > 0 && info.usage.processes >= 3);
  assert.ok(info.usage.disk_mb < 100);
  assert.ok(info.sleeps_in_s > 0 && info.expires_in_s > 0);
  for (const { layer, state, detail } of info.isolation) {
    assert.match(state, /^(on|weaker|off)$/);
    assert.ok(layer && detail);
  }
  const python = info.interpreters.find(({ language }) => language === 'python');
  assert.match(python.version, /3\.\d+/);
  assert.equal(python.sessions, true);
  assert.ok(info.processes.some(({ process, what }) => process === started.process && /sleep 100/.test(what)));
  assert.deepEqual(info.sessions, [{ session: 'kept', language: 'python', busy: false }]);
  assert.equal(info.mounts, undefined);
});

test('reset_sandbox removes files, and two resets at once are fine', async () => {
  const before = structuredOf(await sandbox_info()).id;
  await write_file({ path: 'gone.txt', content: 'x' });
  await run_command({ command: 'for i in $(seq 3000); do : > f$i; done' });
  for (let i = 0; i < 3; i++) {
    const reset = structuredOf(await reset_sandbox());
    assert.equal(reset.id, before);
    assert.equal(structuredOf(await run_command({ command: 'ls -A /workspace ~ | wc -l; touch again' })).stdout.trim(), '3');
  }
  const again = await run_code({ code: 'x', session: 'kept' });
  assert.match(textOf(again), /NameError/);
  assert.match(allTextOf(again), /state was lost/);
});

test('a deleted sandbox is unknown', async () => {
  const { id } = structuredOf(await create_sandbox({ name: 'brief' }));
  structuredOf(await delete_sandbox({ sandbox: 'brief' }));
  for (const sandbox of ['brief', id])
    refused(await run_command({ command: 'true', sandbox }), /there is no sandbox/);
  refused(await delete_sandbox({ sandbox: id }), /there is no sandbox/);
  refused(await delete_sandbox(), /argument 'sandbox' is missing/);
  const { sandboxes } = structuredOf(await list_sandboxes());
  assert.ok(!sandboxes.some((one) => one.id === id));
});

test('the default sandbox is created again after it was deleted', async () => {
  const { id } = structuredOf(await sandbox_info());
  structuredOf(await delete_sandbox({ sandbox: 'default' }));
  assert.notEqual(structuredOf(await sandbox_info()).id, id);
});

test('calls during the creation of a sandbox wait for it', async () => {
  await delete_sandbox({ sandbox: 'default' });
  const results = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => run_command({ command: `echo ${n}; hostname` })),
  );
  assert.deepEqual(results.map((r) => structuredOf(r).stdout.split('\n')[0]), ['1', '2', '3', '4', '5', '6', '7', '8']);
  const { sandboxes } = structuredOf(await list_sandboxes());
  assert.equal(sandboxes.filter(({ name }) => name === 'default').length, 1);
});

test('unknown ids and names are refused', async () => {
  for (const sandbox of ['nobody', 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa', '../default', 'a b', 'ü'])
    refused(await run_command({ command: 'true', sandbox }), /there is no (such )?sandbox/);
  refused(await run_command({ command: 'true', sandbox: '' }), /^argument 'sandbox' is empty: leave it out for the default sandbox/);
  refused(await run_command({ command: 'true', sandbox: 7 }), /argument 'sandbox': expected a string/);
});

test('an idle sandbox sleeps and wakes with its files and without its sessions', async (t) => {
  const own = await open(t, { IDLE: 1 });
  t.after(() => own.close());
  const { write_file, run_code, read_file, list_sandboxes } = toolsOf(async () => own);
  await write_file({ path: 'kept.txt', content: 'still here' });
  await run_code({ code: 'x = 1', session: 's' });
  const state = async () => structuredOf(await list_sandboxes()).sandboxes[0].state;
  for (let i = 0; (await state()) !== 'asleep'; i++) {
    assert.ok(i < 300, 'it does not sleep');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.equal(textOf(await read_file({ path: 'kept.txt' })), 'still here');
  const lost = await run_code({ code: 'x', session: 's' });
  assert.match(allTextOf(lost), /state was lost/);
});

test('quotas of an owner are enforced', async (t) => {
  const own = await open(t, { OWNER_SANDBOXES: 2, OWNER_PROCESSES: 2 });
  t.after(() => own.close());
  const { create_sandbox, run_command } = toolsOf(async () => own);
  structuredOf(await create_sandbox());
  structuredOf(await create_sandbox());
  refused(await create_sandbox(), /^owner-sandboxes: there are 2 sandboxes, and no more are allowed/);
  const { sandboxes } = structuredOf(await toolsOf(async () => own).list_sandboxes());
  const sandbox = sandboxes[0].id;
  for (let i = 0; i < 2; i++) structuredOf(await run_command({ command: 'sleep 50', background: true, sandbox }));
  refused(await run_command({ command: 'true', sandbox }), /^owner-processes: 2 processes are running, and no more are allowed/);
});

test('the sandbox that the server prepares shows only when it is used', notOn('docker', 'its files are volumes, not directories'), async (t) => {
  const state = stateDir(t);
  const directories = () => readdirSync(join(state, 'sandboxes')).filter((name) => ID.test(name));
  const session = await open(t, { STATE_DIR: state });
  const { list_sandboxes, create_sandbox, run_code } = toolsOf(() => session);
  for (let i = 0; !existsSync(join(state, 'sandboxes')) || directories().length === 0; i++) {
    assert.ok(i < 300, 'no sandbox is prepared');
    await sleep(100);
  }
  const [prepared] = directories();
  assert.deepEqual(structuredOf(await list_sandboxes()).sandboxes, []);
  // Another server finds a directory without a row: it must leave it alone.
  const other = await open(t, { STATE_DIR: state, OWNER_SANDBOXES: 1 });
  assert.deepEqual(structuredOf(await toolsOf(() => other).list_sandboxes()).sandboxes, []);
  await other.close();
  assert.equal(structuredOf(await run_code({ code: 'print(6 * 7)' })).stdout, '42\n');
  const [{ id, name }] = structuredOf(await list_sandboxes()).sandboxes;
  assert.deepEqual([id, name], [prepared, 'default']);
  const second = structuredOf(await create_sandbox({ memory_mb: 64 }));
  assert.notEqual(second.id, prepared);
  await session.close();
  assert.deepEqual(directories().sort(), [id, second.id].sort());
});

test('the first sandbox is set up before the server asks for it, and only that one', notOn('docker', 'it has no spare'), async (t) => {
  const state = stateDir(t);
  const seen = [];
  mkdirSync(join(state, 'sandboxes'));
  const watcher = watch(join(state, 'sandboxes'), (event, name) => name.includes('_') && seen.push(name));
  t.after(() => watcher.close());
  const session = await open(t, { STATE_DIR: state });
  const { run_code, list_sandboxes } = toolsOf(() => session);
  assert.equal(structuredOf(await run_code({ code: 'print(6 * 7)' })).stdout, '42\n');
  const [{ id }] = structuredOf(await list_sandboxes()).sandboxes;
  await sleep(0);
  assert.match(seen[0], /^sp_/, 'the first directory is that of a spare');
  assert.deepEqual(new Set(seen.filter((name) => name.startsWith('sb_'))), new Set([id]));
});
