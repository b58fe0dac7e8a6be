// belljar doctor as root and as the user nobody: the report, and --require.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';

const NOBODY = 65534;
const isRoot = process.getuid() === 0;

// A directory and a program that both users can access.
function place(t) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-doctor-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o755);
  copyFileSync(BELLJAR, join(dir, 'belljar'));
  chmodSync(join(dir, 'belljar'), 0o755);
  mkdirSync(join(dir, 'home'));
  if (isRoot) chownSync(join(dir, 'home'), NOBODY, NOBODY);
  return dir;
}

function run(dir, args, { nobody = false, input = '' } = {}) {
  const program = join(dir, 'belljar');
  const as = nobody ? ['setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', program] : [program];
  const state = nobody ? join(dir, 'home', 'state') : join(dir, 'state');
  const [command, ...rest] = [...as, args[0], '--state-dir', state, ...args.slice(1)].map(String);
  const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), XDG_CONFIG_HOME: dir,
    ASAN_OPTIONS: 'detect_leaks=0' };
  return spawnSync(command, rest, { env, cwd: dir, input, encoding: 'utf8' });
}

function report(result) {
  const { checks } = JSON.parse(result.stdout);
  for (const check of checks) {
    assert.match(check.name, /^[a-z-]+$/);
    assert.match(check.status, /^(on|weaker|off)$/);
    assert.notEqual(check.detail, '');
    assert.equal('fix' in check, check.status !== 'on', check.name);
  }
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

for (const nobody of [false, true]) {
  const who = nobody ? 'nobody' : 'the caller';
  const skip = nobody && !isRoot ? 'only root can become nobody' : false;

  test(`${who} gets a report, and a sandbox that ran`, { skip }, (t) => {
    const dir = place(t);
    const result = run(dir, ['doctor', '--json'], { nobody });
    assert.equal(result.status, 0, result.stderr);
    const checks = report(result);
    if (checks['user-namespaces'].status === 'on') assert.equal(checks.sandbox.status, 'on', checks.sandbox.detail);
    for (const check of Object.values(checks)) assert.equal('required' in check, false);
    const text = run(dir, ['doctor'], { nobody });
    assert.equal(text.status, 0);
    for (const name of Object.keys(checks)) assert.match(text.stdout, new RegExp(`^(on|weaker|off) +${name} `, 'm'));
  });

  test(`${who} may require what is on, and not what is not`, { skip }, (t) => {
    const dir = place(t);
    const checks = report(run(dir, ['doctor', '--json'], { nobody }));
    if (checks.sandbox.status !== 'on') return t.skip('no sandboxes here');
    for (const { name, status, detail } of Object.values(checks)) {
      if (name === 'sandbox' || name === 'configuration') continue;
      const result = run(dir, ['exec', '--require', name, 'echo', 'ran'], { nobody });
      assert.equal(result.stdout, status === 'on' ? 'ran\n' : '', name);
      assert.equal(result.status, status === 'on' ? 0 : 1, result.stderr);
      if (status !== 'on')
        assert.ok(result.stderr.startsWith(`belljar: required layer '${name}' is ${status}: ${detail.slice(0, 20)}`), result.stderr);
    }
  });
}

test('--no-cgroups reports cgroups as off', (t) => {
  const dir = place(t);
  const required = ['--no-cgroups', '--require', 'seccomp,cgroups'];
  const result = run(dir, ['doctor', '--json', ...required]);
  assert.equal(result.status, 1);
  const checks = report(result);
  assert.equal(checks.cgroups.required, true);
  assert.equal(checks.seccomp.required, true);
  assert.equal('required' in checks.ids, false);
  const refusal = "belljar: required layer 'cgroups' is off: none available: --no-cgroups; what helps: start belljar without --no-cgroups\n";
  assert.equal(result.stderr, refusal);
  const exec = run(dir, ['exec', ...required, 'true']);
  assert.deepEqual([exec.status, exec.stderr], [1, refusal]);
});

test('an ordinary user without cgroups is told the reason', { skip: !isRoot && 'only root can become nobody' }, (t) => {
  const dir = place(t);
  const { cgroups } = report(run(dir, ['doctor', '--json'], { nobody: true }));
  if (cgroups.status === 'on') return t.skip('they are delegated to nobody');
  const result = run(dir, ['doctor', '--require', 'cgroups'], { nobody: true });
  assert.equal(result.status, 1);
  assert.match(result.stderr, /^belljar: required layer 'cgroups' is (off|weaker): .{10,}; what helps: .{10,}\n$/);
});

test('--require lists the layers when one is unknown', (t) => {
  const dir = place(t);
  for (const verb of [['doctor'], ['serve'], ['exec', 'true']]) {
    const [name, ...operands] = verb;
    const result = run(dir, [name, '--require', 'landlok', ...operands]);
    assert.equal(result.status, 2, name);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /no layer is called 'landlok' \(did you mean landlock\?\); there are kernel, .*, configuration\n/);
  }
});

test('the configuration file can require layers, and is checked itself', (t) => {
  const dir = place(t);
  const file = join(dir, 'c.json');
  writeFileSync(file, '{"no_cgroups":true,"require":"cgroups"}');
  const result = run(dir, ['doctor', '--config', file]);
  assert.equal(result.status, 1);
  assert.match(result.stderr, /required layer 'cgroups' is off/);
  writeFileSync(file, '{"require":"cgrups"}');
  assert.equal(run(dir, ['doctor', '--config', file]).status, 2);
  writeFileSync(file, '{');
  const broken = run(dir, ['doctor', '--json', '--config', file]);
  assert.equal(broken.status, 0);
  assert.equal(report(broken).configuration.status, 'off');
});

test('a missing layer keeps serve from starting', (t) => {
  const dir = place(t);
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  assert.match(run(dir, ['serve', '--require', 'seccomp'], { input: ping }).stdout, /"result"/);
  const without = run(dir, ['serve', '--no-cgroups', '--require', 'cgroups'], { input: ping });
  assert.deepEqual([without.status, without.stdout], [1, '']);
  assert.match(without.stderr, /required layer 'cgroups' is off/);
  const env = serverEnv({ DOCKER_HOST: 'tcp://nowhere' });
  const result = spawnSync(BELLJAR, ['serve', '--require', 'docker'], { env, input: ping, encoding: 'utf8' });
  assert.deepEqual([result.status, result.stdout], [1, '']);
  assert.match(result.stderr, /required layer 'docker' is weaker: DOCKER_HOST is/);
});
