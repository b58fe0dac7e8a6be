// Where belljar is root and the state directory has no quotas, the files of a sandbox are in an image that enforces
// the disk limit.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { spawnerOf } from '../lib/proc.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { open, stateDir, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const MIB = 1024 * 1024;

/** Whether sandboxes of a state directory have images. */
function hasImages(t) {
  const dir = stateDir(t);
  const { stdout } = spawnSync(BELLJAR, ['doctor', '--state-dir', dir], { encoding: 'utf8' });
  return /disk\s+image:/.test(stdout);
}

/** Backing files of loop devices below a directory. Their paths begin at the root of a mount. */
const attached = (dir) =>
  readdirSync('/sys/block')
    .map((name) => `/sys/block/${name}/loop/backing_file`)
    .filter((path) => existsSync(path))
    .map((path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return '';
      }
    })
    .filter((path) => path.includes(`/${basename(dir)}/`));

async function noneAttached(dir) {
  for (let i = 0; attached(dir).length !== 0; i++) {
    assert.ok(i < 200, `${attached(dir)}`);
    await setTimeout(50);
  }
}

const imageOf = (dir, id) => join(dir, 'sandboxes', id, 'image');

async function serve(t, dir, settings = {}) {
  const session = await open(t, { STATE_DIR: dir, ...settings });
  const tools = toolsOf(async () => session);
  const sh = async (command, sandbox) => structuredOf(await tools.run_command({ command, sandbox }));
  return { session, tools, sh };
}

test('a write beyond the disk limit gets ENOSPC, and the session goes on', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  const { session, tools, sh } = await serve(t, dir);
  const { id } = structuredOf(await tools.create_sandbox({ name: 'one', disk_mb: 32 }));
  const cell = async (code) => structuredOf(await tools.run_code({ code, session: 's', sandbox: 'one' }));
  await cell('kept = 42');
  const filled = await sh('dd if=/dev/zero of=big bs=1M count=100; stat -c %s big', 'one');
  assert.match(filled.stderr, /No space left on device/);
  assert.ok(Number(filled.stdout) >= 31 * MIB && Number(filled.stdout) <= 32 * MIB, filled.stdout);
  assert.match(filled.note, /^disk: no room is left, the limit is 32 MiB: delete files/);
  assert.equal((await cell('kept')).values[0].text, '42');
  assert.equal((await sh('rm big; head -c 30M /dev/zero > again; stat -c %s again', 'one')).stdout, `${30 * MIB}\n`);
  // Up and down, in force at once.
  structuredOf(await tools.update_sandbox({ sandbox: 'one', disk_mb: 4096 }));
  assert.equal((await sh('head -c 200M /dev/zero > more; stat -c %s more', 'one')).stdout, `${200 * MIB}\n`);
  structuredOf(await tools.update_sandbox({ sandbox: 'one', disk_mb: 64 }));
  assert.match((await sh('head -c 1M /dev/zero > small', 'one')).stderr, /No space left/);
  assert.equal((await sh('rm more; head -c 1M /dev/zero > small; stat -c %s small', 'one')).stdout, `${MIB}\n`);
  const usage = structuredOf(await tools.sandbox_info({ sandbox: 'one' })).usage;
  assert.ok(usage.disk_mb > 30 && usage.disk_mb < 33, JSON.stringify(usage));
  assert.equal(attached(dir).filter((path) => path.includes(id)).length, 1);
  structuredOf(await tools.delete_sandbox({ sandbox: 'one' }));
  assert.ok(!existsSync(imageOf(dir, id)));
  await session.close();
  await noneAttached(dir);
});

test('files outlive the end of the server, also by SIGKILL, and a restart of the machine', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  let server = await serve(t, dir);
  const { id } = structuredOf(await server.tools.create_sandbox({ name: 'kept', disk_mb: 64 }));
  await server.sh('seq 100000 > numbers; md5sum numbers > sum; head -c 60M /dev/urandom > large', 'kept');
  process.kill(server.session.transport.pid, 'SIGKILL');
  server = await serve(t, dir);
  assert.match((await server.sh('md5sum -c sum; rm large', 'kept')).stdout, /OK/);
  await server.session.close();
  await noneAttached(dir);
  // Deleted blocks are given back.
  assert.ok(statSync(imageOf(dir, id)).blocks * 512 < 20 * MIB, `${statSync(imageOf(dir, id)).blocks}`);
  // Another boot than the one in which the image was mounted: it is checked first.
  writeFileSync(join(dir, 'sandboxes', id, 'boot'), 'another');
  server = await serve(t, dir);
  assert.match((await server.sh('md5sum -c sum', 'kept')).stdout, /OK/);
  assert.match(readFileSync(join(dir, 'sandboxes', id, 'boot'), 'utf8'), /^[0-9a-f-]{36}/);
  // A full sandbox wakes, and can be cleaned up.
  await server.sh('cat /dev/zero > full', 'kept');
  await server.session.close();
  server = await serve(t, dir);
  assert.match((await server.sh('rm full; echo room > file; cat file', 'kept')).stdout, /^room$/m);
  await server.session.close();
  await noneAttached(dir);
});

