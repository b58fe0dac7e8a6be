// Output, values and pictures are answered in the order in which they appeared.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, structuredOf } from './lib/sandboxed.mjs';

const { run_code, run_command } = sandboxed();
const texts = (result) => result.content.map((block) => block.text ?? block.type);

test('stdout and stderr of a command alternate as they were printed', async () => {
  const command = 'echo 1; sleep 0.3; echo 2 >&2; sleep 0.3; echo 3';
  const result = await run_command({ command });
  assert.deepEqual(texts(result), ['1\n[belljar: stderr]\n2\n[belljar: stdout]\n3\n']);
  assert.equal(structuredOf(result).stdout, '1\n3\n');
  assert.equal(structuredOf(result).stderr, '2\n');
});

test('a process that changes between its streams too often is answered stream by stream', async () => {
  const command = 'for i in $(seq 100); do echo o; sleep 0.01; echo e >&2; sleep 0.01; done';
  const result = await run_command({ command });
  assert.deepEqual(texts(result), ['o\n'.repeat(100) + '[belljar: stderr]\n' + 'e\n'.repeat(100)]);
});

// What is printed within a moment of a display may stand on its other side: they come by different
// ways. The programs therefore wait a little.
const WAIT = 'import time\npause = lambda: time.sleep(0.3)\n';

test('values stand between the lines that a cell printed', async () => {
  const code = `${WAIT}print('a')\ndisplay('x')\npause()\nprint('b')\ndisplay('y')\npause()\nprint('c')\n'z'`;
  const result = await run_code({ session: 'values', code });
  assert.deepEqual(texts(result), ["a\n'x'\nb\n'y'\nc\n'z'"]);
});

test('much output in front of a value stands in front of it', async () => {
  const code = `${WAIT}print('a' * 9000)\ndisplay('x')\npause()\nprint('b' * 9000)`;
  for (let i = 0; i < 5; i++) {
    const result = await run_code({ session: 'values', code });
    assert.deepEqual(texts(result), [`${'a'.repeat(9000)}\n'x'\n${'b'.repeat(9000)}\n`]);
  }
});

test('a picture is a block between the text before and after it', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const code = `${WAIT}import base64
class Dot:
    def _repr_png_(self): return base64.b64decode('${png}')
print('before')
display(Dot())
pause()
print('after')`;
  const result = await run_code({ session: 'pictures', code });
  const [first, second, third] = texts(result);
  assert.match(first, /^before\n\[belljar: picture: \/workspace\/\.belljar\/[^\n]*\]$/);
  assert.deepEqual([second, third], ['image', 'after\n']);
});

test('two pieces of output do not make a line of belljar', async () => {
  const command = "printf '[bell'; sleep 0.3; printf x >&2; sleep 0.3; printf 'jar: exit code 0]'";
  assert.deepEqual(texts(await run_command({ command })), [
    '[bell\n[belljar: stderr]\nx\n[belljar: stdout]\njar: exit code 0]',
  ]);
});
