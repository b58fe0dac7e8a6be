// Copies to the host never place what a program there executes or trusts by itself, unless a person allows it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { hostDirs, verbsOf } from '../lib/host.mjs';
import { open, refused, sandboxed, shellOf, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const { top, dirs: [allowed], put, get } = hostDirs('trusted', ['allowed']);

const { copy_in, copy_out, run_command } = sandboxed({ ALLOW_PATH: allowed });

const sh = shellOf(run_command);
const has = (name) => existsSync(join(allowed, name));
const mode = (path) => (statSync(path).mode & 0o777).toString(8);

const hasGit = spawnSync('git', ['--version']).status === 0;
// Settings of the user who runs the tests, and of repositories above, do not matter.
const git = (dir, ...args) => {
  const env = { ...process.env, HOME: top, GIT_CONFIG_NOSYSTEM: '1', GIT_CEILING_DIRECTORIES: top };
  const result = spawnSync('git', ['-c', 'user.name=n', '-c', 'user.email=e@x', '-c', `safe.directory=*`, ...args], { cwd: dir, env, encoding: 'utf8' });
  return { status: result.status, text: result.stdout + result.stderr };
};

// --- git

test('a repository that comes back changed runs nothing on the host', { skip: !hasGit && 'needs git' }, async () => {
  const repo = join(allowed, 'repo');
  const planted = join(top, 'planted');
  mkdirSync(repo);
  git(repo, 'init', '-q');
  put({ 'repo/a.txt': 'one\n' });
  git(repo, 'add', 'a.txt');
  git(repo, 'commit', '-q', '-m', 'first');
  await copy_in({ source: 'repo' });
  // What the code inside plants: hooks, a file system monitor, filters, another repository to read settings from.
  const program = `#!/bin/sh\\necho hook >> ${planted}\\nexit 1\\n`;
  await sh(`cd repo; echo two >> a.txt
    for hook in pre-commit post-commit post-index-change post-checkout prepare-commit-msg reference-transaction; do
      printf '${program}' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "echo monitor >> ${planted}; false"\\n[filter "f"]\\n\\tclean = echo filter >> ${planted}; cat\\n' > .git/config
    printf '* filter=f\\n' > .gitattributes; mkdir -p .git/info; printf '* filter=f\\n' > .git/info/attributes
    mkdir -p other/hooks; printf '${program}' > other/hooks/pre-commit; chmod +x other/hooks/pre-commit; cp .git/config other/config
    echo ../other > .git/commondir`);
  const result = await copy_out({ path: 'repo', target: 'repo', overwrite: true });
  const moved = structuredOf(result);
  assert.equal(get('repo/a.txt'), 'one\ntwo\n');
  for (const name of ['hooks/pre-commit', 'commondir', 'info/attributes']) assert.equal(has(`repo/.git/${name}`), false, name);
  assert.equal(has('repo/.gitattributes'), false);
  assert.doesNotMatch(get('repo/.git/config'), /fsmonitor/);
  git(repo, 'status');
  git(repo, 'add', '-A');
  git(repo, 'commit', '-q', '-m', 'second');
  git(repo, 'checkout', '-q', '-b', 'other');
  assert.equal(existsSync(planted), false, existsSync(planted) && readFileSync(planted, 'utf8'));
  assert.match(git(repo, 'log', '--oneline').text, /second\n.*first\n$/);
  assert.equal(moved.left_out, 10, textOf(result));
  assert.ok(moved.left_out_names.includes('.git/hooks/pre-commit (git-hooks)'), JSON.stringify(moved));
  assert.ok(moved.left_out_names.includes('.git/config (git-settings)'), JSON.stringify(moved));
  assert.match(textOf(result), /\n10 entries were left out, because programs of the host execute or trust such files by themselves:\n {2}/);
  assert.match(textOf(result), /\ngit-hooks: git runs the programs in it, for example before a commit\n/);
  assert.match(textOf(result), /start belljar with --copy-trusted git-hooks,git-settings,git-attributes$/);
});

test('a repository that comes back unchanged leaves nothing out', { skip: !hasGit && 'needs git' }, async () => {
  const repo = join(allowed, 'same');
  mkdirSync(repo);
  git(repo, 'init', '-q');
  put({ 'same/f': 'f\n', 'same/.gitattributes': '* text=auto\n', 'same/.vscode/settings.json': '{}' });
  git(repo, 'add', '-A');
  git(repo, 'commit', '-q', '-m', 'first');
  await copy_in({ source: 'same' });
  await sh('cd same; rm -f .git/index.lock; printf "g\\n" > g');
  const moved = structuredOf(await copy_out({ path: 'same', target: 'same', overwrite: true }));
  assert.deepEqual([moved.left_out, get('same/g')], [undefined, 'g\n']);
  assert.equal(git(repo, 'status', '--short').text, '?? g\n');
});

test('a bare repository is not made, and one of the host is not changed', { skip: !hasGit && 'needs git' }, async () => {
  const planted = join(top, 'planted-bare');
  await sh(`mkdir -p evil/objects evil/refs evil/hooks; echo 'ref: refs/heads/main' > evil/HEAD
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = "echo x >> ${planted}; false"\\n' > evil/config`);
  structuredOf(await copy_out({ path: 'evil', target: 'made' }));
  assert.deepEqual(readdirSync(join(allowed, 'made')).sort(), ['config', 'hooks', 'objects', 'refs']);
  git(join(allowed, 'made'), 'status');
  git(allowed, 'init', '-q', '--bare', 'bare');
  const before = get('bare/config');
  await sh('echo "#!/bin/sh" > evil/hooks/update; chmod +x evil/hooks/update');
  const moved = structuredOf(await copy_out({ path: 'evil', target: 'bare', overwrite: true }));
  assert.equal(get('bare/config'), before);
  assert.equal(has('bare/hooks/update'), false);
  assert.deepEqual(moved.left_out_names.sort(), ['config (git-settings)', 'hooks/update (git-hooks)']);
  assert.equal(existsSync(planted), false);
});

// --- the target counts, not the name in the sandbox

test('harmless names in the sandbox that become trusted ones on the host are left out', async () => {
  put({ 'p/.git/HEAD': 'ref: refs/heads/main\n', 'p/.git/hooks/old.sample': 'sample' });
  symlinkSync('.git/hooks', join(allowed, 'p/way'));
  symlinkSync('.git', join(allowed, 'p/dot'));
  symlinkSync('.git/config', join(allowed, 'p/conf'));
  await sh('mkdir -p hooks; echo evil > hooks/pre-commit; echo evil > x; mkdir -p d/.GIT/Hooks; echo evil > d/.GIT/Hooks/x; echo fine > d/fine');
  for (const target of ['p/.git/hooks/pre-commit', 'p/.git/hooks/', 'p/way/pre-commit', 'p/way/', 'p/dot/hooks/x', 'p/dot/config', 'p/.GIT/hooks/x',
    'p/conf', '.bashrc', 'new/.vscode/tasks.json', 'p/git~1/config', 'p/.gi\u200ct/config', '.ssh/authorized_keys', 'q/.git'])
    refused(await copy_out({ path: 'x', target, overwrite: true }),
      /of the host: no file was copied: .* was left out, because .*\. No tool can change that: a person can start belljar with --copy-trusted [a-z-]+$/);
  for (const target of ['p/.git/', 'p/.git/hooks', 'p/way', 'p/dot/', 'p/.git/modules/m/hooks'])
    refused(await copy_out({ path: 'hooks', target, overwrite: true }), /no file was copied: .*pre-commit.* was left out/);
  assert.deepEqual(readdirSync(join(allowed, 'p/.git')).sort(), ['HEAD', 'hooks']);
  assert.deepEqual(readdirSync(join(allowed, 'p/.git/hooks')), ['old.sample']);
  for (const name of ['.bashrc', 'new', '.ssh', 'q/.git', 'p/.GIT', 'p/git~1']) assert.equal(has(name), false, name);
  const moved = structuredOf(await copy_out({ path: 'd', target: 'd' }));
  assert.deepEqual([moved.left_out, moved.left_out_names], [2, ['.GIT/Hooks/ (git-hooks)']]);
  assert.equal(get('d/fine'), 'fine\n');
  // A link with a trusted name is left out; one to a trusted place is copied, but nothing through it.
  await sh('mkdir -p links; ln -s way links/.bashrc; ln -s .git/hooks links/way; mkdir -p links/.git; echo a > links/.git/HEAD');
  assert.deepEqual(structuredOf(await copy_out({ path: 'links', target: 'p2' })).left_out_names, ['.bashrc (shell-start)']);
  refused(await copy_out({ path: 'x', target: 'p2/way/pre-commit' }), /No such file or directory|no file was copied/);
});

// --- executable files

test('new files are not executable on the host, and those that were stay so', async () => {
  put({ 'bin/was': 'old', 'bin/not': 'old', one: 'old' });
  chmodSync(join(allowed, 'bin/was'), 0o750);
  await sh('mkdir -p bin; for f in was not new; do echo "#!/bin/sh" > bin/$f; chmod 4777 bin/$f; done; cp bin/new tool; chmod 755 tool');
  const result = await copy_out({ path: 'bin', target: 'bin', overwrite: true });
  assert.deepEqual(['was', 'not', 'new'].map((name) => mode(join(allowed, 'bin', name))), ['754', '644', '644']);
  assert.equal(structuredOf(result).not_executable, 2);
  assert.match(textOf(result), /\n2 files that are executable in the sandbox are not executable on the host, because they were not before: a person can use chmod, or start belljar with --copy-executables$/);
  const one = await copy_out({ path: 'tool', target: 'tool' });
  assert.match(textOf(one), /: 1 entry, 10 bytes\n1 file that is executable in the sandbox is not executable on the host, because it was not before/);
  assert.equal(mode(join(allowed, 'tool')), '644');
  chmodSync(join(allowed, 'tool'), 0o755);
  assert.equal(structuredOf(await copy_out({ path: 'tool', target: 'tool', overwrite: true })).not_executable, undefined);
  assert.equal(mode(join(allowed, 'tool')), '755');
});

// --- what a person allows

test('options of the server allow kinds of files and executables, arguments do not', async (t) => {
  const dir = join(top, 'opened');
  mkdirSync(dir);
  const own = await open(t, { ALLOW_PATH: dir, COPY_TRUSTED: 'git-hooks,editor-folders', COPY_EXECUTABLES: 'true' });
  t.after(() => own.close());
  const mine = toolsOf(async () => own);
  await shellOf(mine.run_command)('mkdir -p w/.git/hooks w/.vscode; echo h > w/.git/hooks/pre-commit; chmod 777 w/.git/hooks/pre-commit; echo s > w/.vscode/s; echo b > w/.bashrc');
  const moved = structuredOf(await mine.copy_out({ path: 'w', target: 'w' }));
  assert.deepEqual([moved.left_out_names, moved.not_executable], [['.bashrc (shell-start)'], undefined]);
  assert.equal(mode(join(dir, 'w/.git/hooks/pre-commit')), '755');
  assert.equal(readFileSync(join(dir, 'w/.vscode/s'), 'utf8'), 's\n');
  for (const name of ['trusted', 'copy_trusted', 'allow', 'executables', 'force'])
    refused(await mine.copy_out({ path: 'w', target: 'w2', [name]: 'all' }), new RegExp(`^argument '${name}' is not known`));
});

// --- previews

test('a preview writes nothing and shows what would change', async () => {
  put({ 'pre/a.txt': 'one\ntwo\nthree\n', 'pre/same': 'same', 'pre/b.bin': 'a\0b', 'pre/run': 'x' });
  await sh(`mkdir -p pre/new pre/.git/hooks; cd pre; printf 'one\\n2\\nthree\\n' > a.txt; printf same > same; printf 'aa\\0b' > b.bin; printf 'n\\033[31m\\n' > new/f
    printf evil > .git/hooks/pre-commit; ln -s a.txt l; printf x > run; chmod 755 run; printf '\\n' > 'odd
name'`);
  const before = readdirSync(allowed, { recursive: true }).sort();
  const result = await copy_out({ path: 'pre', target: 'pre', preview: true });
  const moved = structuredOf(result);
  assert.deepEqual(readdirSync(allowed, { recursive: true }).sort(), before);
  assert.equal(get('pre/a.txt'), 'one\ntwo\nthree\n');
  const lines = moved.changes.split('\n');
  for (const line of ['changed   a.txt (12 bytes, before 14)', 'changed   b.bin (4 bytes, before 3)', 'new       new/', 'new       new/f (7 bytes, mode 644)',
    'new       l (link to a.txt)', 'left out  .git/hooks/ (git-hooks)', 'new       odd\\nname (1 bytes, mode 644)'])
    assert.ok(lines.includes(line), `${line}\nin\n${moved.changes}`);
  assert.ok(!moved.changes.includes('same'));
  assert.ok(moved.changes.includes('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n'), moved.changes);
  assert.ok(moved.changes.includes('--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,1 @@\n+n\\x1b[31m\n'), moved.changes);
  assert.equal(result.content[1].text, moved.changes);
  assert.match(textOf(result), /^nothing was written; a copy of 'pre' to '.*\/pre': 7 entries would change, \d+ bytes\n/);
  assert.equal(moved.left_out, 2);

  const file = structuredOf(await copy_out({ path: 'pre/a.txt', target: 'pre/a.txt', preview: true }));
  assert.equal(file.changes, 'changed   a.txt (12 bytes, before 14)\n\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n');
  const far = structuredOf(await copy_out({ path: 'pre', target: 'no/such/place', preview: true }));
  assert.match(far.changes, /new {7}a\.txt \(12 bytes, mode 644\)\n/);
  assert.equal(structuredOf(await copy_out({ path: 'pre/a.txt', target: 'no/such/file', preview: true })).entries, 1);
  assert.equal(has('no'), false);
  const hook = await copy_out({ path: 'pre/a.txt', target: 'pre/.npmrc', preview: true });
  assert.match(structuredOf(hook).changes, /^left out {2}\.npmrc \(node\)\n$/);
  await copy_in({ source: 'pre', path: 'pre3' });
  const none = await copy_out({ path: 'pre3', target: 'pre', preview: true });
  assert.match(textOf(none), /: 0 entries would change, 0 bytes$/);
  assert.equal(structuredOf(none).changes, 'nothing would change\n');
});

test('a preview of very much is cut, and says so', async () => {
  await sh('mkdir -p big; cd big; seq 120000 | split -l 40 -a 4 - f; seq 200000 > large; yes | head -c 300000 > huge');
  const moved = structuredOf(await copy_out({ path: 'big', target: 'big', preview: true }));
  assert.equal(moved.entries, 3002);
  assert.ok(moved.changes.length <= 24000);
  assert.match(moved.changes, /\n\.\.\. and \d+ more\n/);
  assert.match(moved.changes, /more: preview a part of the directory\)\n$|the changes of \d+ more files are not shown\)\n$/);
  assert.equal(has('big'), false);
});

