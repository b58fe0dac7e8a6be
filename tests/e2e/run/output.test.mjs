// Output of programs: its size, bytes that are not text, order, escape sequences.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, structuredOf, allTextOf as textOf } from '../lib/sandboxed.mjs';

const { run_code, run_command } = sandboxed();
const MIB = 1024 * 1024;
const MAX = 24_000;

test('50 MiB of stdout is answered with its beginning, end and exact counts, and kept in a file', async () => {
  const result = await run_command({
    command: `printf 'first line\\n'; head -c ${50 * MIB} /dev/zero | tr '\\0' x; printf '\\nlast line\\n'`,
  });
  const told = structuredOf(result);
  const total = 50 * MIB + 'first line\n\nlast line\n'.length;
  assert.equal(told.stdout_bytes, total);
  assert.equal(told.truncated, true);
  assert.equal(told.exit_code, 0);
  assert.ok(told.stdout.startsWith('first line\nxxx'));
  assert.ok(told.stdout.endsWith('xxx\nlast line\n'));
  const [gap, missing] = /\n\[belljar: (\d+) bytes left out\]\n/.exec(told.stdout);
  assert.equal(Number(missing) + told.stdout.length - gap.length, total);
  assert.deepEqual(told.files, [told.stdout_file]);
  const comma = (n) => Number(n).toLocaleString('en-US');
  assert.ok(
    textOf(result).endsWith(
      `[belljar: ${comma(total)} bytes of stdout, ${comma(missing)} left out in the middle; all of it is in ${told.stdout_file}]`,
    ),
    textOf(result).slice(-300),
  );
  assert.ok(Buffer.byteLength(textOf(result)) <= MAX);
  const size = await run_command({ argv: ['stat', '-c', '%s', told.stdout_file] });
  assert.equal(textOf(size), `${total}\n`);
  const ends = await run_command({ command: `head -c 11 ${told.stdout_file}; tail -c 11 ${told.stdout_file}` });
  assert.equal(textOf(ends), 'first line\n\nlast line\n');
});

test('two long streams share the space of a result', async () => {
  const result = await run_code({
    code: 'import sys\nsys.stdout.write("o" * 300000)\nsys.stderr.write("e" * 300000)\nsys.exit(9)',
  });
  const told = structuredOf(result);
  assert.equal(told.stdout_bytes, 300_000);
  assert.equal(told.stderr_bytes, 300_000);
  assert.equal(told.exit_code, 9);
  assert.ok(told.stderr_file && told.stdout_file);
  const count = (letter) => told[letter === 'o' ? 'stdout' : 'stderr'].split(letter).length - 1;
  assert.ok(count('o') > 5000 && count('e') > 5000, `${count('o')} ${count('e')}`);
  assert.ok(Buffer.byteLength(textOf(result)) <= MAX);
  assert.match(textOf(result), /\[belljar: exit code 9\]/);
});

test('output that fits into memory but not into the result is kept in files', async () => {
  const code = 'import sys\nsys.stdout.write("o" * 15000)\nsys.stderr.write("e" * 15000)';
  const result = await run_code({ code });
  const told = structuredOf(result);
  assert.equal(told.truncated, true);
  assert.deepEqual(told.files, [told.stdout_file, told.stderr_file].filter(Boolean));
  assert.ok(told.files.length >= 1);
  assert.doesNotMatch(textOf(result), /not kept/);
  for (const file of told.files)
    assert.equal(textOf(await run_command({ argv: ['stat', '-c', '%s', file] })), '15000\n');
  const alone = structuredOf(await run_code({ code: 'print("o" * 23000)' }));
  assert.equal(alone.truncated, true);
  assert.equal(textOf(await run_command({ argv: ['stat', '-c', '%s', alone.stdout_file] })), '23001\n');
});

