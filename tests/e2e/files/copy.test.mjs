// copy_in, copy_out and `belljar cp`: what is copied, what is left out, and what is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { hostDirs, verbsOf } from '../lib/host.mjs';
import { open, refused, sandboxed, shellOf, sleep, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

// `allowed` and `second` may be used, `other` may not.
const { top, dirs: [allowed, second, other], put, get } = hostDirs('copy', ['allowed', 'second', 'other']);

const tools = sandboxed({ ALLOW_PATH: `${allowed}:${second}` });
const { copy_in, copy_out, run_command } = tools;

const sh = shellOf(run_command);
const tree = (dir) => readdirSync(dir, { recursive: true }).sort();

put({ secret: 'not yours' }, other);

// --- what is copied

test('copy_in copies a file to the target path', async () => {
  put({ 'a.txt': 'hello\n' });
  const result = await copy_in({ source: 'a.txt' });
  const source = join(allowed, 'a.txt');
  assert.deepEqual(structuredOf(result), { source, target: '/workspace/a.txt', entries: 1, bytes: 6, skipped: 0 });
  assert.equal(textOf(result), `copied '${source}' to '/workspace/a.txt': 1 entry, 6 bytes`);
  const target = async (args) => structuredOf(await copy_in({ source: 'a.txt', ...args })).target;
  assert.equal(await target({ path: 'b.txt' }), '/workspace/b.txt');
  assert.equal(await target({ path: 'new/deep/c.txt' }), '/workspace/new/deep/c.txt');
  assert.equal(await target({ path: 'new' }), '/workspace/new/a.txt');
  assert.equal(await target({ path: 'later/' }), '/workspace/later/a.txt');
  assert.equal(await target({ path: '/tmp/' }), '/tmp/a.txt');
  assert.equal(await sh('cat a.txt b.txt new/deep/c.txt new/a.txt later/a.txt /tmp/a.txt | uniq -c | tr -s " "'), ' 6 hello\n');
  assert.equal(await sh('stat -c "%U %a" a.txt'), 'coderunner 644\n');

  await sh('printf results > r.csv; mkdir -p deep/er');
  const out = await copy_out({ path: 'r.csv', target: 'out/of/r.csv' });
  assert.deepEqual(structuredOf(out), {
    source: 'r.csv', target: join(allowed, 'out/of/r.csv'), entries: 1, bytes: 7, skipped: 0,
  });
  assert.equal(textOf(out), `copied 'r.csv' to '${join(allowed, 'out/of/r.csv')}': 1 entry, 7 bytes`);
  const there = async (to) => structuredOf(await copy_out({ path: '/workspace/r.csv', target: to })).target;
  assert.equal(await there('out'), join(allowed, 'out/r.csv'));
  assert.equal(await there('later/'), join(allowed, 'later/r.csv'));
  assert.equal(await there(join(second, 'x')), join(second, 'x'));
  assert.equal(await there(second), join(second, 'r.csv'));
  for (const path of ['out/of/r.csv', 'out/r.csv', 'later/r.csv', '../second/x', '../second/r.csv']) assert.equal(get(path), 'results');
  const { uid, gid, mode } = statSync(join(allowed, 'out/r.csv'));
  assert.deepEqual([uid, gid, mode & 0o777], [process.getuid(), process.getgid(), 0o644]);
});

test('~ in a path of the host is refused', async () => {
  const says = new RegExp(`'~/a\\.txt' begins with ~, which only shells expand: use the absolute path, or \\./~ for a file of this name below ${allowed}$`);
  refused(await copy_in({ source: '~/a.txt' }), says);
  await sh('touch a.txt');
  refused(await copy_out({ path: 'a.txt', target: '~/a.txt' }), says);
  assert.ok(!existsSync(join(allowed, '~')));
});

test('a directory is copied with permissions, links, hidden names and empty directories', async () => {
  put({ 'dir/run.sh': '#!/bin/sh\necho ran\n', 'dir/sub/plain': 'x', 'dir/.hidden': 'h', 'dir/none': '' });
  chmodSync(join(allowed, 'dir/run.sh'), 0o755);
  mkdirSync(join(allowed, 'dir/empty'));
  symlinkSync('sub/plain', join(allowed, 'dir/link'));
  const result = structuredOf(await copy_in({ source: 'dir' }));
  assert.deepEqual([result.target, result.entries, result.bytes, result.skipped], ['/workspace/dir', 7, 21, 0]);
  assert.equal(await sh('cd dir; ./run.sh; cat link; readlink link; ls -A empty | wc -l; stat -c %a sub/plain; ls -A'),
    'ran\nxsub/plain\n0\n644\n.hidden\nempty\nlink\nnone\nrun.sh\nsub\n');
  const back = structuredOf(await copy_out({ path: 'dir', target: 'back' }));
  assert.deepEqual([back.target, back.entries, back.bytes, back.skipped], [join(allowed, 'back'), 7, 21, 0]);
  assert.deepEqual(tree(join(allowed, 'back')), tree(join(allowed, 'dir')));
  assert.equal(statSync(join(allowed, 'back/run.sh')).mode & 0o777, 0o644);
  assert.equal(statSync(join(allowed, 'back/sub/plain')).mode & 0o777, 0o644);
  assert.equal(readlinkSync(join(allowed, 'back/link')), 'sub/plain');
  mkdirSync(join(allowed, 'nothing'));
  assert.equal(structuredOf(await copy_in({ source: 'nothing' })).bytes, 0);
  assert.equal(await sh('stat -c %F nothing; ls -A nothing | wc -l'), 'directory\n0\n');
  await copy_out({ path: 'nothing', target: 'nothing2' });
  assert.deepEqual(readdirSync(join(allowed, 'nothing2')), []);
});

test('set-id bits are dropped, and only directories stay executable on the host', async () => {
  put({ tool: '#!/bin/sh\necho tool\n' });
  chmodSync(join(allowed, 'tool'), 0o700);
  await copy_in({ source: 'tool' });
  assert.equal(await sh('./tool; stat -c %a tool; chmod 6755 tool; mkdir -p setid; cp tool setid/t; chmod 6755 setid/t setid'), 'tool\n700\n');
  await copy_out({ path: 'tool', target: 'tool2' });
  await copy_out({ path: 'setid', target: 'setid' });
  for (const name of ['tool2', 'setid/t', 'setid']) {
    const { mode } = statSync(join(allowed, name));
    assert.equal(mode & 0o111, name === 'setid' ? 0o111 : 0, name);
    assert.equal(mode & 0o6000, 0, `${name} must not be set-id`);
  }
});

test('a directory is copied into another one if the target ends in a slash', async () => {
  put({ 'into/f': '1' });
  assert.equal(structuredOf(await copy_in({ source: 'into', path: 'w' })).target, '/workspace/w');
  assert.equal(structuredOf(await copy_in({ source: 'into', path: 'w/' })).target, '/workspace/w/into');
  assert.equal(await sh('cd w; find . -type f | sort'), './f\n./into/f\n');
  await copy_out({ path: 'w/into', target: 'o' });
  assert.equal(structuredOf(await copy_out({ path: 'w/into/', target: 'o/' })).target, join(allowed, 'o/into'));
  assert.deepEqual(tree(join(allowed, 'o')), ['f', 'into', 'into/f']);
});

test('an allowed directory is copied as a whole into the workspace', async (t) => {
  const dir = join(top, 'whole');
  put({ 'x/y': 'z' }, dir);
  const own = await open(t, { ALLOW_PATH: dir });
  t.after(() => own.close());
  const mine = toolsOf(async () => own);
  for (const source of ['.', dir, `${dir}/`, `${dir}/.//`])
    assert.equal(structuredOf(await mine.copy_in({ source })).target, '/workspace/whole');
  assert.equal(structuredOf(await mine.copy_in({ source: '.', path: '.' })).entries, 2);
  assert.equal(textOf(await mine.run_command({ command: 'cat whole/x/y x/y' })), 'zz');
  refused(await mine.copy_out({ path: '.', target: '.' }), /exists already: set overwrite to true to put the new files over those in it$/);
  structuredOf(await mine.copy_out({ path: '/workspace', target: '.', overwrite: true }));
  assert.deepEqual(tree(dir), ['whole', 'whole/x', 'whole/x/y', 'x', 'x/y']);
});

// --- .gitignore

test('.gitignore is honoured when asked for: nested, negated, anchored', async () => {
  put({
    'git/.gitignore': '# comment\n*.o\n/build/\n*.log\n!keep.log\nnode_modules/\n',
    'git/.git/config': 'x', 'git/main.c': 'm', 'git/main.o': 'o', 'git/build/out': 'o', 'git/a.log': 'l', 'git/keep.log': 'k',
    'git/sub/build/in': 'i', 'git/sub/.gitignore': '!b.log\n/only\n*.tmp\n', 'git/sub/b.log': 'b', 'git/sub/c.log': 'c',
    'git/sub/only': 'o', 'git/sub/deep/only': 'o', 'git/sub/deep/x.tmp': 't', 'git/x.tmp': 't',
    'git/node_modules/m/index.js': 'js', 'git/node_modules/.gitignore': '!*\n',
  });
  const result = await copy_in({ source: 'git', gitignore: true });
  assert.equal(await sh('cd git; find . -type f | LC_ALL=C sort'),
    './.gitignore\n./keep.log\n./main.c\n./sub/.gitignore\n./sub/b.log\n./sub/build/in\n./sub/deep/only\n./x.tmp\n');
  assert.ok(structuredOf(result).ignored >= 8, JSON.stringify(structuredOf(result)));
  assert.match(textOf(result), /; \d+ left out by \.gitignore$/);
  const all = structuredOf(await copy_in({ source: 'git', path: 'git-all' }));
  assert.equal(all.ignored, undefined);
  assert.equal(await sh('cat git-all/.git/config git-all/main.o'), 'xo');
  assert.equal(structuredOf(await copy_in({ source: 'git/main.o', gitignore: true })).entries, 1);
});

// --- existing files

test('existing files are replaced, kept or refused', async () => {
  put({ 'ow/f': 'new', 'ow/g': 'new' });
  await sh('mkdir -p ow; echo old > ow/f; echo mine > ow/h; chmod 600 ow/f');
  refused(await copy_in({ source: 'ow', overwrite: false }),
    /^path: in the sandbox: \/workspace\/ow: exists already: set overwrite to true to put the new files over those in it$/);
  refused(await copy_in({ source: 'ow/f', path: 'ow/f', overwrite: false }),
    /^path: in the sandbox: ow\/f: exists already: set overwrite to true to replace it$/);
  assert.equal(await sh('cat ow/*'), 'old\nmine\n');
  await copy_in({ source: 'ow' });
  assert.equal(await sh('cat ow/*'), 'newnewmine\n');
  refused(await copy_out({ path: 'ow', target: 'ow' }), /of the host: ow: exists already: set overwrite to true to put the new files over those in it$/);
  refused(await copy_out({ path: 'ow/h', target: 'ow/f' }), /of the host: ow\/f: exists already: set overwrite to true to replace it$/);
  put({ 'ow/own': 'stays' });
  await copy_out({ path: 'ow', target: 'ow', overwrite: true });
  assert.deepEqual(tree(join(allowed, 'ow')), ['f', 'g', 'h', 'own']);
  assert.equal(get('ow/own') + get('ow/h'), 'staysmine\n');
});

test('a file does not replace a directory, nor a directory a file', async () => {
  put({ 'fd/x': 'file', 'dd/x/y': 'below' });
  await copy_in({ source: 'fd' });
  refused(await copy_in({ source: 'dd/x', path: 'fd/x' }),
    /^path: in the sandbox: fd\/x: is not a directory, but the source is one: remove it, or name another target$/);
  await sh('mkdir -p dx/x; echo f > x');
  refused(await copy_out({ path: 'dx', target: 'fd/x', overwrite: true }), /of the host: fd\/x: is not a directory, but the source is one/);
  refused(await copy_in({ source: 'fd/x', path: 'dx' }), /^path: in the sandbox: dx\/x: is a directory, but the source is a file/);
  refused(await copy_out({ path: 'x', target: 'dd', overwrite: true }), /of the host: dd\/x: is a directory, but the source is a file/);
  assert.equal(get('fd/x') + get('dd/x/y'), 'filebelow');
});

// --- what is refused

test('paths outside the allowed directories are refused', async () => {
  const outside = /is not below an allowed directory of the host \(\/.*allowed, \/.*second\): belljar's option --allow-path allows more$/;
  for (const path of ['/etc/passwd', join(other, 'secret'), top, '/', `${allowed}x`, allowed.toUpperCase(), '/proc/self/environ']) {
    const text = textOf(await copy_in({ source: path }));
    assert.match(text, outside);
    assert.ok(text.startsWith(`source: '${path}'`), text);
    refused(await copy_out({ path: '/etc/passwd', target: path, overwrite: true }), /^target: /);
  }
  for (const path of ['../other/secret', `${allowed}/../other/secret`, '..', 'x/../../other/secret', `${allowed}/..`]) {
    refused(await copy_in({ source: path }), /^source: '.*': '\.\.' cannot be used in paths of the host$/);
    refused(await copy_out({ path: '/etc/passwd', target: path, overwrite: true }), /^target: '.*': '\.\.' cannot be used in paths of the host$/);
  }
  assert.deepEqual(readdirSync(other), ['secret']);
  assert.equal(readFileSync(join(other, 'secret'), 'utf8'), 'not yours');
});

test('links of the host that lead out are not followed, in', async () => {
  put({ 'l/own': 'mine' });
  symlinkSync(join(other, 'secret'), join(allowed, 'l/absolute'));
  symlinkSync('../../other/secret', join(allowed, 'l/relative'));
  symlinkSync('../../other', join(allowed, 'l/dir'));
  symlinkSync('own', join(allowed, 'l/fine'));
  symlinkSync(join(allowed, 'l/own'), join(allowed, 'l/inside-but-absolute'));
  const result = await copy_in({ source: 'l' });
  const moved = structuredOf(result);
  assert.match(textOf(result), /skipped \(links that lead out of the directory, devices, sockets, unreadable files\), the first is '/);
  assert.equal(moved.skipped, 4, JSON.stringify(moved));
  assert.equal(await sh('cd l; cat fine; ls -A'), 'minefine\nown\n');
  for (const source of ['l/absolute', 'l/relative', 'l/dir', 'l/dir/secret', join(allowed, 'l/dir/secret')])
    refused(await copy_in({ source, path: 'leak' }), /^source: in '.*allowed' of the host: l\/.*: (No such file or directory|is a link that leads out of the allowed directories, or to nothing)$/);
  await sh('! test -e leak');
});

test('links of the host that lead out are not followed, out', async () => {
  await sh('mkdir -p evil; echo evil > evil/secret; echo evil > secret');
  mkdirSync(join(allowed, 'lo'));
  symlinkSync(join(other, 'secret'), join(allowed, 'lo/secret'));
  symlinkSync(other, join(allowed, 'lo/dir'));
  symlinkSync('../../other', join(allowed, 'lo/rel'));
  symlinkSync(join(other, 'made'), join(allowed, 'lo/dangling'));
  const intact = () => {
    assert.deepEqual(readdirSync(other), ['secret']);
    assert.equal(readFileSync(join(other, 'secret'), 'utf8'), 'not yours');
  };
  for (const target of ['lo/secret', 'lo/dir/secret', 'lo/rel/secret', 'lo/dir/', 'lo/dangling', 'lo/dir/new'])
    for (const overwrite of [false, true]) {
      refused(await copy_out({ path: 'secret', target, overwrite }), /of the host: lo\/.*: (No such file or directory|File exists)$/);
      intact();
    }
  for (const target of ['lo/dir', 'lo/rel', 'lo/dir/'])
    for (const overwrite of [false, true]) {
      refused(await copy_out({ path: 'evil', target, overwrite }), /of the host: lo\//);
      intact();
    }
  await sh('mkdir -p evil2/dir evil2/rel; echo evil > evil2/dir/secret; echo evil > evil2/rel/new');
  structuredOf(await copy_out({ path: 'evil', target: 'lo', overwrite: true }));
  structuredOf(await copy_out({ path: 'evil2', target: 'lo', overwrite: true }));
  intact();
  assert.deepEqual(['lo/secret', 'lo/dir/secret', 'lo/rel/new'].map(get), ['evil\n', 'evil\n', 'evil\n']);
});

test('a link of the host that leads out of the allowed directory leads nowhere', async () => {
  await sh('echo astray > astray');
  mkdirSync(join(allowed, 'astray'));
  symlinkSync('../../astray-file', join(allowed, 'astray/link'));
  refused(await copy_out({ path: 'astray', target: 'astray/link', overwrite: true }), /of the host: astray\/link: /);
  assert.equal(existsSync(join(allowed, 'astray-file')), false);
  symlinkSync('../beside', join(allowed, 'astray/near'));
  structuredOf(await copy_out({ path: 'astray', target: 'astray/near', overwrite: true }));
  assert.equal(get('beside'), 'astray\n', 'a link that stays inside is followed');
});

test('links of the sandbox are not followed on the host', async () => {
  await sh(`mkdir -p s; ln -s /etc/passwd s/absolute; ln -s ../../../../../../../../etc/passwd s/relative;
    ln -s ${other} s/host; ln -s ../.. s/up; echo own > s/own; ln -s own s/fine; ln -s /etc s/etc`);
  const moved = structuredOf(await copy_out({ path: 's', target: 's' }));
  assert.equal(moved.skipped, 5, JSON.stringify(moved));
  assert.deepEqual(readdirSync(join(allowed, 's')), ['fine', 'own']);
  assert.equal(readlinkSync(join(allowed, 's/fine')), 'own');
  assert.equal(get('s/fine'), 'own\n');
  // A link that is copied by itself is followed, inside the sandbox.
  await sh('echo inner > /tmp/inner; ln -s /tmp/inner one');
  await copy_out({ path: 'one', target: 'one' });
  assert.equal(get('one'), 'inner\n');
  assert.equal(lstatSync(join(allowed, 'one')).isFile(), true);
  await copy_out({ path: '/etc/passwd', target: 'passwd' });
  assert.match(get('passwd'), /coderunner/);
});

test('a link in the sandbox where the copy goes is not followed out of it', async () => {
  put({ 'in/secret': 'from the host' });
  await sh(`mkdir -p t; ln -s ${other} t/host; ln -s /usr/lib t/lib`);
  await copy_in({ source: 'in/secret', path: 't/host/secret' });
  assert.equal(readFileSync(join(other, 'secret'), 'utf8'), 'not yours');
  refused(await copy_in({ source: 'in', path: 't/lib/x' }), /^path: in the sandbox: /);
  refused(await copy_in({ source: 'in', path: '/usr/lib/x' }), /^path: in the sandbox: /);
});

test('pipes, sockets and devices are left out, and are no source', async () => {
  mkdirSync(join(allowed, 'odd'));
  put({ 'odd/plain': 'p' });
  assert.equal(spawnSync('mkfifo', [join(allowed, 'odd/fifo')]).status, 0);
  const moved = structuredOf(await copy_in({ source: 'odd' }));
  assert.deepEqual([moved.skipped, moved.first_skipped, moved.bytes], [1, 'fifo', 1]);
  refused(await copy_in({ source: 'odd/fifo' }), /of the host: odd\/fifo: is neither a file nor a directory$/);
  await sh('mkfifo pipe');
  refused(await copy_out({ path: 'pipe', target: 'pipe' }), /^path: in the sandbox: pipe: is neither a file nor a directory$/);
  refused(await copy_out({ path: '/dev/null', target: 'null' }), /^path: in the sandbox: \/dev\/null: is neither a file nor a directory$/);
});

// --- names and numbers

test('names with line ends, other scripts, invalid UTF-8 and great length are copied', async () => {
  const names = ['new\nline', 'grün 日本', '-rf', '\x1b[31mred', '$(id)', 'n'.repeat(255), '"quoted\'', ' '];
  for (const name of names) put({ [`names/${name}`]: name });
  writeFileSync(Buffer.concat([Buffer.from(join(allowed, 'names/bad-')), Buffer.from([0xff])]), 'bytes');
  const moved = structuredOf(await copy_in({ source: 'names' }));
  assert.equal(moved.entries, names.length + 1);
  assert.equal(moved.skipped, 0);
  assert.equal(await sh('cat names/bad-*; find names -type f -printf x'), `bytes${'x'.repeat(names.length + 1)}`);
  await copy_out({ path: 'names', target: 'names2' });
  assert.deepEqual(readdirSync(join(allowed, 'names2'), { encoding: 'latin1' }).sort(), readdirSync(join(allowed, 'names'), { encoding: 'latin1' }).sort());
  const one = await copy_in({ source: 'names/new\nline' });
  assert.equal(structuredOf(one).target, '/workspace/new\nline');
  assert.match(textOf(one), /^copied '.*\/names\/new\\nline' to '\/workspace\/new\\nline': 1 entry, 8 bytes$/);
  await copy_out({ path: 'new\nline', target: 'again\nline' });
  assert.equal(get('again\nline'), 'new\nline');
  const deep = Array(60).fill('directory-with-a-long-name').join('/');
  put({ [`deep/${deep}/end`]: 'end' });
  await copy_in({ source: 'deep' });
  assert.equal(await sh(`cat deep/${deep}/end`), 'end');
});

test('10,000 files are copied in and out', async () => {
  mkdirSync(join(allowed, 'many'));
  for (let i = 0; i < 10000; i++) {
    if (i % 100 === 0) mkdirSync(join(allowed, `many/${i / 100}`));
    writeFileSync(join(allowed, `many/${Math.floor(i / 100)}/f${i}`), `${i}\n`);
  }
  const { entries, bytes, skipped } = structuredOf(await copy_in({ source: 'many' }));
  assert.deepEqual([entries, bytes, skipped], [10100, 48890, 0]);
  assert.equal(await sh('find many -type f | wc -l; cat many/99/f9999'), '10000\n9999\n');
  const back = structuredOf(await copy_out({ path: 'many', target: 'many2' }));
  assert.deepEqual([back.entries, back.bytes], [10100, 48890]);
  assert.equal(get('many2/42/f4242'), '4242\n');
  assert.equal(tree(join(allowed, 'many2')).length, 10100);
});

test('a large file is copied byte for byte', async () => {
  const bytes = Buffer.alloc(20_000_003, 'belljar\0\xff');
  put({ large: bytes });
  assert.equal(structuredOf(await copy_in({ source: 'large' })).bytes, bytes.length);
  await copy_out({ path: 'large', target: 'large2' });
  assert.ok(readFileSync(join(allowed, 'large2')).equals(bytes));
});

test('.gitignore rules that would take long are refused', async () => {
  const rules = `${'**/'.repeat(20)}*a*a*a*a*a*b*\n`.repeat(1000);
  put({ 'costly/.gitignore': rules });
  for (let i = 0; i < 513; i++) put({ [`costly/d/${'a'.repeat(200)}${i}`]: '' });
  refused(await copy_in({ source: 'costly', gitignore: true }),
    /^the \.gitignore rules are too costly: copy without gitignore, or a smaller directory/);
});

test('a copy over --copy-size is refused and leaves no partial file', async (t) => {
  const dir = join(top, 'sized');
  put({ 'd/a': '', 'd/b': '', just: '' }, dir);
  truncateSync(join(dir, 'd/a'), 700_000);
  truncateSync(join(dir, 'd/b'), 700_000);
  truncateSync(join(dir, 'just'), 1_000_000);
  writeFileSync(join(dir, 'big'), Buffer.alloc(1_048_577));
  const own = await open(t, { ALLOW_PATH: dir, COPY_SIZE: '1M' });
  t.after(() => own.close());
  const mine = toolsOf(async () => own);
  const file = /^the file has more than the 1048576 bytes that may be copied/;
  const directory = /: entry 2 \('[ab]'\): its 700000 bytes are too many: all files together may have 1048576 \(a copy has at most 1048576 bytes, which belljar's option --copy-size sets, and 200000 entries\); what was written before, of 2 entries and \d+ bytes, stays in '.*'/;
  refused(await mine.copy_in({ source: 'big' }), file);
  refused(await mine.copy_in({ source: 'd' }), directory);
  assert.equal(structuredOf(await mine.copy_in({ source: 'just' })).bytes, 1_000_000);
  assert.equal(structuredOf(await mine.run_command({ command: 'test -e big' })).exit_code, 1);
  structuredOf(await mine.run_command({ command: 'head -c 1048577 /dev/zero > large; mkdir e; head -c 700000 /dev/zero > e/a; cp e/a e/b' }));
  refused(await mine.copy_out({ path: 'large', target: 'large' }), file);
  refused(await mine.copy_out({ path: 'e', target: 'e' }), directory);
  refused(await mine.copy_out({ path: 'e', target: 'e2' }), /: set overwrite to true for another try$/);
  assert.equal(existsSync(join(dir, 'large')), false);
});

test('a copy over the disk limit fails', async () => {
  const { id } = structuredOf(await tools.create_sandbox({ disk_mb: 4 }));
  put({ fill: Buffer.alloc(8 * 1024 * 1024, 'x') });
  refused(await copy_in({ source: 'fill', sandbox: id }),
    /^path: in the sandbox: \/workspace\/fill: write: (File too large: disk: one file may have at most 3\.9 MiB, and all files together 4 MiB|.*: disk: no room is left)/);
  assert.equal(structuredOf(await run_command({ command: 'test -e fill', sandbox: id })).exit_code, 1);
  structuredOf(await tools.delete_sandbox({ sandbox: id }));
});

test('a cancelled copy leaves no partial file, and the sandbox goes on', async (t) => {
  // A session of its own, because the client complains of progress that arrives after it cancelled.
  const own = await open(t, { ALLOW_PATH: allowed });
  const { copy_out, run_command } = toolsOf(async () => own);
  const sh = async (command) => textOf(await run_command({ command }));
  await sh('truncate -s 900M cancel');
  const abort = new AbortController();
  const seen = [];
  const copying = copy_out({ path: 'cancel', target: 'cancel' }, {
    signal: abort.signal,
    onprogress: (note) => {
      seen.push(note);
      abort.abort(new Error('enough'));
    },
  });
  await assert.rejects(copying, /enough/);
  assert.match(seen[0].message, /^\d+\.\d MiB copied$/);
  for (let i = 0; readdirSync(allowed).some((name) => /cancel/.test(name)); i++) {
    assert.ok(i < 100, readdirSync(allowed).filter((name) => /cancel/.test(name)).join());
    await sleep(50);
  }
  assert.equal(await sh('rm cancel; echo > left; echo still here'), 'still here\n');
  structuredOf(await copy_out({ path: 'left', target: 'after-cancel' }));
});

// --- failures

test('a copy that fails says why', async () => {
  refused(await copy_in({ source: 'nonesuch' }), /^source: in '.*allowed' of the host: nonesuch: No such file or directory$/);
  refused(await copy_in({ source: 'a.txt/x' }), /^source: in '.*allowed' of the host: a\.txt\/x: Not a directory$/);
  refused(await copy_out({ path: 'nonesuch', target: 'x' }), /^path: in the sandbox: nonesuch: No such file or directory$/);
  refused(await copy_in({ source: 'a.txt', sandbox: 'nonesuch' }), /there is no sandbox 'nonesuch'; list_sandboxes/);
  refused(await copy_out({ path: 'a.txt', target: 'x', sandbox: 'nonesuch' }), /there is no sandbox 'nonesuch'; list_sandboxes/);
  refused(await copy_in({}), /^argument 'source' is missing/);
  refused(await copy_out({ path: 'a.txt' }), /^argument 'target' is missing/);
  refused(await copy_out({ target: 'a.txt' }), /^argument 'path' is missing/);
  refused(await copy_in({ source: '' }), /^argument 'source': expected a string of 1 to 4095 bytes/);
  refused(await copy_in({ source: 7 }), /^argument 'source': expected a string of 1 to 4095 bytes, got the number 7$/);
  refused(await copy_in({ source: 'a\0b' }), /^argument 'source'/);
  refused(await copy_in({ source: 'x'.repeat(4096) }), /^argument 'source'/);
  refused(await copy_in({ source: 'a.txt', path: '' }), /^argument 'path'/);
  refused(await copy_in({ source: 'a.txt', gitignore: 'yes' }), /^argument 'gitignore'/);
  refused(await copy_out({ path: 'a.txt', target: 'x', gitignore: true }), /^argument 'gitignore' is not known/);
});

// --- belljar cp

describe('cp', () => {
  const dir = join(top, 'cp');
  mkdirSync(dir);
  const state = join(top, 'cp-state');
  const run = verbsOf({ state, cwd: dir });
  const verb = (name, ...args) => run(name, args);
  const done = (result, said) => {
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, said);
  };
  const inside = (command) => verb('exec', '--sandbox', 'work', 'sh', '-c', command).stdout;
  after(() => verb('rm', 'work'));

  test('cp creates the sandbox it copies into', () => {
    put({ 'project/a.txt': 'a', 'project/bin/run': '#!/bin/sh\necho ran\n', one: '1' }, dir);
    chmodSync(join(dir, 'project/bin/run'), 0o755);
    done(verb('cp', 'project', 'work:'), /^belljar: 3 entries, 20 bytes, to work:\/workspace\/project\n$/);
    done(verb('cp', 'one', 'work:'), /^belljar: 1 entry, 1 bytes, to work:\/workspace\/one\n$/);
    done(verb('cp', './one', 'work:/tmp/other'), /to work:\/tmp\/other\n$/);
    done(verb('cp', join(dir, 'one'), 'work:new/'), /to work:new\/one\n$/);
    assert.equal(inside('project/bin/run; cat one new/one'), 'ran\n11');
    done(verb('cp', 'one', 'work:~/one'), /to work:\/home\/coderunner\/one\n$/);
    assert.equal(inside('cat ~/one'), '1');
  });

  test('cp copies out of a sandbox', () => {
    inside('mkdir -p results/sub; echo r > results/sub/r; echo top > top.txt');
    done(verb('cp', 'work:results', '.'), /^belljar: 2 entries, 2 bytes, to .*\/cp\/results\n$/);
    assert.equal(readFileSync(join(dir, 'results/sub/r'), 'utf8'), 'r\n');
    done(verb('cp', 'work:top.txt', 'renamed'), /to .*\/cp\/renamed\n$/);
    done(verb('cp', 'work:top.txt', '.'), /to .*\/cp\/top\.txt\n$/);
    done(verb('cp', 'work:/workspace/top.txt', '../cp/again'), /to .*\/cp\/again\n$/);
    assert.equal(readFileSync(join(dir, 'renamed'), 'utf8') + readFileSync(join(dir, 'again'), 'utf8'), 'top\ntop\n');
    inside('echo newer > top.txt');
    done(verb('cp', 'work:top.txt', '.'), /top\.txt\n$/);
    assert.equal(readFileSync(join(dir, 'top.txt'), 'utf8'), 'newer\n');
    mkdirSync(join(dir, 'o2'));
    done(verb('cp', 'work:results//', 'o2'), /to .*\/cp\/o2\/results\n$/);
    assert.equal(readFileSync(join(dir, 'o2/results/sub/r'), 'utf8'), 'r\n');
  });

  test('files that are copied out are not writable by others', () => {
    inside('mkdir -p open; touch open/f; chmod 777 open/f; chmod 777 open; touch alone; chmod 666 alone');
    done(verb('cp', 'work:open', '.'), /open\nbelljar: 1 file that is executable in the sandbox is not executable on the host, .*\n$/);
    done(verb('cp', 'work:alone', '.'), /alone\n$/);
    assert.equal((statSync(join(dir, 'open')).mode & 0o7777).toString(8), '755');
    assert.equal((statSync(join(dir, 'open/f')).mode & 0o7777).toString(8), '644');
    assert.equal((statSync(join(dir, 'alone')).mode & 0o7777).toString(8), '644');
  });

  test('cp refuses the state directory', () => {
    inside('mkdir -p cp-state; echo x > cp-state/x; echo x > x');
    for (const args of [[state, 'work:'], [top, 'work:'], ['work:x', state], ['work:x', `${state}/new`], ['work:x', join(state, 'sandboxes')],
      ['work:cp-state', top], ['work:.', top]]) {
      const result = verb('cp', ...args);
      assert.equal(result.status, 1, args.join(' '));
      assert.match(result.stderr, /^belljar: '.*' is, or contains, belljar's state directory, which sandboxes must not reach\n/);
    }
    done(verb('cp', 'work:x', top), /x\n$/);
  });

  test('cp does not follow links of the sandbox on the host', () => {
    inside(`mkdir -p links; ln -s ${other}/secret links/a; ln -s ../../../../etc/passwd links/b; echo own > links/c`);
    const result = verb('cp', 'work:links', '.');
    done(result, /^belljar: 2 skipped \(links that lead out of the directory, devices, sockets, unreadable files\), the first is '/m);
    assert.deepEqual(readdirSync(join(dir, 'links')), ['c']);
  });

  test('cp says why a copy is not possible', () => {
    const failed = (status, said, ...args) => {
      const result = verb('cp', ...args);
      assert.equal(result.status, status, result.stderr);
      assert.match(result.stderr, said);
    };
    failed(1, /^belljar: 'none': No such file or directory\n/, 'none', 'work:');
    failed(1, /^belljar: in the sandbox: none: No such file or directory\n/, 'work:none', '.');
    failed(1, /there is no sandbox 'nobody'/, 'nobody:x', '.');
    failed(2, /exactly one of the two paths must be in a sandbox, SANDBOX:PATH/, 'one', 'two');
    failed(2, /one of the two paths must be in a sandbox/, 'work:a', 'work:b');
    failed(2, /cp takes two paths, SOURCE and TARGET/, 'one');
    failed(1, /No such file or directory/, 'work:top.txt', 'no/such/place');
  });
});
