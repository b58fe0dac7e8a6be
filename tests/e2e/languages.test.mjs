// Sessions of languages other than Python.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, structuredOf, textOf } from './lib/sandboxed.mjs';

const { run_code } = sandboxed();

// Runs the cells [code, expected, arguments] of one session, one after the other. `expected` is stdout,
// or members of the structured content.
function session(language, cells) {
  test(`a session of ${language}: ${cells[0][0].split('\n')[0]}`, async (t) => {
    if ((await run_code({ language, code: ' ' })).isError) return t.skip(`no ${language}`);
    const name = `${language}-${Math.random()}`;
    for (const [code, expected, more] of cells) {
      const result = await run_code({ language, session: name, code, ...more });
      const got = structuredOf(result);
      const want = typeof expected === 'string' ? { stdout: expected, exit_code: 0 } : expected;
      for (const [key, value] of Object.entries(want)) {
        const where = `${key} of ${code}: ${JSON.stringify(got)}`;
        if (value instanceof RegExp) assert.match(String(got[key]), value, where);
        else assert.deepEqual(got[key], value, where);
      }
    }
  });
}

session('bash', [
  ['x=5; declare -A m=([a]=b); f() { echo "f $x ${m[a]}"; }; alias ll="echo listed"; mkdir -p d && cd d', ''],
  ['f; ll; pwd', 'f 5 b\nlisted\n/workspace/d\n'],
  ['false', { exit_code: 1 }],
  ['echo $?', '1\n'],
  ['if true; then', { exit_code: 2, stderr: /line 2: syntax error/ }],
  ['echo one\nnot-a-program', { exit_code: 127, stdout: 'one\n', stderr: /line 2: not-a-program: command not found/ }],
  ['x=6; exit 3', { exit_code: 3 }],
  ['echo "$?"; f; ll; pwd', '3\nf 6 b\nlisted\n/workspace/d\n'],
  ['pwd; read line; echo "$line $A $1"', '/\nfrom stdin value one\n', { stdin: 'from stdin\n', env: { A: 'value' }, args: ['one'], cwd: '/' }],
  ['echo "[$A]"; cat', '[]\n'],
]);

session('bash', [
  ['set -eu; x=1', ''],
  ['x=2; false; echo no', { exit_code: 1, stdout: '' }],
  ['echo $x; x=3; echo $missing', { stdout: '2\n', stderr: /missing: unbound variable/ }],
  ['echo $x; set +eu; set -x', '3\n'],
  ['echo traced', { stdout: 'traced\n', stderr: /^\++ echo traced\n$/ }],
  ['set +x; IFS=:; TMOUT=1; printf() { echo replaced; }; read() { return 1; }', ''],
  ['sleep 1.5; printf x; exec 3>three; echo kept >&3; cat three', 'replaced\nkept\n'],
]);

test('a bash cell that takes too long is interrupted, and the session keeps its state', async () => {
  const run = (code, more) => run_code({ language: 'bash', session: 'slow', code, ...more });
  for (const code of ['sleep 600', 'while :; do :; done', 'sleep 600 | cat']) {
    const { timed_out } = structuredOf(await run(`x='${code}'; ${code}; echo no`, { timeout_s: 1 }));
    assert.equal(timed_out, true);
    assert.equal(structuredOf(await run('echo "$x"')).stdout, `${code}\n`);
  }
});

test('a bash session that ends says so', async () => {
  const run = (code) => run_code({ language: 'bash', session: 'ends', code });
  await run('x=1');
  assert.match(textOf(await run('exec true')), /state/);
  assert.match(textOf(await run('echo "[$x]"')), /\[\]/);
});