test('a value that is too long is cut, and the answer says what to do', async (t) => {
  const CUT = 'a value is too long and was cut: print a part of it, or write it to a file';
  for (const [language, code, session] of [['python', "'v' * 30000"], ['python', "'v' * 30000", 'p'], ['ruby', "'v' * 30000"], ['ruby', "'v' * 30000", 'r'],
    ['javascript', "[...'abcd'].map((c) => c.repeat(9000))"], ['javascript', "[...'abcd'].map((c) => c.repeat(9000))", 'j']]) {
    const result = await run_code({ language, code, session });
    if (result.isError) { t.diagnostic(textOf(result)); continue; }
    assert.equal(structuredOf(result).truncated, true, language);
    assert.ok(structuredOf(result).values[0].text.length < 25000);
    assert.equal(structuredOf(result).note, CUT);
    assert.equal(result.content.at(-1).text, `[belljar: ${CUT}]`);
  }
});

test('multi-byte characters are never cut', async () => {
  const { stdout, stdout_bytes } = structuredOf(await run_code({ code: 'print("€" * 100000, end="")' }));
  assert.equal(stdout_bytes, 300_000);
  assert.match(stdout, /^€+\n\[belljar: \d+ bytes left out\]\n€+$/);
  const [, missing] = /(\d+) bytes/.exec(stdout);
  assert.equal(Number(missing) + 3 * (stdout.split('€').length - 1), 300_000);
});

const BYTES = [
  ['NUL', 'a\\0b\\n', 'a\u2400b\n'],
  ['not UTF-8', 'a\\xffb\\xc3(\\xe2\\x82\\n', 'a\ufffdb\ufffd(\ufffd\ufffd\n'],
  ['colours', '\\x1b[31mred\\x1b[0m\\n', 'red\n'],
  ['a window title and the clipboard', '\\x1b]0;t\\x07\\x1b]52;c;aGk=\\x07x\\n', 'x\n'],
  ['bells', 'a\\x07b\\n', 'ab\n'],
  ['backspaces', 'ab\\x08\\x08cd\\n', 'cd\n'],
  ['line ends of Windows', 'a\\r\\nb\\r\\n', 'a\nb\n'],
  ['a progress bar', '10%\\r20%\\n', '20%\n'],
];

for (const [name, bytes, want] of BYTES)
  test(`bytes that are no plain text: ${name}`, async () => {
    const result = await run_code({ code: `import sys\nsys.stdout.buffer.write(b"${bytes}")` });
    assert.equal(structuredOf(result).stdout, want);
    assert.equal(textOf(result), want);
  });

test('a MiB of random bytes is answered as text', async () => {
  const result = await run_command({ command: `head -c ${MIB} /dev/urandom` });
  assert.equal(structuredOf(result).stdout_bytes, MIB);
  assert.ok(Buffer.byteLength(textOf(result)) <= MAX);
  assert.doesNotMatch(textOf(result), /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/);
});

test('output keeps its order within a stream', async () => {
  const code = 'import os\nfor i in range(1000):\n  os.write(1, b"o%d\\n" % i); os.write(2, b"e%d\\n" % i)';
  const { stdout, stderr } = structuredOf(await run_code({ code }));
  const lines = (letter) => [...Array(1000).keys()].map((i) => `${letter}${i}\n`).join('');
  assert.equal(stdout, lines('o'));
  assert.equal(stderr, lines('e'));
});

test('output of child processes is kept in order', async () => {
  const code = 'import subprocess\nprint("a", flush=True)\nsubprocess.run(["echo", "b"])\nprint("c")';
  assert.equal(textOf(await run_code({ code })), 'a\nb\nc\n');
});

test('a long traceback of a cell leaves room for what was printed', async () => {
  const code = 'print("p" * 100)\nraise ValueError("m" * 200000)';
  const result = await run_code({ code, session: 'long' });
  const { stdout, error } = structuredOf(result);
  assert.equal(stdout, `${'p'.repeat(100)}\n`);
  assert.equal(error.name, 'ValueError');
  assert.ok(Buffer.byteLength(textOf(result)) <= MAX);
});

test('progress bars are folded to their last state, in both streams', async () => {
  const bar = `for i in $(seq 200); do printf "\\r%3d%%|%s" $((i / 2)) '####'; done; printf "\\n"`;
  const told = structuredOf(await run_command({ command: `echo begin; ${bar}; { ${bar}; } >&2; printf 'wait |\\b/\\b-\\bdone'` }));
  assert.equal(told.stdout, 'begin\n100%|####\nwait done');
  assert.equal(told.stderr, '100%|####\n');
});
