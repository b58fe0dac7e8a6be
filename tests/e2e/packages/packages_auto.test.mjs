// Automatic dependencies: a run that lacks a module installs the package and is repeated once.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { npmRegistry } from '../lib/package_index.mjs';
import { open, sleep, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-auto-'));
const portFile = join(dir, 'port');
const cleanups = [];
let tools;
let index;
let settings;

before(async () => {
  index = spawn('python3', [fileURLToPath(new URL('../lib/package_index.py', import.meta.url)), portFile], { stdio: 'inherit' });
  while (!existsSync(portFile)) await sleep(20);
  settings = { PIP_INDEX: `http://127.0.0.1:${readFileSync(portFile)}/simple`, ANSWER_WITHIN: 120000 };
  const session = open({ after: (fn) => cleanups.push(fn) }, settings);
  tools = toolsOf(() => session);
  cleanups.push(async () => (await session).close());
});
after(async () => {
  for (const fn of cleanups.reverse()) await fn();
  index.kill();
  rmSync(dir, { recursive: true, force: true });
});

const python = async (code, more) => structuredOf(await tools.run_code({ code, ...more }, { timeout: 180000 }));
const command = async (text, more) => structuredOf(await tools.run_command({ command: text, ...more }, { timeout: 180000 }));
const fresh = async (name) => (await tools.create_sandbox({ name }), { sandbox: name });

test('a run that lacks a module installs its package and is repeated', async () => {
  const at = await fresh('code');
  const answer = await python('print("begin"); import fitz; print(fitz.NAME)', at);
  assert.equal(answer.stdout, 'begin\nfitz\n');
  assert.equal(answer.exit_code, 0);
  assert.match(answer.note, /the module 'fitz' was missing, so belljar installed pymupdf==1\.0 and ran this again/);
  assert.equal((await python('import fitz', at)).note, undefined);
});

test('a cell is repeated in its session', async () => {
  const at = { ...(await fresh('cell')), session: 's' };
  await python('n = 1', at);
  const answer = await python('import alpha\nprint(n, alpha.VALUE)', at);
  assert.equal(answer.stdout, '1 2\n');
  assert.match(answer.note, /belljar installed alpha==2\.0/);
});

test('the versions of a project are installed', async () => {
  const at = await fresh('project');
  await tools.write_file({ ...at, path: 'app/requirements.txt', content: '# pinned\nalpha < 2\n-e .\ngamma==1.1 ; python_version > "3"\n' });
  await tools.write_file({ ...at, path: 'app/main.py', content: 'import alpha, gamma; print(alpha.VALUE)\n' });
  const answer = await command('cd app && python3 main.py', at);
  assert.equal(answer.stdout, '1\n');
  assert.match(answer.note, /^installed before this run, as requirements\.txt lists: alpha==1\.0, gamma==1\.1; left out of requirements\.txt: -e \. \(an option\)$/);
  await tools.install_packages({ ...at, action: 'reset' });
  const again = await command('python3 main.py', { ...at, cwd: 'app' });
  assert.equal(again.stdout, '1\n');
  assert.match(again.note, /installed .*alpha==1\.0, gamma==1\.1/);
});

test('pyproject.toml lists packages too', async (t) => {
  const at = await fresh('toml');
  if ((await command('python3 -c "import tomllib"', at)).exit_code !== 0) return t.skip('Python has no tomllib');
  await tools.write_file({ ...at, path: 'pyproject.toml', content: '[project]\nname = "x"\ndependencies = ["alpha<2", "x @ http://127.0.0.1/x.whl"]\n' });
  assert.equal((await python('import alpha; print(alpha.VALUE)', at)).stdout, '1\n');
});

test('python -m installs the module', async () => {
  const at = await fresh('dash-m');
  const answer = await command('python3 -m alpha', at);
  assert.equal(answer.exit_code, 0);
  assert.match(answer.note, /installed alpha==2\.0/);
});

test('a command with other effects is not repeated', async () => {
  const at = await fresh('effects');
  const answer = await command('echo x >> log; python3 -c "import alpha"', at);
  assert.equal(answer.exit_code, 1);
  assert.match(answer.note, /install_packages/);
  assert.equal((await command('cat log', at)).stdout, 'x\n');
});

test('a package that is not there is tried once', async () => {
  const at = await fresh('nothere');
  const answer = await python('import nothere', at);
  assert.equal(answer.exit_code, 1);
  assert.match(answer.note, /the package nothere could not be installed: pip failed: .*No matching distribution/);
  assert.doesNotMatch(answer.note, /can be installed/);
  const again = await python('import nothere', at);
  assert.match(again.note, /^the module 'nothere' is missing, and .* could not be installed a moment ago \(install_packages tries again\): pip failed/);
});

test('a message of the program cannot name what is not a package', async () => {
  const at = await fresh('hostile');
  for (const name of ["--index-url=x", 'a b', '../x', '_hidden', 'tkinter']) {
    const answer = await python(`import sys\nsys.exit("ModuleNotFoundError: No module named '${name}'")`, at);
    assert.doesNotMatch(answer.note ?? '', /could not be installed/, name);
  }
});

test('--no-auto-packages switches it off', async (t) => {
  const session = open(t, { ...settings, NO_AUTO_PACKAGES: 'true' });
  const own = toolsOf(() => session);
  const answer = structuredOf(await own.run_code({ code: 'import alpha' }));
  assert.equal(answer.exit_code, 1);
  assert.match(answer.note, /packages that are missing can be installed with install_packages/);
  await (await session).close();
});

test('without a mirror, code of a sandbox without a network starts no installer', async (t) => {
  const session = open(t, { ...settings, PACKAGE_CACHE: 0 });
  const own = toolsOf(() => session);
  assert.equal(structuredOf(await own.run_code({ code: 'import alpha' }, { timeout: 180000 })).exit_code, 1);
  await own.create_sandbox({ name: 'packages', network: 'packages' });
  assert.equal(structuredOf(await own.run_code({ code: 'import alpha', sandbox: 'packages' }, { timeout: 180000 })).exit_code, 0);
  await (await session).close();
});

test('a module of npm is installed, and the packages of a project', async (t) => {
  const registry = npmRegistry();
  if (!registry) return t.skip('no npm registry on this machine');
  const session = open(t, { NPM_REGISTRY: registry, ANSWER_WITHIN: 120000 });
  const own = toolsOf(() => session);
  const code = { language: 'javascript', code: 'console.log(require("is-primitive")(5))' };
  const result = await own.run_code(code, { timeout: 180000 });
  if (result.isError && /no interpreter for javascript/.test(result.content[0].text)) return t.skip('the image has no Node');
  if (structuredOf(await own.run_command({ command: 'command -v npm' })).exit_code !== 0) return t.skip('the image has no npm');
  const answer = structuredOf(result);
  assert.equal(answer.stdout, 'true\n');
  assert.match(answer.note, /belljar installed is-primitive@/);
  const imported = { language: 'javascript', code: 'import number from "is-primitive"\nconsole.log(number(5))' };
  for (const more of [{}, { session: 'imports' }]) assert.equal(structuredOf(await own.run_code({ ...imported, ...more })).stdout, 'true\n');
  await own.write_file({ path: 'p/package.json', content: '{"dependencies": {"is-odd": "2.0.0"}}' });
  await own.write_file({ path: 'p/main.js', content: 'console.log(require("is-odd")(5))' });
  const project = structuredOf(await own.run_command({ command: 'node main.js', cwd: 'p' }, { timeout: 180000 }));
  assert.equal(project.stdout, 'true\n');
  assert.match(project.note, /is-odd@2\.0\.0/);
  const both = { language: 'javascript', code: 'import number from "is-primitive"; import odd from "is-odd"\nconsole.log(number(5), odd(5))', cwd: 'p' };
  for (const more of [{}, { session: 'imports' }]) assert.equal(structuredOf(await own.run_code({ ...both, ...more })).stdout, 'true true\n');
  await (await session).close();
});
