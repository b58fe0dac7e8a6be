// packages.mjs - a package that another sandbox has installed before, in a new sandbox, beside `pip install` from a
// local directory of wheels on the host. Medians; the two alternate.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, INITIALIZE, call } from './client.mjs';

const RUNS = Number(process.env.BENCH_RUNS ?? 7);
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'belljar-bench-'));
chmodSync(dir, 0o711);
const portFile = join(dir, 'port');
const index = spawn('python3', [path('../e2e/lib/package_index.py'), portFile], { stdio: 'inherit' });
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function timed(work) {
  const from = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - from) / 1e6;
}

try {
  while (!existsSync(portFile)) await new Promise((resolve) => setTimeout(resolve, 20));
  const url = `http://127.0.0.1:${readFileSync(portFile)}`;
  const wheels = join(dir, 'wheels');
  mkdirSync(wheels);
  const name = 'large-1.0-py3-none-any.whl';
  writeFileSync(join(wheels, name), Buffer.from(await (await fetch(`${url}/files/large/${name}`)).arrayBuffer()));
  const server = new Client([process.env.BELLJAR ?? path('../../build/belljar'), '--state-dir', join(dir, 'state'), '--pip-index', `${url}/simple`, '--answer-within', '600000']);
  await server.ask(INITIALIZE);
  const ask = async (tool, args) => {
    const { result, error } = JSON.parse(await server.ask(call(tool, args)));
    assert.ok(result && !result.isError, JSON.stringify(error ?? result));
  };
  const install = async (sandbox) => {
    await ask('create_sandbox', { name: sandbox });
    const ms = await timed(() => ask('install_packages', { packages: ['large'], sandbox }));
    await ask('delete_sandbox', { sandbox });
    return ms;
  };
  const first = await install('first');
  const ms = { again: [], host: [] };
  for (let i = 0; i < RUNS; i++) {
    ms.again.push(await install(`again-${i}`));
    const target = join(dir, `target-${i}`);
    ms.host.push(await timed(() =>
      execFileSync('python3', ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-index', '--find-links', wheels, '--target', target, 'large'], { env: { ...process.env, PIP_ROOT_USER_ACTION: 'ignore' }, stdio: ['ignore', 'ignore', 'inherit'] })));
  }
  console.log('packages: one wheel of 3 MB, medians in milliseconds');
  console.log(`  install_packages, first sandbox         ${first.toFixed(0)}`);
  console.log(`  install_packages, new sandbox, cached   ${median(ms.again).toFixed(0)}`);
  console.log(`  pip install on the host, local wheels   ${median(ms.host).toFixed(0)}`);
  await server.close();
} finally {
  index.kill();
  rmSync(dir, { recursive: true, force: true });
}
