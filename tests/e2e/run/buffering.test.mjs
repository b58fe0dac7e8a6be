// What a program has printed is seen although it was killed, or still runs: no runtime keeps it in a
// buffer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { sandboxed, structuredOf } from '../lib/sandboxed.mjs';

const { run_code, run_command } = sandboxed();
const has = (program) => spawnSync('which', [program]).status === 0;

const ORDER = "import subprocess\nprint('a')\nsubprocess.run('echo b', shell=True)\nprint('c')\n";

for (const [name, run] of [
  ['fresh', () => run_code({ code: ORDER })],
  ['session', () => run_code({ code: ORDER, session: 'order' })],
  ['run_command', () => run_command({ argv: ['python3', '-c', ORDER] })],
])
  test(`a child's output stands between its parent's: ${name}`, async () => {
    assert.equal(structuredOf(await run()).stdout, 'a\nb\nc\n');
  });

const missing = (program) => !has(program) && `there is no ${program}`;

// Each program prints without a flush and then kills itself.
const killed = {
  python: "import os\nprint('seen', end='')\nos.kill(os.getpid(), 9)",
  perl: "print 'seen'; kill 9, $$",
  ruby: "print 'seen'; Process.kill 9, $$",
  lua: "print('seen') os.execute('kill -9 $PPID')",
  c: '#include <stdio.h>\n#include <signal.h>\nint main(void) { puts("seen"); raise(SIGKILL); }',
  cpp: '#include <iostream>\n#include <csignal>\nint main() { std::cout << "seen\\n"; raise(SIGKILL); }',
  fortran: "print '(a)', 'seen'\ncall kill(getpid(), 9)\nend",
  javascript: "console.log('seen'); process.kill(process.pid, 9)",
};
const commands = { python: 'python3', c: 'gcc', cpp: 'g++', fortran: 'gfortran', javascript: 'node', sqlite: 'sqlite3' };

for (const [language, code] of Object.entries(killed))
  test(`output in front of SIGKILL is answered: ${language}`, { skip: missing(commands[language] ?? language) }, async () => {
    const told = structuredOf(await run_code({ language, code }));
    assert.equal(told.signal, 'SIGKILL');
    assert.equal(told.stdout.trim(), 'seen');
  });

// A time-out ends every program with the same signals: an interpreted and a compiled language are enough, and those
// that write their buffer before they start a program, such as kill.
const waiting = {
  python: "import time\nprint('seen', end='')\ntime.sleep(60)",
  c: '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("seen"); sleep(60); }',
  awk: 'BEGIN { print "seen"; while (1) { } }',
  sqlite: "SELECT 'seen'; WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT count(*) FROM r;",
};

for (const [language, code] of Object.entries(waiting))
  test(`output in front of a time-out is answered: ${language}`, { skip: missing(commands[language] ?? language) }, async () => {
    const told = structuredOf(await run_code({ language, code, timeout_s: 8 }));
    assert.equal(told.timed_out, true);
    assert.equal(told.stdout.trim(), 'seen');
  });

for (const argv of [
  ['python3', '-c', killed.python],
  ['perl', '-e', killed.perl],
])
  test(`run_command ${argv[0]} answers output in front of SIGKILL`, { skip: missing(argv[0]) }, async () => {
    assert.equal(structuredOf(await run_command({ argv })).stdout, 'seen');
  });

test('a variable of the call switches the buffer on again', async () => {
  const argv = ['python3', '-c', 'import sys; print(sys.stdout.write_through)'];
  assert.equal(structuredOf(await run_command({ argv })).stdout, 'True\n');
  assert.equal(structuredOf(await run_command({ argv, env: { PYTHONUNBUFFERED: '' } })).stdout, 'False\n');
});

test('a silent time-out names the buffer as a reason', async () => {
  const result = await run_command({ argv: ['sleep', '60'], timeout_s: 1 });
  assert.match(result.content.at(-1).text, /no output arrived/);
  assert.match(structuredOf(result).note, /^timed out after 1 s: .*no output arrived \(a program that buffers it needs stdbuf -oL/);
});

test('an unfinished line of a program with threads is seen while it runs', async () => {
  for (const more of [{}, { session: 'dots' }]) {
    const code = "import threading, time\nthreading.Thread(target=int).start()\nprint('.', 7, end='')\ntime.sleep(60)";
    const { stdout, timed_out } = structuredOf(await run_code({ code, timeout_s: 1, ...more }));
    assert.deepEqual({ stdout, timed_out }, { stdout: '. 7', timed_out: true });
  }
});