// --- belljar cp

describe('cp', () => {
  const dir = join(top, 'cp');
  mkdirSync(dir);
  const run = verbsOf({ state: join(top, 'cp-state'), cwd: dir });
  const verb = (name, ...args) => run(name, args);
  after(() => verb('rm', 'work'));

  test('cp leaves trusted files out, unless its flags allow them', () => {
    put({ 'p/a': 'a\n' }, dir);
    assert.equal(verb('cp', 'p', 'work:').status, 0);
    verb('exec', '--sandbox', 'work', 'sh', '-c', 'cd p; echo b > a; mkdir -p .git/hooks; echo h > .git/hooks/x; chmod +x .git/hooks/x a; echo n > .npmrc');
    const preview = verb('cp', '--preview', 'work:p', '.');
    assert.equal(preview.status, 0, preview.stderr);
    assert.match(preview.stdout, /^changed {3}a \(2 bytes, before 2\)$/m);
    assert.match(preview.stdout, /^--- a\/a\n\+\+\+ b\/a\n@@ -1,1 \+1,1 @@\n-a\n\+b\n/m);
    assert.equal(readFileSync(join(dir, 'p/a'), 'utf8'), 'a\n');
    const plain = verb('cp', 'work:p', '.');
    assert.equal(plain.status, 0, plain.stderr);
    assert.match(plain.stderr, /\n3 entries were left out, because programs of the host execute/);
    assert.match(plain.stderr, /--copy-trusted git-hooks,node\n$/);
    assert.deepEqual(readdirSync(join(dir, 'p')).sort(), ['.git', 'a']);
    assert.equal(mode(join(dir, 'p/a')), '644');
    // The directory that is typed counts as well.
    mkdirSync(join(dir, '.git/hooks'), { recursive: true });
    for (const target of ['.git/hooks/', '.git/hooks/pre-commit', '.bashrc', '.git/config']) {
      const result = verb('cp', 'work:p/a', target);
      assert.equal(result.status, 1, result.stderr);
      assert.match(result.stderr, /no file was copied: .* was left out, because/);
    }
    assert.deepEqual(readdirSync(join(dir, '.git/hooks')), []);
    const opened = verb('cp', '--copy-trusted', 'all', '--copy-executables', 'work:p', '.');
    assert.equal(opened.status, 0, opened.stderr);
    assert.equal(mode(join(dir, 'p/.git/hooks/x')), '755');
    assert.equal(verb('cp', '--copy-trusted', 'nonesuch', 'work:p', '.').status, 2);
  });
});
