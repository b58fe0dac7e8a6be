// Packages in the profiles python-executor and code-sandbox, with an index of small packages on loopback.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startIndex } from '../lib/package_index.mjs';
import { jsonOf } from '../lib/profile.mjs';
import { open, toolsOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-index-'));
chmodSync(dir, 0o777);
const cleanups = [];
let python, workspaces, index;
const patient = { timeout: 180000 };

before(async () => {
  index = await startIndex(dir);
  const settings = { PIP_INDEX: index.url };
  const start = (more) => {
    const session = open({ after: (fn) => cleanups.push(fn) }, { ...settings, ...more });
    cleanups.push(async () => (await session).close());
    return jsonOf(toolsOf(() => session));
  };
  python = start({ PROFILE: 'python-executor' });
  workspaces = start({ PROFILE: 'code-sandbox', ALLOW_PATH: dir });
});
after(async () => {
  for (const fn of cleanups.reverse()) await fn();
  index.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('python-executor: install, use, list, reset', async () => {
  const missing = await python.execute_python({ code: 'import alpha' });
  assert.match(missing.stderr, /No module named 'alpha'/);
  const installed = await python.install_package({ package_name: 'alpha<2 beta' }, patient);
  assert.deepEqual(installed, { status: 'success', message: 'Installed', installed: ['alpha==1.0', 'beta==1.0'] });
  assert.equal((await python.execute_python({ code: 'import alpha, beta; print(alpha.VALUE)' })).stdout, '1\n');
  assert.match((await python.install_package({ package_name: ' alpha >= 1.0 , < 2\tbeta' }, patient)).message, /there already/);
  assert.deepEqual((await python.list_installed_packages()).packages, [
    { name: 'alpha', version: '1.0' },
    { name: 'beta', version: '1.0' },
  ]);
  await python.reset_sandbox();
  assert.deepEqual((await python.list_installed_packages()).packages, []);
  assert.match((await python.execute_python({ code: 'import alpha' })).stderr, /No module named 'alpha'/);
});

test('python-executor: what cannot be installed is explained, and nothing but names is accepted', async () => {
  const unknown = await python.install_package({ package_name: 'nothere' }, patient);
  assert.equal(unknown.status, 'error');
  assert.match(unknown.error, /No matching distribution found for nothere/);
  for (const package_name of ['  ', '--index-url=http://x.example', '-r /etc/passwd', '/tmp/x', './x', 'git+https://x.example/y', 'a;id', '$(id)', 'a @ file:///x']) {
    const { status, error } = await python.install_package({ package_name });
    assert.equal(status, 'error', package_name);
    assert.ok(error, package_name);
  }
});

test('code-sandbox: a histogram by packages of requirements.txt, copied out as a PNG', async () => {
  const { container_id, workspace_id } = await workspaces.sandbox_initialize();
  const ids = { container_id, workspace_id };
  await workspaces.write_file_sandbox({ ...ids, file_name: 'requirements.txt', file_contents: '# for the chart\nnumpy\nmatplotlib>=1\nalpha < 2\n' });
  const script = `import numpy as np
import matplotlib.pyplot as plt
import alpha
plt.hist(np.random.default_rng(0).normal(size=1000), bins=20)
plt.savefig('histogram.png')
print('alpha', alpha.VALUE)
`;
  await workspaces.write_file_sandbox({ ...ids, file_name: 'plot.py', file_contents: script });
  const ran = await workspaces.sandbox_exec({ ...ids, commands: ['python plot.py'] }, patient);
  assert.equal(ran.success, true, JSON.stringify(ran));
  assert.equal(ran.results[0].stdout, 'alpha 1\n');
  assert.deepEqual(ran.dependencies, { installed: ['alpha==1.0'] });
  const again = await workspaces.sandbox_exec({ ...ids, commands: ['python plot.py'] }, patient);
  assert.equal(again.dependencies, undefined);
  const copied = await workspaces.copy_file_from_sandbox({ ...ids, container_src_path: 'histogram.png', local_dest_path: join(dir, 'histogram.png') });
  const png = readFileSync(join(dir, 'histogram.png'));
  assert.equal(copied.file_size, png.length);
  assert.deepEqual([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  assert.equal(png.subarray(12, 16).toString(), 'IHDR');
});

test('code-sandbox: imports of a script are installed, and what cannot be is told', async () => {
  const { container_id, workspace_id } = await workspaces.sandbox_initialize();
  const ids = { container_id, workspace_id };
  const ran = await workspaces.sandbox_exec({ ...ids, commands: ['echo python', 'python3 -c "import alpha; print(alpha.VALUE)"'] }, patient);
  assert.equal(ran.success, true, JSON.stringify(ran));
  assert.equal(ran.results[1].stdout, '2\n');
  assert.deepEqual(ran.dependencies, { installed: ['alpha==2.0'] });
  const failed = await workspaces.sandbox_exec({ ...ids, commands: ['python3 -c "import nothere"'] }, patient);
  assert.equal(failed.results[0].success, false);
  assert.match(failed.results[0].stderr, /No module named 'nothere'/);
  assert.match(failed.dependencies.refused[0], /No matching distribution found for nothere/);
  // The sandbox itself stays without a network, also while packages are installed.
  const network = await workspaces.sandbox_exec({ ...ids, commands: ['env | grep -ic proxy || true'] });
  assert.equal(network.results[0].stdout, '0\n');
});

test('code-sandbox: a command that enters a directory needs the packages of that directory', async () => {
  const { container_id, workspace_id } = await workspaces.sandbox_initialize();
  const ids = { container_id, workspace_id };
  await workspaces.write_file_sandbox({ ...ids, file_name: 'requirements.txt', file_contents: 'alpha<2\n', dest_dir: 'a project' });
  await workspaces.write_file_sandbox({ ...ids, file_name: 'main.py', file_contents: 'import alpha, beta\nprint(alpha.VALUE)\n', dest_dir: 'a project' });
  const { results, dependencies } = await workspaces.sandbox_exec({ ...ids, commands: ['cd "a project"; python main.py'] }, patient);
  assert.equal(results[0].stdout, '1\n', JSON.stringify(results));
  assert.deepEqual(dependencies, { installed: ['alpha==1.0', 'beta==1.0'] });
});

test('code-sandbox: lines of requirements.txt that are left out are told, and a long file is installed whole', async () => {
  const { container_id, workspace_id } = await workspaces.sandbox_initialize();
  const ids = { container_id, workspace_id };
  const lines = ['-r other.txt', 'https://x.example/y.whl', ...Array.from({ length: 60 }, (_, n) => `small${n}`)];
  await workspaces.write_file_sandbox({ ...ids, file_name: 'requirements.txt', file_contents: lines.join('\n') });
  const commands = ['python -c "import alpha, small0, small59"', 'python --version'];
  const { results, dependencies } = await workspaces.sandbox_exec({ ...ids, commands }, patient);
  assert.deepEqual(results.map(({ success }) => success), [true, true], JSON.stringify(results));
  assert.equal(dependencies.installed.length, 61, JSON.stringify(dependencies));
  assert.deepEqual(dependencies.refused, ['-r other.txt (an option)', 'https://x.example/y.whl (a URL)']);
});

test('code-sandbox: --no-auto-packages switches the installation off', async (t) => {
  const session = await open(t, { PROFILE: 'code-sandbox', PIP_INDEX: index.url, NO_AUTO_PACKAGES: 'true' });
  const json = jsonOf(toolsOf(async () => session));
  const { container_id } = await json.sandbox_initialize();
  const { results, dependencies } = await json.sandbox_exec({ container_id, commands: ['python -c "import alpha"'] });
  assert.match(results[0].stderr, /No module named 'alpha'/);
  assert.equal(dependencies, undefined);
  await session.close();
});
