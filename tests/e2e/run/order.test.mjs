// Output, values and pictures are answered in the order in which they appeared.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, structuredOf } from '../lib/sandboxed.mjs';

const { run_code, run_command } = sandboxed();
const texts = (result) => result.content.map((block) => block.text ?? block.type);

test('stdout and stderr of a command alternate as they were printed', async () => {
  const command = 'echo 1; sleep 0.3; echo 2 >&2; sleep 0.3; echo 3';
  const result = await run_command({ command });
  assert.deepEqual(texts(result), ['1\n[belljar: stderr]\n2\n[belljar: stdout]\n3\n']);
  assert.equal(structuredOf(result).stdout, '1\n3\n');
  assert.equal(structuredOf(result).stderr, '2\n');
});

// The agent sees which of two pipes got bytes first, but not always: the kernel may report both at once.
test('a program that prints to both streams and exits at once is answered in order', async () => {
  for (const [command, expected] of [
    ['echo 1 >&2; echo 2', '[belljar: stderr]\n1\n[belljar: stdout]\n2\n'],
    ['echo 1; echo 2 >&2', '1\n[belljar: stderr]\n2\n'],
  ]) {
    let good = 0;
    for (let i = 0; i < 20; i++) good += texts(await run_command({ command }))[0] === expected;
    assert.ok(good >= 16, `${command}: ${good} of 20`);
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
