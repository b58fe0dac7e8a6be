// What requirements.txt, pyproject.toml and package.json list is installed before the first run of a project.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startIndex } from '../lib/package_index.mjs';
import { open, refused, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-project-'));
const cleanups = [];
let index;
let settings;
let tools;

before(async () => {
  index = await startIndex(dir);
  settings = { PIP_INDEX: index.url, NPM_REGISTRY: index.url.replace('/simple', '/npm'), ANSWER_WITHIN: 170000 };
  const session = open({ after: (fn) => cleanups.push(fn) }, settings);
  tools = toolsOf(() => session);
  cleanups.push(async () => (await session).close());
});
after(async () => {
  index.stop();
  for (const fn of cleanups.reverse()) await fn();
  rmSync(dir, { recursive: true, force: true });
});

const requests = () => readFileSync(join(dir, 'port.log'), 'utf8').split('\n').length;
const fresh = async (name) => (await tools.create_sandbox({ name }), { sandbox: name });
const write = (at, path, content) => tools.write_file({ ...at, path, content });
const command = async (text, more) => structuredOf(await tools.run_command({ command: text, ...more }, { timeout: 180000 }));
const python = async (code, more) => structuredOf(await tools.run_code({ code, ...more }, { timeout: 180000 }));
const VALUE = 'import alpha; print(alpha.VALUE)';

test('a pin counts although another version is there, and each version of the file is dealt with once', async () => {
  const at = await fresh('pins');
  await tools.install_packages({ ...at, packages: ['alpha==2.0'] }, { timeout: 180000 });
  assert.equal((await python(VALUE, at)).stdout, '2\n');
  await write(at, 'requirements.txt', 'alpha<2\n');
  const first = await python(VALUE, at);
  assert.equal(first.stdout, '1\n');
  assert.equal(first.note, 'installed before this run, as requirements.txt lists: alpha==1.0');
  await tools.install_packages({ ...at, packages: ['alpha==2.0'] }, { timeout: 180000 });
  const again = await python(VALUE, at);
  assert.equal(again.stdout, '2\n', 'the same file is not dealt with again');
  assert.equal(again.note, undefined);
  await command('printf "alpha == 1.0  # pinned\\n" > requirements.txt', at); // a change by a program
  assert.equal((await command(`python3 -c "${VALUE}"`, at)).stdout, '1\n');
  await tools.install_packages({ ...at, action: 'reset' });
  assert.match((await python(VALUE, at)).note, /^installed before this run, as requirements\.txt lists: alpha==1\.0$/);
  await tools.reset_sandbox(at);
  await write(at, 'requirements.txt', 'alpha == 1.0  # pinned\n');
  assert.match((await python(VALUE, at)).note, /^installed before this run/);
});

test('packages that cannot be installed are told in one note, and the run takes place', async () => {
  const at = await fresh('failures');
  await write(at, 'requirements.txt', '-r other.txt\n--index-url http://127.0.0.1:1/\nalpha\nnothere>=3\nx @ http://127.0.0.1:1/x.whl\n./wheels/x.whl\n=bad=\n');
  const some = await python(VALUE, at);
  assert.equal(some.stdout, '2\n');
  for (const part of ['-r other.txt (an option)', '--index-url http://127.0.0.1:1/ (an option)', 'nothere>=3 (the index has no such version)', 'x @ http://127.0.0.1:1/x.whl (a URL)', './wheels/x.whl (a path)', '=bad= (not a name with versions)'])
    assert.ok(some.note.includes(part), `${part}: ${some.note}`);
  await write(at, 'requirements.txt', 'clash\n');
  const clash = await python('print("ran")', at);
  assert.equal(clash.stdout, 'ran\n');
  assert.match(clash.note, /^the packages of requirements\.txt could not be installed, so this ran without them: pip failed: .*conflicting/);
  assert.equal((await python('print("ran")', at)).note, undefined);
  await write(at, 'requirements.txt', 'nothere\n');
  const missing = await python('import nothere', at);
  assert.equal(missing.note.match(/could not be installed/g).length, 1, missing.note);
  assert.doesNotMatch(missing.note, /can be installed/);
});

test('long lists of lines that are left out, bytes that are no text and UTF-16 do not hide the rest', async () => {
  const at = await fresh('lines');
  const paths = Array.from({ length: 900 }, (_, i) => `of-conda-${i} @ file:///home/conda/feedstock_root/build_artifacts/of-conda-${i}/work`);
  await write(at, 'requirements.txt', `${['alpha==1.0', `\u{1f40d}${'é'.repeat(80)}`, ...paths].join('\n')}\n`);
  const many = await python(VALUE, at);
  assert.equal(many.stdout, '1\n', many.note);
  assert.match(many.note, /^installed before this run, as requirements\.txt lists: alpha==1\.0; left out of requirements\.txt: .*of-conda-0 @ file:.*\(a URL\).* and 89\d more$/);
  await command(`printf 'alpha==2.0\\na\\0b\\n' > requirements.txt`, at);
  const binary = await python(VALUE, at);
  assert.equal(binary.stdout, '2\n', binary.note);
  assert.match(binary.note, /left out of requirements\.txt: a\?b \(not a name with versions\)$/);
  await command(`printf 'alpha==1.0\\r\\n' | iconv -f utf-8 -t utf-16 > requirements.txt`, at); // as PowerShell writes it
  assert.equal((await python(VALUE, at)).stdout, '1\n');
  await write(at, 'package.json', JSON.stringify({ dependencies: Object.fromEntries(paths.map((path) => [path.split(' ')[0], `https://host.example/${path.length}`])) }));
  const { note } = structuredOf(await tools.run_code({ ...at, language: 'javascript', code: 'console.log(1)' }, { timeout: 180000 }));
  assert.match(note, /^left out of package\.json: of-conda-0: https:.* and 8[89]\d more$/);
});

test('hashes of requirements.txt are compared', async () => {
  const at = await fresh('hashes');
  const page = await (await fetch(`${index.url}/alpha/`)).text();
  const [, digest] = /alpha-1\.0-py3-none-any\.whl#sha256=([0-9a-f]{64})/.exec(page);
  const wrong = createHash('sha256').update('x').digest('hex');
  await write(at, 'requirements.txt', `alpha==1.0 \\\n    --hash=sha256:${wrong}\n`);
  assert.match((await python('print()', at)).note, /could not be installed.*does not have the hash/s);
  await write(at, 'requirements.txt', `alpha==1.0 \\\n    --hash=sha256:${wrong} \\\n    --hash=sha256:${digest}\n`);
  assert.equal((await python(VALUE, at)).stdout, '1\n');
});

test('the file may come with the call, or lie beside the script', async () => {
  const at = await fresh('places');
  const files = [{ path: 'requirements.txt', content: 'alpha==1.0\n' }];
  assert.equal((await python(VALUE, { ...at, files })).stdout, '1\n');
  await write(at, 'app/pyproject.toml', '[project]\nname = "x"\ndependencies = ["pymupdf"]\n');
  await write(at, 'app/main.py', 'import fitz; print(fitz.NAME)\n');
  const tomllib = (await command('python3 -c "import tomllib"', at)).exit_code === 0;
  const answer = await command('cd / && python3 workspace/app/main.py', { ...at, background: false });
  assert.equal(answer.stdout, 'fitz\n');
  if (tomllib) assert.match(answer.note, /^installed before this run, as pyproject\.toml lists: pymupdf==1\.0$/);
});

test('the index is asked for nothing where there is no project', async (t) => {
  const at = await fresh('without');
  await write(at, 'pyproject.toml', '[tool.black]\nline-length = 100\n');
  await write(at, 'notes/requirements.txt', 'alpha\n');
  const asked = requests();
  await python('print(1)', at);
  await command('ls notes; cat notes/requirements.txt', at);
  await command('cd notes && python3 --version', at);
  assert.equal(requests(), asked);
  const session = open(t, { ...settings, NO_AUTO_PACKAGES: 'true' });
  const own = toolsOf(() => session);
  const files = [{ path: 'requirements.txt', content: 'alpha\n' }];
  assert.equal(structuredOf(await own.run_code({ code: 'print(1)', files })).note, undefined);
  assert.equal(requests(), asked);
  await (await session).close();
});

test('calls at the same time wait for one installer', async () => {
  const at = await fresh('together');
  await write(at, 'requirements.txt', 'large\nalpha<2\n');
  const answers = await Promise.all([1, 2, 3].map(() => python('import alpha, large; print(alpha.VALUE)', at)));
  assert.deepEqual(answers.map(({ stdout }) => stdout), ['1\n', '1\n', '1\n']);
  assert.equal(answers.filter(({ note }) => note).length, 1);
});

test('an installer that takes longer than the call is a process, and the run waits for its end', async (t) => {
  const session = open(t, { ...settings, ANSWER_WITHIN: 5000 });
  const own = toolsOf(() => session);
  const files = [{ path: 'requirements.txt', content: 'endless\n' }];
  const run = { code: 'print("ran")', files };
  const text = textOf(await own.run_code(run, { timeout: 60000 }));
  assert.match(text, /nothing was run yet: the packages that the project lists are still being installed, by the process (p\d+)\./);
  refused(await own.run_code(run), /still being installed/);
  structuredOf(await own.process_stop({ process: /process (p\d+)/.exec(text)[1], force: true }));
  assert.equal(structuredOf(await own.run_code(run)).stdout, 'ran\n');
  const { stdout } = structuredOf(await own.run_command({ command: 'cat /proc/net/tcp | tail -n +2 | grep -c " 0A "; true' }));
  assert.equal(stdout, '0\n');
  await (await session).close();
});

test('a call that is cancelled ends its installer, and the next one tries again', async () => {
  const at = await fresh('cancelled');
  await write(at, 'requirements.txt', 'hangs\n');
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 4000);
  await assert.rejects(tools.run_code({ ...at, code: 'print(1)' }, { signal: controller.signal }));
  assert.equal((await command('cat /proc/net/tcp | tail -n +2 | grep -c " 0A "; pgrep -c pip; true', at)).stdout, '0\n0\n');
  await write(at, 'requirements.txt', 'alpha\n');
  assert.match((await python(VALUE, at)).note, /alpha==2\.0/);
});

