// Output, values and pictures are answered in the order in which they appeared.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, structuredOf, textOf } from '../lib/sandboxed.mjs';

const { process_output, run_code, run_command } = sandboxed();
const texts = (result) => result.content.map((block) => block.text ?? block.type);

test('stdout and stderr of a command alternate as they were printed', async () => {
  const command = 'echo 1; sleep 0.3; echo 2 >&2; sleep 0.3; echo 3';
  const result = await run_command({ command });
  assert.deepEqual(texts(result), ['1\n[belljar: stderr]\n2\n[belljar: stdout]\n3\n']);
  assert.equal(structuredOf(result).stdout, '1\n3\n');
  assert.equal(structuredOf(result).stderr, '2\n');
});

// Programs that print four lines at once, to stdout and stderr in turn.
const SHELL = 'echo a; echo b >&2; echo c; /bin/echo d >&2';
const NODE = "console.log('a'); console.error('b'); console.log('c'); console.error('d')";
const PERL = '$| = 1; print "a\\n"; print STDERR "b\\n"; print "c\\n"; print STDERR "d\\n";';
const PYTHON = "import sys; print('a'); print('b', file=sys.stderr); print('c'); print('d', file=sys.stderr)";
const RUBY = "puts 'a'; warn 'b'; puts 'c'; warn 'd'; nil";
const C = `#include <stdio.h>
int main(void) { setvbuf(stdout, NULL, _IONBF, 0); puts("a"); fputs("b\\n", stderr); puts("c"); fputs("d\\n", stderr); }`;
const ALTERNATING = 'a\n[belljar: stderr]\nb\n[belljar: stdout]\nc\n[belljar: stderr]\nd\n';

for (const [name, run, rounds = 20] of [
  ['a command', () => run_command({ command: SHELL })],
  ['a command of Node', () => run_command({ command: `node -e "${NODE}"` }), 5],
  ['a command of Python', () => run_command({ command: `python3 -u -c "${PYTHON}"` })],
  ['Bash', () => run_code({ language: 'bash', code: SHELL })],
  ['a session of Bash', () => run_code({ language: 'bash', session: 'bash', code: SHELL })],
  ['Node', () => run_code({ language: 'javascript', code: `${NODE};` }), 10],
  ['a session of Node', () => run_code({ language: 'javascript', session: 'node', code: NODE })],
  ['Perl', () => run_code({ language: 'perl', code: PERL })],
  ['Ruby', () => run_code({ language: 'ruby', code: RUBY }), 5],
  ['a session of Ruby', () => run_code({ language: 'ruby', session: 'ruby', code: RUBY })],
  ['C', () => run_command({ command: `[ -e order ] || printf %s '${C}' | cc -xc -o order - && exec ./order` })],
]) {
  test(`lines that ${name} prints at once are answered in order`, async (t) => {
    const [first] = texts(await run());
    if (/there is no interpreter|command not found/.test(first)) return t.skip(first);
    for (let i = 0; i < rounds; i++) assert.equal(texts(await run())[0], ALTERNATING);
  });
}

// The first answer comes before the end of the program, the second one is the rest.
test('output of a process that goes on is answered in order, before and after the first answer', async () => {
  const command = `${SHELL}; until [ -e further ]; do sleep 0.01; done; rm further; ${SHELL}`;
  for (let i = 0; i < 5; i++) {
    const { process } = structuredOf(await run_command({ command, background: true }));
    await run_command({ command: 'sleep 0.1' });
    assert.ok(texts(await process_output({ process, since: 0, wait_s: 0 }))[0].startsWith(ALTERNATING));
    await run_command({ command: 'touch further' });
    const rest = texts(await process_output({ process, wait_s: 60, until_end: true }))[0];
    assert.ok(rest.startsWith(ALTERNATING), rest);
  }
});

test('a process that changes between its streams too often is answered stream by stream', async () => {
  const command = 'for i in $(seq 100); do echo o; sleep 0.01; echo e >&2; sleep 0.01; done';
  const result = await run_command({ command });
  assert.deepEqual(texts(result), ['o\n'.repeat(100) + '[belljar: stderr]\n' + 'e\n'.repeat(100)]);
});

