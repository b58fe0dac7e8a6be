// The profile python-executor, over stdio.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AWKWARD, jsonOf, profile } from '../lib/profile.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { refused, stateDir, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const { tools, json } = profile('python-executor');

test('hello world, a square root, and an endless loop', async () => {
  const hello = await json.execute_python({ code: "print('Hello, World!')" });
  assert.deepEqual([hello.status, hello.stdout, hello.stderr, hello.exit_code], ['success', 'Hello, World!\n', '', 0]);
  assert.equal(typeof hello.duration, 'number');
  const root = await json.execute_python({ code: 'import math\nprint(math.sqrt(16))' });
  assert.equal(root.stdout, '4.0\n');
  const forever = await json.execute_python({ code: "print('begun')\nwhile True: pass", timeout: 1 });
  assert.equal(forever.status, 'timeout');
  assert.equal(forever.stdout, 'begun\n');
  assert.match(forever.error, /timed out after 1 seconds/);
});

test('failures', async () => {
  const failed = await json.execute_python({ code: 'x = 1\n1/0' });
  assert.equal(failed.status, 'error');
  assert.equal(failed.exit_code, 1);
  assert.match(failed.stderr, /main\.py", line 2, in <module>\n    1\/0[^]*ZeroDivisionError/);
  assert.equal((await json.execute_python({ code: 'import sys; sys.exit(7)' })).exit_code, 7);
  // As in the original, a time beyond the bounds stands for the nearest one.
  for (const timeout of [1000, 1e15]) assert.equal((await json.execute_python({ code: '1', timeout })).status, 'success');
  for (const timeout of [0, -5])
    assert.match((await json.execute_python({ code: 'while True: pass', timeout })).error, /after 1 seconds/);
  refused(await tools.execute_python({ code: '1', timeout: 'long' }), /^argument 'timeout': expected a number, got the string "long"$/);
  refused(await tools.execute_python({}), /'code' is missing/);
  refused(await tools.execute_python({ code: ['1'] }), /'code'/);
  const endless = await json.execute_python({ code: "while True: print('belljar' * 10000)", timeout: 2 });
  assert.equal(endless.status, 'timeout');
  assert.match(endless.stdout, /bytes left out/);
});

test('code arrives unchanged, files stay, and modules of the workspace are found', async () => {
  const shown = AWKWARD.replaceAll('\u0000', '').replaceAll('\r', '');
  const code = `text = """${shown.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"""\nopen('t', 'w').write(text)\nprint(text, end='')`;
  assert.equal((await json.execute_python({ code })).stdout, shown);
  const { stdout } = await json.execute_python({
    code: "import os\nprint(os.getcwd(), [n for n in os.listdir() if n[0] != '.'])\nopen('mine.py', 'w').write('answer = 42')",
  });
  assert.equal(stdout, "/workspace ['t']\n");
  assert.equal((await json.execute_python({ code: 'import mine; print(mine.answer)' })).stdout, '42\n');
});

test('the environment is its own, and a reset empties it', async () => {
  const info = await json.get_sandbox_info();
  assert.equal(info.status, 'ready');
  assert.match(info.python_version, /^3\.\d+\.\d+$/);
  const where = await json.execute_python({ code: 'import sys; print(sys.executable, sys.prefix)' });
  assert.equal(where.stdout, `${info.python_path} ${info.venv_path}\n`);
  await json.execute_python({
    code: `import pathlib, sysconfig
d = pathlib.Path(sysconfig.get_path('purelib')) / 'demo-1.5.dist-info'
d.mkdir()
(d / 'METADATA').write_text('Metadata-Version: 2.1\\nName: demo\\nVersion: 1.5\\n')
open('left', 'w').close()`,
  });
  assert.deepEqual((await json.list_installed_packages()).packages, [{ name: 'demo', version: '1.5' }]);
  assert.equal((await json.reset_sandbox()).status, 'success');
  assert.deepEqual((await json.list_installed_packages()).packages, []);
  assert.equal((await json.execute_python({ code: 'import os; print(os.listdir())' })).stdout, '[]\n');
});

test('calls at the same time share the environment that the first of them makes', async () => {
  await json.reset_sandbox();
  const outputs = await Promise.all(Array.from({ length: 6 }, async (_, i) => (await json.execute_python({ code: `print(${i})` })).stdout));
  assert.deepEqual(outputs, ['0\n', '1\n', '2\n', '3\n', '4\n', '5\n']);
});

test('the tools and their defaults', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'python-executor' };
  const session = await connectV1(t, { program: BELLJAR, env });
  const { tools: list } = await session.client.listTools();
  assert.deepEqual(list.map(({ name }) => name), [
    'execute_python', 'install_package', 'list_installed_packages', 'reset_sandbox', 'get_sandbox_info',
  ]);
  assert.equal(list[0].inputSchema.properties.timeout.default, 60);
  const use = jsonOf(toolsOf(async () => session));
  await use.execute_python({ code: "open('kept', 'w').close()" });
  await session.close();
  // The sandbox is the caller's: the next server finds its files.
  const again = await connectV1(t, { program: BELLJAR, env });
  const { stdout } = await jsonOf(toolsOf(async () => again)).execute_python({ code: 'import os; print(os.listdir())' });
  assert.equal(stdout, "['kept']\n");
  await again.close();
});