test('forty sandboxes at once have an image each', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  const { session, tools, sh } = await serve(t, dir, { OWNER_SANDBOXES: 100, OWNER_MEMORY: '64G', MEMORY: '64M' });
  const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
  await Promise.all(names.map(async (name) => structuredOf(await tools.create_sandbox({ name, disk_mb: 16 }))));
  const all = await Promise.all(names.map((name) => sh('cat /dev/zero > f; stat -c %s f', name)));
  for (const { stdout, stderr } of all) {
    assert.match(stderr, /No space left/);
    assert.ok(Number(stdout) > 15 * MIB && Number(stdout) <= 16 * MIB, stdout);
  }
  await Promise.all(names.map(async (name) => structuredOf(await tools.delete_sandbox({ sandbox: name }))));
  await session.close();
  await noneAttached(dir);
});

test('while the disk below an image is full, so is the image, and no file is damaged', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    let server = await serve(t, dir);
    structuredOf(await server.tools.create_sandbox({ name: 'one' }));
    await server.sh('seq 100000 > numbers; md5sum numbers > sum', 'one');
    writeFileSync(join(dir, 'ballast'), Buffer.alloc(128 * MIB));
    // The spawner looks at the free space some times a second.
    const left = async () => Number((await server.sh('df -B1 --output=avail . | tail -1', 'one')).stdout);
    for (let i = 0; (await left()) > 64 * MIB; i++) assert.ok(i < 200);
    const filled = await server.sh('cat /dev/zero > big; stat -c %s big', 'one');
    assert.match(filled.stderr, /No space left on device/);
    assert.ok(Number(filled.stdout) > 16 * MIB && Number(filled.stdout) < 64 * MIB, filled.stdout);
    assert.match(filled.note, /^disk: no room is left on the disk of this machine/);
    assert.match((await server.sh('sync; md5sum -c sum', 'one')).stdout, /OK/);
    await server.session.close();
    server = await serve(t, dir);
    assert.match((await server.sh('md5sum -c sum; cmp -n $(stat -c %s big) big /dev/zero && echo same; rm big', 'one')).stdout, /OK\nsame/);
    await server.session.close();
    // The blocks were given back, and there is room again.
    server = await serve(t, dir);
    assert.equal((await server.sh('head -c 20M /dev/zero > file; stat -c %s file', 'one')).stdout, `${20 * MIB}\n`);
    await server.session.close();
    await noneAttached(dir);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('sandboxes that start do not take the rest of a full disk', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    let server = await serve(t, dir);
    structuredOf(await server.tools.create_sandbox({ name: 'before' }));
    await server.sh('echo kept > file', 'before');
    const ballast = join(dir, 'ballast');
    const fill = () => {
      const { bfree, bsize } = statfsSync(dir);
      // A sixteenth of the disk is the host's.
      writeFileSync(ballast, Buffer.alloc(bfree * bsize - 6 * MIB));
    };
    const refuses = (result) => {
      assert.ok(result.isError);
      assert.match(textOf(result), /the state directory has only [0-7] MiB left, .* at least 8 MiB: delete sandboxes/);
    };
    fill();
    refuses(await server.tools.create_sandbox({ name: 'one' }));
    rmSync(ballast);
    structuredOf(await server.tools.create_sandbox({ name: 'one' }));
    assert.equal((await server.sh('echo room > file; cat file', 'one')).stdout, 'room\n');
    await server.session.close();
    await noneAttached(dir);
    // Files of a sandbox that cannot wake are kept.
    server = await serve(t, dir);
    fill();
    refuses(await server.tools.run_command({ command: 'cat file', sandbox: 'before' }));
    rmSync(ballast);
    assert.equal((await server.sh('cat file', 'before')).stdout, 'kept\n');
    await server.session.close();
    await noneAttached(dir);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('sandboxes of two servers do not fill the disk below their images', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    const dirs = ['a', 'b'].map((name) => join(dir, name));
    let servers = await Promise.all(dirs.map((name) => serve(t, name)));
    const fill = (server, name, rounds) =>
      server.sh(`for i in $(seq ${rounds}); do cat /dev/zero >> ${name}; sleep 0.05; done; stat -c %s ${name}`, 'one');
    // The first server has a claim, and is stopped: it sees neither the image nor the writes of the other, which looks
    // again and again whether it may write more.
    structuredOf(await servers[0].tools.create_sandbox({ name: 'one' }));
    const spawner = spawnerOf(servers[0].session.transport.pid);
    process.kill(spawner, 'SIGSTOP');
    structuredOf(await servers[1].tools.create_sandbox({ name: 'one' }));
    const all = [await fill(servers[1], 'big', 40), await fill(servers[0], 'big', 1)];
    process.kill(spawner, 'SIGCONT');
    // Now both look while both write.
    all.push(...(await Promise.all(servers.map((server) => fill(server, 'more', 10)))));
    for (const { stderr } of all) assert.match(stderr, /No space left on device/);
    const sum = all.reduce((bytes, { stdout }) => bytes + Number(stdout), 0);
    assert.ok(sum > 64 * MIB && sum < 240 * MIB, `${sum}`);
    for (const { session } of servers) await session.close();
    servers = await Promise.all(dirs.map((name) => serve(t, name)));
    for (const { sh } of servers)
      assert.match((await sh('cmp -n $(stat -c %s big) big /dev/zero && rm big more && echo same', 'one')).stdout, /same/);
    for (const { session } of servers) await session.close();
    for (const name of dirs) await noneAttached(name);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('where the disk has no room for all limits, a new sandbox has room at once', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2g,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    const servers = await Promise.all(['a', 'b'].map((name) => serve(t, join(dir, name))));
    for (const name of ['one', 'two']) structuredOf(await servers[0].tools.create_sandbox({ name }));
    // The first server is stopped: it lowers no claim for the sandbox of the other.
    const spawner = spawnerOf(servers[0].session.transport.pid);
    process.kill(spawner, 'SIGSTOP');
    structuredOf(await servers[1].tools.create_sandbox({ name: 'one' }));
    assert.equal((await servers[1].sh('head -c 16M /dev/zero > file; stat -c %s file', 'one')).stdout, `${16 * MIB}\n`);
    process.kill(spawner, 'SIGCONT');
    for (const { session } of servers) await session.close();
    await noneAttached(dir);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('many sandboxes that start at once have room, although their limits are more than the disk has', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4g,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    const servers = await Promise.all(['a', 'b'].map((name) => serve(t, join(dir, name))));
    const names = Array.from({ length: 8 }, (_, i) => `s${i}`);
    await Promise.all(
      servers.flatMap(({ tools, sh }) =>
        names.map(async (name) => {
          structuredOf(await tools.create_sandbox({ name, memory_mb: 64 }));
          assert.equal((await sh('head -c 1M /dev/zero > file; stat -c %s file', name)).stdout, `${MIB}\n`, name);
        }),
      ),
    );
    for (const { session } of servers) await session.close();
    await noneAttached(dir);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('a claim that a killed server left does not count for a file system that the host mounts later', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512m,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    const killed = await serve(t, join(dir, 'a'));
    const { id } = structuredOf(await killed.tools.create_sandbox({ name: 'one' }));
    await killed.sh('sleep 1', 'one');
    const loop = spawnSync('losetup', ['-j', imageOf(join(dir, 'a'), id)], { encoding: 'utf8' }).stdout.split(':')[0];
    process.kill(killed.session.transport.pid, 'SIGKILL');
    await noneAttached(join(dir, 'a'));
    const foreign = join(dir, 'foreign');
    assert.equal(spawnSync('mke2fs', ['-q', '-F', '-t', 'ext4', foreign, '8M']).status, 0);
    // Another test may have taken the device.
    if (spawnSync('losetup', [loop, foreign]).status !== 0) return t.skip(`${loop} is in use`);
    try {
      mkdirSync(join(dir, 'on'));
      assert.equal(spawnSync('mount', [loop, join(dir, 'on')]).status, 0);
      const { session, sh } = await serve(t, join(dir, 'b'));
      const left = async () => Number((await sh('df -B1 --output=avail . | tail -1')).stdout);
      for (let i = 0; (await left()) < 128 * MIB; i++) assert.ok(i < 100, `${await left()}`);
      await session.close();
      await noneAttached(join(dir, 'b'));
    } finally {
      spawnSync('umount', ['-l', join(dir, 'on')]);
      spawnSync('losetup', ['-d', loop]);
    }
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

test('what images on another disk have in memory takes no room', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const [other, dir] = [stateDir(t), stateDir(t)];
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128m,mode=711', 'belljar-e2e', dir]).status, 0);
  try {
    const servers = [await serve(t, other), await serve(t, dir)];
    for (const { tools } of servers) structuredOf(await tools.create_sandbox({ name: 'one' }));
    await servers[0].sh('head -c 300M /dev/zero > big', 'one');
    const written = await servers[1].sh('head -c 40M /dev/zero > file; stat -c %s file', 'one');
    assert.equal(written.stdout, `${40 * MIB}\n`);
    for (const { session } of servers) await session.close();
    await noneAttached(dir);
  } finally {
    spawnSync('umount', ['-l', dir]);
  }
});

// Each round writes to other blocks, because the last block of the round before is kept.
const TURNS = `
import ctypes, mmap, os
fallocate = ctypes.CDLL(None).fallocate
fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
bytes = mmap.mmap(-1, 12 << 20)
bytes[:] = b'x' * len(bytes)
for i in range(40):
    os.mkdir(f'd{i}')
    fd = os.open(f'd{i}/f', os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    assert os.write(fd, bytes) == len(bytes) and fallocate(fd, 3, 0, len(bytes) - 4096) == 0
    os.close(fd)
print('written')`;

test('writing and deleting in turn takes no more of the disk below than the limit', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  const { session, tools } = await serve(t, dir);
  const { id } = structuredOf(await tools.create_sandbox({ name: 'one', disk_mb: 16 }));
  const { stdout } = structuredOf(await tools.run_code({ code: TURNS, sandbox: 'one' }));
  assert.equal(stdout, 'written\n');
  assert.ok(statSync(imageOf(dir, id)).blocks * 512 < 20 * MIB, `${statSync(imageOf(dir, id)).blocks}`);
  await session.close();
  await noneAttached(dir);
});

const SUPERBLOCK = 1024;
const STATE = SUPERBLOCK + 0x3a;
const HAS_ERRORS = 2;

test('a file system with errors is repaired before the next mount', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  let server = await serve(t, dir);
  const { id } = structuredOf(await server.tools.create_sandbox({ name: 'one', disk_mb: 16 }));
  await server.sh('echo kept > file', 'one');
  await server.session.close();
  await noneAttached(dir);
  const image = openSync(imageOf(dir, id), 'r+');
  t.after(() => closeSync(image));
  writeSync(image, Buffer.from([HAS_ERRORS]), 0, 1, STATE);
  server = await serve(t, dir);
  assert.equal((await server.sh('cat file', 'one')).stdout, 'kept\n');
  await server.session.close();
  await noneAttached(dir);
  const state = Buffer.alloc(1);
  readSync(image, state, 0, 1, STATE);
  assert.equal(state[0] & HAS_ERRORS, 0);
});

// RAID systems keep their superblocks in the last sectors of a disk, and udev of the host starts what they tell.
test('no program of a sandbox can write to the end of the loop device', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  const { session, tools } = await serve(t, dir);
  for (const disk_mb of [16, 20000]) {
    const made = await tools.create_sandbox({ name: `n${disk_mb}`, disk_mb });
    // An image of the second size is larger than all others; a disk with less space has no such sandbox.
    if (disk_mb > 16 && /is more than the \d+ that this server allows/.test(textOf(made))) continue;
    const { id } = structuredOf(made);
    const image = openSync(imageOf(dir, id), 'r');
    t.after(() => closeSync(image));
    const blocks = Buffer.alloc(4);
    readSync(image, blocks, 0, 4, SUPERBLOCK + 4);
    assert.equal(statSync(imageOf(dir, id)).size - blocks.readUInt32LE() * 4096, MIB);
  }
  await session.close();
  await noneAttached(dir);
});

test('a sandbox with an image wakes with --no-quota, and new ones have none', async (t) => {
  if (!hasImages(t)) return t.skip('no images here');
  const dir = stateDir(t);
  let server = await serve(t, dir);
  structuredOf(await server.tools.create_sandbox({ name: 'old', disk_mb: 16 }));
  await server.sh('echo kept > file', 'old');
  await server.session.close();
  server = await serve(t, dir, { NO_QUOTA: '1' });
  assert.equal((await server.sh('cat file', 'old')).stdout, 'kept\n');
  const { id } = structuredOf(await server.tools.create_sandbox({ name: 'new', disk_mb: 16 }));
  assert.equal((await server.sh('echo kept > file; cat file', 'new')).stdout, 'kept\n');
  assert.ok(!existsSync(imageOf(dir, id)));
  await server.session.close();
  // The other way round: what was a directory stays one.
  server = await serve(t, dir);
  assert.equal((await server.sh('cat file', 'new')).stdout, 'kept\n');
  assert.match((await server.sh('head -c 20M /dev/zero > large', 'new')).note, /disk: one file may have at most 15\.5 MiB/);
  await server.session.close();
});