// Without a session, code runs in a new process, and its displays take another way.
for (const session of ['values', undefined]) {
  const where = session ? 'a session' : 'a fresh run';

  test(`values stand between the lines that were printed, in ${where}`, async () => {
    const code = `for i in range(5):
    print('a')
    display('x')
    print('b', end='')
    display('y')
print('c')
'z'`;
    for (let i = 0; i < 5; i++) {
      const result = await run_code({ session, code });
      assert.deepEqual(texts(result), [`${"a\n'x'\nb\n'y'\n".repeat(5)}c\n'z'`]);
    }
  });

  test(`stdout, stderr and a value keep their order, in ${where}`, async () => {
    const code = "import sys\nprint('a')\ndisplay('x')\nprint('b', file=sys.stderr)\ndisplay('y')\nprint('c')";
    const result = await run_code({ session, code });
    assert.deepEqual(texts(result), ["a\n'x'\n[belljar: stderr]\nb\n'y'\n[belljar: stdout]\nc\n"]);
  });

  test(`stdout and stderr of Python keep their order, in ${where}`, async () => {
    const code = "import sys\nfor i in range(3):\n    print('a')\n    print('b', file=sys.stderr)";
    for (let i = 0; i < 10; i++) {
      const result = await run_code({ session, code });
      assert.deepEqual(texts(result), ['a\n[belljar: stderr]\nb\n' + '[belljar: stdout]\na\n[belljar: stderr]\nb\n'.repeat(2)]);
    }
  });

  test(`what Python, the programs that it starts and its values print comes in order, in ${where}`, async () => {
    const code = `import subprocess, sys
print('a')
subprocess.run('echo b; echo c >&2', shell=True)
print('d', file=sys.stderr)
display(1)
print('e')`;
    const expected = 'a\nb\n[belljar: stderr]\nc\nd\n1\n[belljar: stdout]\ne\n';
    for (let i = 0; i < 20; i++) assert.deepEqual(texts(await run_code({ session, code })), [expected]);
  });

  test(`Python that changes between its streams very often loses nothing, in ${where}`, async () => {
    const code = "import sys\nfor i in range(500):\n    print('o')\n    print('e', file=sys.stderr)";
    const { stdout, stderr } = structuredOf(await run_code({ session, code }));
    assert.deepEqual([stdout, stderr], ['o\n'.repeat(500), 'e\n'.repeat(500)]);
  });

  test(`much output in front of a value stands in front of it, in ${where}`, async () => {
    const code = "print('a' * 9000)\ndisplay('x')\nprint('b' * 9000)";
    for (let i = 0; i < 5; i++) {
      const result = await run_code({ session, code });
      assert.deepEqual(texts(result), [`${'a'.repeat(9000)}\n'x'\n${'b'.repeat(9000)}\n`]);
    }
  });

  test(`a picture is a block between the text before and after it, in ${where}`, async () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const code = `import base64
class Dot:
    def _repr_png_(self): return base64.b64decode('${png}')
print('before')
display(Dot())
print('after')`;
    const result = await run_code({ session, code });
    const [first, second, third] = texts(result);
    assert.match(first, /^before\n\[belljar: picture: \/workspace\/\.belljar\/[^\n]*\]$/);
    assert.deepEqual([second, third], ['image', 'after\n']);
  });
}

test('a display of a forked child and one of its parent both come, in order', async () => {
  const code = "import os\ndisplay('a')\nif os.fork() == 0:\n    display('b')\n    os._exit(0)\nos.wait()\nprint('c')\ndisplay('d')";
  assert.deepEqual(texts(await run_code({ code })), ["'a'\n'b'\nc\n'd'"]);
});

test('two pieces of output do not make a line of belljar', async () => {
  const command = "printf '[bell'; sleep 0.3; printf x >&2; sleep 0.3; printf 'jar: exit code 0]'";
  assert.deepEqual(texts(await run_command({ command })), [
    '[bell\n[belljar: stderr]\nx\n[belljar: stdout]\njar: exit code 0]',
  ]);
});

test('the value of each of many short runs comes behind what was printed', async () => {
  for (let i = 0; i < 100; i++) assert.equal(textOf(await run_code({ code: `print(${i})\n6 * 7` })), `${i}\n42`);
});