test('package.json: versions, lock files, scripts that are left out', async (t) => {
  const at = await fresh('node');
  if ((await command('command -v node && command -v npm', at)).exit_code !== 0) return t.skip('the sandbox has no npm');
  await write(at, 'p/package.json', '{"dependencies": {"left": "^1.0.0", "scripted": "*"}, "devDependencies": {"@scope/right": "1"}}');
  await write(at, 'p/main.mjs', 'import left from "left"; import right from "@scope/right"; console.log(left, right);\n');
  const first = await command('cd p && node main.mjs', at);
  assert.equal(first.stdout, 'left @scope/right\n');
  assert.match(first.note, /^installed before this run, as package\.json lists: @scope\/right@1\.0\.0, left@1\.0\.0, scripted@1\.0\.0; left out of package\.json: the installation script of scripted \(npm rebuild scripted runs it\)$/);
  assert.equal((await command('ls ~/script-was-run; ls p', at)).stdout, 'main.mjs\nnode_modules\npackage.json\n');
  assert.equal((await command('npm install && npm rebuild scripted && ls ~/script-was-run', { ...at, cwd: 'p' })).exit_code, 0);
  assert.equal((await command('node main.mjs', { ...at, cwd: 'p' })).note, undefined);
  const code = { ...at, language: 'javascript', cwd: 'p', code: 'console.log(require("left"))' };
  assert.equal((await python(code.code, code)).stdout, 'left\n');
  // With a lock file and no modules: npm ci.
  await command('rm -rf p/node_modules && touch p/x', at);
  await tools.install_packages({ ...at, action: 'reset', language: 'javascript' });
  assert.match((await command('npm run --if-present x && node main.mjs', { ...at, cwd: 'p' })).stdout, /left @scope\/right\n$/);
  // A dependency that is a URL or a repository is left out, and the others are installed.
  await write(at, 'q/package.json', '{"dependencies": {"left": "1", "far": "git+https://example.com/far.git", "away": "someone/away"}}');
  const far = await command('node -e "console.log(require(\'left\'))"', { ...at, cwd: 'q' });
  assert.equal(far.stdout, 'left\n');
  assert.match(far.note, /left out of package\.json: far: git\+https:\/\/example\.com\/far\.git \(a URL or a repository\), away: someone\/away \(a URL or a repository\)/);
  await write(at, 'r/package.json', '{"dependencies": {"left": "9"}}');
  const bad = await command('node -e "console.log(1)"', { ...at, cwd: 'r' });
  assert.equal(bad.stdout, '1\n');
  assert.match(bad.note, /^the packages of package\.json could not be installed, so this ran without them: npm failed: .*No matching version found for left@9/);
});
