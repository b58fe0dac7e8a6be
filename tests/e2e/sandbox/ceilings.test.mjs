// Ceilings: what the operator set is the most that a caller gets.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BELLJAR } from '../lib/programs.mjs';
import { open, refused, stateDir, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const MACHINE_MB = Math.floor(totalmem() / 2 ** 20);
const schemaOf = async ({ client }) =>
  (await client.listTools()).tools.find(({ name }) => name === 'create_sandbox').inputSchema.properties;

test('a limit that the operator set is the most that create_sandbox gives', async (t) => {
  const session = await open(t, { MEMORY: '64M', PIDS: 64, CPU: 500, DISK: '32M', GPU: 'none' });
  const { create_sandbox, sandbox_info } = toolsOf(() => session);
  for (const [argument, asked, ceiling, option] of [
    ['memory_mb', 20000, 64, 'memory'], ['pids', 65536, 64, 'pids'], ['cpus', 1024, 0.5, 'cpu'],
    ['disk_mb', 16777216, 32, 'disk'], ['memory_mb', 65, 64, 'memory'], ['cpus', 0.51, 0.5, 'cpu'],
  ])
    refused(
      await create_sandbox({ [argument]: asked }),
      new RegExp(`^${argument}: ${asked} is more than the ${ceiling} that this server allows: pass at most that, or ` +
        `have the operator raise --${option}-max`),
    );
  refused(await create_sandbox({ pids: -1 }), /^argument 'pids': expected an integer from 16 to 64, got the number -1$/);
  for (const gpu of ['auto', '1', 'vendor.com/gpu=0'])
    refused(await create_sandbox({ gpu }), /^gpu: '.*' is not allowed on this server: .* --gpu-max/);
  structuredOf(await create_sandbox({ gpu: 'none' }));
  const small = structuredOf(await create_sandbox({ memory_mb: 32, pids: 64, cpus: 0.25, disk_mb: 16 }));
  assert.deepEqual([small.limits.memory_mb, small.limits.pids, small.limits.cpus, small.limits.disk_mb], [32, 64, 0.25, 16]);
  // A quarter of a processor is to print the versions of all languages, and may take the whole minute it is given.
  const { ceilings, limits, lowered } = structuredOf(await sandbox_info({ sandbox: small.id, detail: 'full' }, { timeout: 180_000 }));
  assert.deepEqual([ceilings.memory_mb, ceilings.pids, ceilings.cpus, ceilings.disk_mb], [64, 64, 0.5, 32]);
  assert.equal(limits.memory_mb, 32);
  assert.equal(lowered, undefined);
});

test('times that the operator set are the most that a caller gets', async (t) => {
  const session = await open(t, { IDLE: 60, LIFETIME: 600 });
  const { create_sandbox, update_sandbox } = toolsOf(() => session);
  const made = structuredOf(await create_sandbox({ idle_s: 60, lifetime_s: 30 }));
  assert.deepEqual([made.idle_s, made.lifetime_s], [60, 30]);
  for (const [argument, asked, most] of [['idle_s', 0, 60], ['idle_s', 61, 60], ['lifetime_s', 0, 600], ['lifetime_s', 601, 600]]) {
    const why = new RegExp(`^${argument}: this server allows 1 to ${most}: `);
    refused(await create_sandbox({ [argument]: asked }), why);
    refused(await update_sandbox({ sandbox: made.id, [argument]: asked }), why);
  }
  const { idle_s, lifetime_s } = await schemaOf(session);
  assert.deepEqual([idle_s.minimum, idle_s.maximum, lifetime_s.maximum], [1, 60, 600]);
  const other = await open(t, {});
  assert.equal(structuredOf(await toolsOf(() => other).create_sandbox({ idle_s: 0 })).idle_s, 0);
});

test('the schema and server_info show the ceilings', async (t) => {
  const session = await open(t, { MEMORY: '64M', MEMORY_MAX: '128M', CPU: 500 });
  const { memory_mb, cpus, gpu } = await schemaOf(session);
  assert.deepEqual([memory_mb.default, memory_mb.maximum], [64, 128]);
  assert.deepEqual([cpus.default, cpus.maximum], [0.5, 0.5]);
  assert.equal(gpu, undefined);
  const { limits } = structuredOf(await toolsOf(() => session).server_info({ detail: 'full' }));
  const valueOf = (wanted) => limits.find(({ name }) => name === wanted).value;
  assert.deepEqual([valueOf('memory'), valueOf('memory_max'), valueOf('cpu_max')], [64 << 20, 128 << 20, 500]);
  assert.ok(valueOf('owner_memory') > 0 && valueOf('owner_disk') > 0);
});

test('--X-max raises the ceiling apart from the default', async (t) => {
  const session = await open(t, { MEMORY: '64M', MEMORY_MAX: '128M' });
  const { create_sandbox } = toolsOf(() => session);
  assert.equal(structuredOf(await create_sandbox()).limits.memory_mb, 64);
  assert.equal(structuredOf(await create_sandbox({ memory_mb: 128 })).limits.memory_mb, 128);
  refused(await create_sandbox({ memory_mb: 129 }), /^memory_mb: 129 is more than the 128/);
});

test('--gpu-max names the graphics processors that create_sandbox may ask for', async (t) => {
  const dir = stateDir(t);
  const device = (name) =>
    ({ name, containerEdits: { deviceNodes: [{ path: `/dev/gpu-${name}`, hostPath: `/dev/${name}` }] } });
  writeFileSync(join(dir, 'test.json'),
    JSON.stringify({ cdiVersion: '0.6.0', kind: 'test.org/gpu', devices: [device('zero'), device('full')] }));
  const lookIn = async (session, args) => {
    const { create_sandbox, run_command } = toolsOf(() => session);
    const { id } = structuredOf(await create_sandbox(args));
    return structuredOf(await run_command({ sandbox: id, command: 'ls /dev | grep gpu' })).stdout;
  };
  const never = await open(t, { CDI_DIRS: dir });
  refused(await toolsOf(() => never).create_sandbox({ gpu: 'auto' }), /^gpu: 'auto' is not allowed on this server/);
  const one = await open(t, { CDI_DIRS: dir, GPU_MAX: 'zero' });
  assert.equal((await schemaOf(one)).gpu.enum, undefined);
  assert.equal(await lookIn(one, {}), '');
  assert.equal(await lookIn(one, { gpu: 'auto' }), 'gpu-zero\n');
  refused(await toolsOf(() => one).create_sandbox({ gpu: 'full' }), /^gpu: 'full' is not allowed .* --gpu-max full/);
  refused(await toolsOf(() => one).create_sandbox({ gpu: '2' }), /^gpu: '2' is not allowed/);
});

test('no sandbox gets more than the machine has', async (t) => {
  const session = await open(t, { MEMORY: '1024G', CPU: 1024000, PIDS: 65536 });
  const { memory_mb, cpus: processors } = await schemaOf(session);
  assert.ok(memory_mb.maximum <= MACHINE_MB, `${memory_mb.maximum}`);
  assert.ok(processors.maximum <= cpus().length, `${processors.maximum}`);
  const { create_sandbox, run_command } = toolsOf(() => session);
  refused(await create_sandbox({ memory_mb: MACHINE_MB + 1 }), /^memory_mb: /);
  refused(await create_sandbox({ cpus: cpus().length + 1 }), /^cpus: /);
  assert.equal(structuredOf(await run_command({ command: 'echo works' })).stdout, 'works\n');
});

test('a ceiling below the default is an error that names both', async (t) => {
  const dir = stateDir(t);
  try {
    execFileSync(BELLJAR, ['serve', '--state-dir', dir, '--memory', '64M', '--memory-max', '32M'],
      { input: '', encoding: 'utf8', stdio: 'pipe' });
    assert.fail('the server started');
  } catch ({ status, stderr }) {
    assert.equal(status, 2);
    assert.match(stderr, /memory-max is 32M, which is less than memory, which is 64M: raise memory-max or lower memory/);
  }
});

test('a sandbox created with more wakes with the ceiling', async (t) => {
  const STATE_DIR = stateDir(t);
  const large = await open(t, { STATE_DIR });
  structuredOf(await toolsOf(() => large).create_sandbox({ name: 'large', memory_mb: 256, pids: 300 }));
  await large.close();
  const session = await open(t, { STATE_DIR, MEMORY: '64M', PIDS: 100 });
  const { sandbox_info, run_command } = toolsOf(() => session);
  const { limits, lowered } = structuredOf(await sandbox_info({ sandbox: 'large' }));
  assert.deepEqual([limits.memory_mb, limits.pids], [64, 100]);
  assert.match(lowered, /^memory: 64 MiB instead of 256 MiB, pids: 100 instead of 300$/);
  const ran = structuredOf(
    await run_command({ sandbox: 'large', command: `python3 -c 'x = b"x" * (150 << 20)'; echo end` }));
  assert.match(JSON.stringify(ran), /memory: processes were killed, the limit is 64 MiB|MemoryError/);
});
