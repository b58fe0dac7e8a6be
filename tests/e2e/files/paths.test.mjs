// move_path, directories, and what list_directory tells about entries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, sandboxed, structuredOf, textOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { create_sandbox, list_directory, move_path, read_file, run_command, write_file } = tools;
const sh = async (command, sandbox) => structuredOf(await run_command({ command, sandbox })).stdout;

test('move_path renames files and directories, as mv does', async () => {
  await write_file({ path: 'm/a.txt', content: 'one' });
  const moved = await move_path({ path: 'm/a.txt', target: 'm/b.txt' });
  assert.equal(structuredOf(moved).target, 'm/b.txt');
  assert.match(textOf(moved), /^moved 'm\/a.txt' to 'm\/b.txt'/);
  assert.equal(await sh('ls m; cat m/b.txt'), 'b.txt\none');
  assert.equal(structuredOf(await move_path({ path: 'm/b.txt', target: 'new/deep/c.txt' })).target, 'new/deep/c.txt');
  await sh('mkdir -p m/into');
  assert.equal(structuredOf(await move_path({ path: 'new/deep/c.txt', target: 'm/into' })).target, 'm/into/c.txt');
  assert.equal(structuredOf(await move_path({ path: 'm/into/', target: 'fresh/' })).target, 'fresh/into');
  assert.equal(await sh('cat fresh/into/c.txt; ls m | wc -l'), 'one0\n');
});

test('move_path moves between file systems', async () => {
  await sh('mkdir -p /tmp/other/sub && echo far > /tmp/other/sub/f && rm -rf near');
  await move_path({ path: '/tmp/other', target: 'near' });
  assert.equal(await sh('cat near/sub/f; ls -d /tmp/other 2>&1 | grep -c "No such"'), 'far\n1\n');
});

test('move_path refuses what would lose files', async () => {
  await write_file({ path: 'r/a', content: 'a' });
  await write_file({ path: 'r/b', content: 'b' });
  refused(await move_path({ path: 'r/a', target: 'r/b' }), /'r\/b' exists already: set overwrite to true/);
  refused(await move_path({ path: 'r/none', target: 'r/c' }), /r\/none/);
  refused(await move_path({ path: 'r', target: 'r/x/y' }), /into itself/);
  refused(await move_path({ path: 'r', target: 'r/x/y', copy: true }), /into itself/);
  refused(await move_path({ path: '/workspace', target: '/tmp/w' }), /workspace itself cannot be moved/);
  assert.equal(await sh('cat r/a r/b'), 'ab');
  await move_path({ path: 'r/a', target: 'r/b', overwrite: true });
  assert.equal(await sh('ls r; cat r/b'), 'b\na');
});

test('move_path copies inside a sandbox and into another', async () => {
  await sh('mkdir -p c/d && echo 1 > c/d/x && chmod 750 c/d/x && ln -s x c/d/link');
  const copied = structuredOf(await move_path({ path: 'c', target: 'c2', copy: true }));
  assert.equal(copied.target, 'c2');
  assert.ok(copied.entries >= 3 && copied.bytes === 2, JSON.stringify(copied));
  assert.equal(await sh('cat c/d/x c2/d/link; stat -c %a c2/d/x'), '1\n1\n750\n');
  await create_sandbox({ name: 'other' });
  const there = structuredOf(await move_path({ path: 'c', target: '/workspace/', to_sandbox: 'other' }));
  assert.equal(there.target, '/workspace/c');
  await move_path({ path: 'c/d/x', target: 'plain.txt', to_sandbox: 'other' });
  assert.equal(await sh('cat c/d/x plain.txt', 'other'), '1\n1\n');
  assert.equal(await sh('cat c/d/x'), '1\n');
  refused(await move_path({ path: 'c', target: 'x', to_sandbox: 'none-such' }), /there is no sandbox 'none-such'/);
});

test('move_path says what it may not move, and what a copy has left out', async () => {
  await sh('mkdir -p k/ro && echo 1 > k/x && mkfifo k/pipe && chmod 555 k/ro');
  refused(await move_path({ path: 'k/x', target: 'k/ro/x' }),
    /^the sandbox's user may not move 'k\/x' to 'k\/ro\/x': files below \/workspace and \/tmp may be moved, and copy: true leaves/);
  await sh('chmod 755 k/ro');
  const copied = await move_path({ path: 'k', target: 'k2', copy: true });
  assert.match(copied.content[1].text, /\[1 skipped \(links .*devices, sockets.*\), the first is 'pipe'\]/);
  assert.deepEqual([structuredOf(copied).skipped, structuredOf(copied).first_skipped], [1, 'pipe']);
});

test('write_file makes a directory of a path that ends in a slash', async () => {
  assert.equal(structuredOf(await write_file({ path: 'made/by/hand/' })).created, true);
  assert.equal(structuredOf(await write_file({ path: 'made/by/hand/', content: '' })).created, false);
  assert.equal(await sh('stat -c %F made/by/hand'), 'directory\n');
  refused(await write_file({ path: 'made/x/', content: 'text' }), /ends in a slash/);
  refused(await write_file({ path: 'made/file' }), /argument 'content' is missing/);
});

test('list_directory lists a single file, and tells owners and exact times', async () => {
  await sh('mkdir -p s && echo 12345 > s/f && touch -d "2020-02-03 04:05:06.789" s/f && chmod 640 s/f');
  const one = structuredOf(await list_directory({ path: 's/f', detail: true })).entries;
  assert.equal(one.length, 1);
  const { size, mode, modified, uid, gid } = one[0];
  assert.deepEqual([size, mode, modified, uid, gid], [6, '-rw-r-----', '2020-02-03 04:05:06.789', 1000, 1000]);
  const plain = await list_directory({ path: 's' });
  assert.equal(structuredOf(plain).entries[0].uid, undefined);
  assert.equal(structuredOf(plain).entries[0].modified, '2020-02-03 04:05');
  assert.match(textOf(await list_directory({ path: 's', detail: true })), /^-rw-r----- 1000:1000 +6 2020-02-03 04:05:06\.789 f/);
  assert.match(textOf(await list_directory({ path: 's', detail: true, depth: 2 })), /^[└├]── f  -rw-r----- 1000:1000  6  2020-02-03 04:05:06\.789$/m);
});
