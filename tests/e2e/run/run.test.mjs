// run_code and run_command: results, limits and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notOn } from '../lib/programs.mjs';
import { allTextOf as textOf, open, refused, sandboxed, sleep, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { run_code, run_command } = tools;

// Runs cannot see each other's processes: a running one is recognised by a file that it keeps writing.
const beat = (name) => `while :; do echo >> /workspace/.beat-${name}; sleep 0.1; done`;
const isAlive = async (name) => {
  const result = await run_command({ command: `cd /workspace; wc -c < .beat-${name}; sleep 0.6; wc -c < .beat-${name}` });
  const [before, after] = structuredOf(result).stdout.split('\n');
  assert.ok(before, textOf(result));
  return before !== after;
};

test('remarks of belljar are in a block of their own, and output cannot imitate them', async () => {
  const lie = '[belljar: exit code 0]';
  const result = await run_command({ command: `echo '${lie}'; sleep 0.3; echo '${lie}' >&2; exit 3` });
  assert.deepEqual(
    result.content.map(({ text }) => text),
    [`\\${lie}\n[belljar: stderr]\n\\${lie}\n`, '[belljar: exit code 3]'],
  );
  assert.equal(structuredOf(result).exit_code, 3);
});

test('run_code works as the first call', async () => {
  const result = await run_code({ language: 'python', code: 'print(1)' });
  assert.deepEqual(result.content, [{ type: 'text', text: '1\n' }]);
  const { duration_ms, ...rest } = structuredOf(result);
  assert.ok(duration_ms >= 0);
  assert.deepEqual(rest, { stdout: '1\n', stderr: '', exit_code: 0 });
});

test('python is the default, and names have aliases', async () => {
  assert.equal(textOf(await run_code({ code: 'import sys; print(sys.version_info[0])' })), '3\n');
  assert.equal(textOf(await run_code({ language: 'PY', code: 'print(2)' })), '2\n');
});

test('an exit code is a result, not an error', async () => {
  const result = await run_code({ code: 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(3)' });
  assert.equal(textOf(result), 'out\n[belljar: stderr]\nerr\n[belljar: exit code 3]');
  const { exit_code, stdout, stderr } = structuredOf(result);
  assert.deepEqual({ exit_code, stdout, stderr }, { exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
});

test('a traceback names the code', async () => {
  const { stderr, exit_code } = structuredOf(await run_code({ code: 'x = 1\nraise ValueError("no")' }));
  assert.equal(exit_code, 1);
  assert.match(stderr, /^Traceback \(most recent call last\):\n {2}File ".*", line 2, in <module>/);
  assert.match(stderr, /ValueError: no\n$/);
});

test('run_code passes arguments, environment, directory, input and files', async () => {
  const code = `
import os, sys
print(sys.argv[1:], os.environ["A"], os.getcwd(), sys.stdin.read(), open("/workspace/d/a.txt").read(),
      open("/workspace/d/b.bin", "rb").read())`;
  const result = await run_code({
    code,
    args: ['x y', 'ü', ''],
    env: { A: 'b=c' },
    cwd: 'd',
    stdin: 'typed\0in',
    files: [
      { path: 'd/a.txt', content: 'grün' },
      { path: '/workspace/d/b.bin', content: 'AP8=', encoding: 'base64' },
    ],
  });
  assert.equal(
    structuredOf(result).stdout,
    "['x y', 'ü', ''] b=c /workspace/d typed\u2400in grün b'\\x00\\xff'\n",
  );
});

test('files stay from call to call, processes do not share variables', async () => {
  await run_code({ code: 'open("kept.txt", "w").write("yes"); kept = 1' });
  const result = await run_code({ code: 'print(open("kept.txt").read(), "kept" in globals())' });
  assert.equal(textOf(result), 'yes False\n');
});

test('a run without output says so', async () => {
  assert.equal(textOf(await run_code({ code: 'pass' })), '[belljar: no output; exit code 0]');
});

test('a run that was killed names the signal', async () => {
  const result = await run_command({ command: 'echo so far; kill -SEGV $$' });
  const { signal, exit_code, stdout } = structuredOf(result);
  assert.equal(signal, 'SIGSEGV');
  assert.equal(exit_code, undefined);
  assert.equal(stdout, 'so far\n');
  assert.match(textOf(result), /^so far\n\[belljar: killed by SIGSEGV/);
});

test('code of 5 MiB runs, and one byte more does not', async () => {
  const end = '\nprint("end")\n';
  const code = '#'.repeat(5 * 1024 * 1024 - end.length) + end;
  assert.equal(textOf(await run_code({ code })), 'end\n');
  refused(
    await run_code({ code: `#${code}` }),
    /^argument 'code': expected a string of at most 5242880 bytes, got 5242881$/,
  );
});

test('run_command runs a line with bash', async () => {
  const result = await run_command({ command: 'x=(a b); echo "${x[1]}" | tr b c; echo $((6 * 7)); false' });
  assert.equal(textOf(result), 'c\n42\n[belljar: exit code 1]');
  assert.match(textOf(await run_command({ command: 'echo $BASH_VERSION' })), /^\d/);
});

test('run_command runs a program and its arguments without a shell', async () => {
  const result = await run_command({ argv: ['printf', '%s|', 'a b', '$HOME', ';', "'"] });
  assert.equal(textOf(result), "a b|$HOME|;|'|");
});

test('run_command reports a missing program', async () => {
  const line = await run_command({ command: 'no-such-program' });
  assert.equal(structuredOf(line).exit_code, 127);
  assert.match(textOf(line), /no-such-program: command not found/);
  refused(await run_command({ argv: ['no-such-program'] }), /no-such-program/);
});

test('git commits in a new sandbox, and an identity of its own counts more', notOn('docker', 'the image has a /etc of its own'), async (t) => {
  if (structuredOf(await run_command({ command: 'command -v git' })).exit_code !== 0) return t.skip('there is no git');
  const commit = 'git init -q repo && cd repo && git commit -q --allow-empty -m 1 && git log --format="%an <%ae>"';
  assert.equal(structuredOf(await run_command({ command: commit })).stdout, 'coderunner <coderunner@sandbox>\n');
  const own = 'git config user.name Me && git commit -q --allow-empty -m 2 && git log -1 --format=%an';
  assert.equal(structuredOf(await run_command({ command: own, cwd: 'repo' })).stdout, 'Me\n');
});

test('run_code tells a compile error from a failure of the program', notOn('docker', 'the image has no compiler'), async (t) => {
  const result = await run_code({ language: 'c', code: 'int main(void) { return 0 }' });
  if (result.isError && /not (installed|there)|no .*compiler/i.test(textOf(result))) return t.skip(textOf(result));
  const { compile_error, stderr, exit_code } = structuredOf(result);
  assert.equal(compile_error, true);
  assert.notEqual(exit_code, 0);
  assert.match(stderr, /error: expected/);
  const good = await run_code({ language: 'c', code: '#include <stdio.h>\nint main(void) { puts("c"); return 4; }' });
  assert.equal(textOf(good), 'c\n[belljar: exit code 4]');
  assert.equal(structuredOf(good).compile_error, undefined);
});

test('a run past timeout_s is killed and keeps its output', async () => {
  const code = `import subprocess, time\nprint("before", flush=True)
subprocess.Popen(["setsid", "bash", "-c", "${beat('timed')}"])\ntime.sleep(600)`;
  const result = await run_code({ code, timeout_s: 1.5 });
  const { timed_out, stdout, exit_code } = structuredOf(result);
  assert.equal(timed_out, true);
  assert.equal(stdout, 'before\n');
  assert.equal(exit_code, undefined);
  assert.match(
    textOf(result),
    /^before\n\[belljar: timed out after 1\.5 s: the program and all it started were ended; what arrived is above\]\n\[belljar: for more time pass a larger timeout_s, or background: true/,
  );
  assert.match(structuredOf(result).note, /^timed out after 1\.5 s: .*; for more time pass a larger timeout_s/);
  assert.equal(await isAlive('timed'), false);
});

test('a run over the memory limit is killed, and the result names the limit', async () => {
  const code = 'print("begin", flush=True)\nx = bytearray(64 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1';
  const { stdout, exit_code, signal } = structuredOf(await run_code({ code }));
  assert.equal(stdout, 'begin\n');
  assert.ok(exit_code !== 0 || signal);
  assert.equal(textOf(await run_code({ code: 'print("alive")' })), 'alive\n');
});

test('empty code runs, as an empty cell of a notebook does', async () => {
  for (const more of [{}, { session: 'empty' }, { language: 'bash' }, { language: 'bash', session: 'empty-bash' }]) {
    const result = await run_code({ code: '', ...more });
    assert.ok(!result.isError, textOf(result));
    assert.match(textOf(result), /^\[belljar: no output/);
  }
});

const BAD = [
  ['run_code', {}, /^argument 'code' is missing: expected a string of at most 5242880 bytes$/],
  ['run_code', { code: 5 }, /^argument 'code': expected a string .*, got the number 5$/],
  ['run_code', { code: 'x', language: 'pythn' }, /^argument 'language': "pythn" is not known, did you mean "python"\?; there are: .*javascript/],
  ['run_code', { code: 'x', language: 7 }, /^argument 'language': expected a string/],
  ['run_code', { code: 'x', langauge: 'c' }, /^argument 'langauge' is not known; did you mean 'language'\? There are: code, language, /],
  ['run_code', { code: 'x', language: 'perl', session: 's' }, /^argument 'session': Perl keeps no state between calls; leave it out, or use one of python, javascript, /],
  ['run_code', { code: 'x', session: '' }, /^argument 'session': expected a string of 1 to 64 bytes/],
  ['run_code', { code: 'x', session: 's'.repeat(65) }, /^argument 'session': expected a string of at most 64 bytes/],
  ['run_code', { code: 'x', timeout_s: -1 }, /^argument 'timeout_s': expected a number from 0 to 86400, got the number -1$/],
  ['run_code', { code: 'x', timeout_s: 604800 }, /^argument 'timeout_s': expected at most \d+ seconds, got 604800/],
  ['run_code', { code: 'x', timeout_s: '5s' }, /^argument 'timeout_s': expected a number/],
  ['run_code', { code: 'x', env: { 'A=B': 'c' } }, /^argument 'env': "A=B" cannot be a variable's name/],
  ['run_code', { code: 'x', env: { '': 'c' } }, /^argument 'env': "" cannot be a variable's name/],
  ['run_code', { code: 'x', env: { A: [5] } }, /^argument 'env.A': expected a string/],
  ['run_code', { code: 'x', env: ['A'] }, /^argument 'env': expected an object with string values/],
  ['run_code', { code: 'x', args: 'a b' }, /^argument 'args': expected an array of strings/],
  ['run_code', { code: 'x', args: ['a\0b'] }, /^argument 'args\[0\]': contains a NUL character/],
  ['run_code', { code: 'x', cwd: '' }, /^argument 'cwd': the path is empty/],
  ['run_code', { code: 'x', cwd: 'not/there' }, /^argument 'cwd': .*not\/there/],
  ['run_code', { code: 'x', cwd: 'not/there', session: 'n' }, /^argument 'cwd': .*not\/there/],
  ['run_code', { code: 'x', cwd: '/etc/passwd' }, /^argument 'cwd': the path is not a directory$/],
  ['run_code', { code: 'x', sandbox: 'nobodys' }, /^there is no sandbox 'nobodys'; list_sandboxes/],
  ['run_code', { code: 'x', sandbox: '../../etc' }, /sandbox/],
  ['run_code', { code: 'x', files: [{ path: 'a', content: '!', encoding: 'base64' }] }, /^argument 'files\[0\]\.content': not base64 at byte 0$/],
  ['run_code', { code: 'x', files: [{ path: 'a' }] }, /^argument 'files\[0\]\.content' is missing/],
  ['run_code', { code: 'x', files: [{ path: '', content: '' }] }, /^argument 'files\[0\]\.path': expected a string of 1 to 4095 bytes/],
  ['run_command', {}, /^argument 'command' is missing: expected a shell line, or 'argv'/],
  ['run_command', { command: 'x'.repeat(60001) }, /^argument 'command': expected a string of at most 60000 bytes, got 60001/],
  ['run_command', { argv: [] }, /^argument 'command' is missing/],
  ['run_command', { command: 'a', argv: ['b'] }, /^arguments 'command' and 'argv': give one of them/],
  ['run_command', { command: '' }, /^argument 'command': expected a string of 1 to/],
  ['run_command', { argv: [''] }, /^argument 'argv\[0\]': expected a program, got an empty string$/],
  ['run_command', { argv: ['ls -la'] }, /^argument 'argv\[0\]': 'ls -la' is not the name of a program: give each argument its own string, or pass a shell line as 'command'$/],
  ['run_command', { argv: ['~/x'] }, /^'~\/x' begins with ~, which only shells expand: use \/home\/coderunner\/x/],
  ['run_command', { argv: 'ls -l' }, /^argument 'argv': expected an array of strings/],
  ['run_command', { command: 'x', cwd: '/not/there' }, /^argument 'cwd': .*\/not\/there/],
  ['run_command', { argv: ['x'], cwd: '/etc/passwd' }, /^argument 'cwd': the path is not a directory$/],
  ['run_command', { command: 'x', sandbox: 'nobodys' }, /^there is no sandbox 'nobodys'; list_sandboxes/],
  ['run_command', { command: 'x', background: 'yes' }, /^argument 'background': expected true or false/],
];

for (const [name, args, why] of BAD)
  test(`refused: ${name} ${JSON.stringify(args).slice(0, 60)}`, async () => refused(await tools[name](args), why));

test('a language that is not installed lists those that are', async (t) => {
  for (const language of ['rust', 'java', 'go', 'r', 'lua', 'php', 'julia', 'haskell']) {
    const result = await run_code({ language, code: '1' });
    if (!result.isError) continue;
    return assert.match(textOf(result), /python/, textOf(result));
  }
  t.skip('everything is installed');
});

test('cancelling kills the run and nothing else', async () => {
  const background = structuredOf(await run_command({ command: beat('background'), background: true }));
  await run_code({ code: 'x = 5', session: 'kept' });
  const abort = new AbortController();
  const doomed = run_command({ command: `${beat('child')} & ${beat('doomed')}` }, { signal: abort.signal });
  await sleep(1000);
  assert.deepEqual(await Promise.all(['doomed', 'child', 'background'].map(isAlive)), [true, true, true]);
  abort.abort('enough');
  await assert.rejects(doomed, /enough/);
  for (let i = 0; i < 10 && (await isAlive('doomed')); i++);
  assert.deepEqual(await Promise.all(['doomed', 'child', 'background'].map(isAlive)), [false, false, true]);
  assert.equal(textOf(await run_code({ code: 'x', session: 'kept' })), '5');
  structuredOf(await tools.process_stop({ process: background.process }));
  assert.equal(await isAlive('background'), false);
});

test('cancelling a cell interrupts it and keeps its session', async () => {
  await run_code({ code: 'x = 7', session: 'cells' });
  const abort = new AbortController();
  const doomed = run_code({ code: 'import time\nx = 8\ntime.sleep(600)', session: 'cells' }, { signal: abort.signal });
  await sleep(1000);
  abort.abort('enough');
  await assert.rejects(doomed, /enough/);
  assert.equal(textOf(await run_code({ code: 'x', session: 'cells' })), '8');
});

test('a session keeps state, and shows the last value', async () => {
  const first = await run_code({ code: 'import math\na = 20\ndef f(x): return x * 2\nprint("defined")', session: 's' });
  assert.equal(textOf(first), 'defined\n');
  assert.equal(structuredOf(first).session, 's');
  const second = await run_code({ code: 'print("p")\nf(a) + math.floor(2.5)', session: 's' });
  assert.equal(textOf(second), 'p\n42');
  assert.deepEqual(structuredOf(second).values, [{ mime: 'text/plain', text: '42' }]);
  const other = await run_code({ code: 'a', session: 'other' });
  assert.equal(structuredOf(other).error.name, 'NameError');
  assert.match(textOf(other), /NameError: name 'a' is not defined/);
  assert.equal(textOf(await run_code({ code: 'b = 1', session: 's' })), '[belljar: no output]');
});

test('a JavaScript session keeps state', async (t) => {
  const first = await run_code({ language: 'javascript', code: 'let n = 40; console.log("log")', session: 'js' });
  if (first.isError) return t.skip(textOf(first));
  assert.match(textOf(first), /^log\n/);
  assert.match(textOf(await run_code({ language: 'js', code: 'n + 2', session: 'js' })), /42/);
});

test('an exception does not change the session', async () => {
  await run_code({ code: 'v = [1]', session: 'e' });
  const result = await run_code({ code: 'v.append(2)\n1 / 0', session: 'e' });
  const { error, exit_code } = structuredOf(result);
  assert.equal(error.name, 'ZeroDivisionError');
  assert.equal(error.message, 'division by zero');
  assert.match(error.traceback, /line 2/);
  assert.equal(exit_code, 1);
  assert.equal(textOf(await run_code({ code: 'v', session: 'e' })), '[1, 2]');
});

test('a session that dies says that its state is lost', async () => {
  await run_code({ code: 'w = 1', session: 'dies' });
  const dead = await run_code({ code: 'import os\nos.kill(os.getpid(), 9)', session: 'dies' });
  assert.equal(structuredOf(dead).state_lost, true);
  assert.match(textOf(dead), /\[belljar: the session's state is lost/);
  const next = await run_code({ code: 'print("w" in globals())', session: 'dies' });
  assert.match(textOf(next), /^False\n/);
});

test('a cell past its time-out is interrupted and keeps its session', async () => {
  await run_code({ code: 'k = 1', session: 'slow' });
  const result = await run_code({ code: 'import time\nk = 2\ntime.sleep(600)', session: 'slow', timeout_s: 1 });
  const { timed_out, state_lost } = structuredOf(result);
  assert.equal(timed_out, true);
  assert.equal(state_lost, undefined);
  assert.equal(textOf(await run_code({ code: 'k', session: 'slow' })), '2');
});

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

test('a plot comes back as a picture', async (t) => {
  const has = await run_code({ code: 'import importlib.util as u; print(bool(u.find_spec("matplotlib")))' });
  if (textOf(has) !== 'True\n') return t.skip('matplotlib is not installed');
  const result = await run_code({ code: 'import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])', session: 'plot' });
  const image = result.content.find((block) => block.type === 'image');
  assert.equal(image.mimeType, 'image/png');
  assert.deepEqual([...Buffer.from(image.data, 'base64').subarray(0, 8)], PNG);
  assert.equal(result.structuredContent, undefined);
  assert.match(textOf(result), /\[belljar: picture: \/workspace\/\.belljar\/[^\]]+\.png\]/);
  assert.equal(result.content.filter((block) => block.type === 'image').length, 1);
});

const picture = (name, sides, bytes = '') => `
import struct, zlib
def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
${name} = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", ${sides}, ${sides}, 8, 2, 0, 0, 0))
${name} += chunk(b"IDAT", zlib.compress((b"\\0" + b"\\xff\\0\\0" * ${sides}) * ${sides})) + chunk(b"IEND", b"") ${bytes}
class Picture:
  def __init__(self, data): self.data = data
  def _repr_png_(self): return self.data
`;

test('an object with a picture representation is shown once', async () => {
  const result = await run_code({ code: `${picture('p', 4)}\nprint("see")\nPicture(p)`, session: 'own' });
  assert.deepEqual(result.content.map((block) => block.type), ['text', 'image']);
  assert.match(textOf(result), /^see\n\[belljar: picture: \/workspace\/\.belljar\/[^\]]+\.png\]$/);
  assert.equal(result.structuredContent, undefined);
  const path = /: (\/[^\]]+)\]/.exec(textOf(result))[1];
  const saved = await run_code({ code: `import base64\nprint(base64.b64encode(open("${path}", "rb").read()).decode())` });
  assert.equal(textOf(saved).trim(), result.content[1].data);
});

test('a file that is no picture is not sent as one', async () => {
  const code = `${picture('p', 4)}\nPicture(b"<script>alert(1)</script>")`;
  const result = await run_code({ code, session: 'own' });
  assert.deepEqual(result.content.map((block) => block.type), ['text']);
});

test('calls on one sandbox run in parallel', async () => {
  // Each call waits for the files of all others.
  const meet = (n) => `mkdir -p met; touch met/${n}; until [ $(ls met | wc -l) = 4 ]; do sleep 0.1; done; echo ${n}`;
  const all = await Promise.all([1, 2, 3, 4].map((n) => run_command({ command: meet(n) })));
  assert.deepEqual(all.map((result) => structuredOf(result).stdout), ['1\n', '2\n', '3\n', '4\n']);
});

test('a long call answers in time with a process id', async (t) => {
  const session = await open(t, { ANSWER_WITHIN: 6000 });
  const soft = toolsOf(async () => session);
  structuredOf(await soft.run_code({ code: 'pass' }));   // makes the sandbox, which takes time on a busy machine
  const seen = [];
  const result = await soft.run_code(
    { code: 'import time\nfor i in range(9):\n  print("step", i, flush=True)\n  time.sleep(1)' },
    { onprogress: (step) => seen.push(step) },
  );
  const { running, process, next, stdout, exit_code } = structuredOf(result);
  assert.equal(running, true);
  assert.equal(exit_code, undefined);
  assert.match(process, /^p\d+$/);
  assert.match(stdout, /^step 0\n/);
  assert.equal(next, Buffer.byteLength(stdout));
  assert.match(textOf(result), new RegExp(`\\[belljar: running as ${process} \\(for at most \\d+ s\\): .*process_output {"process":"${process}","since":${next}`));
  assert.ok(seen.length >= 1);
  assert.match(seen.at(-1).message, /^\d+ s: (step \d\n?)+$/);
  let all = stdout, since = next, answer;
  do {
    answer = structuredOf(await soft.process_output({ process, since, wait_s: 5 }));
    all += answer.stdout;
    since = answer.next;
  } while (answer.running || answer.more);
  assert.equal(all, [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => `step ${i}\n`).join(''));
  assert.equal(answer.exit_code, 0);
  await session.close();
});

test('calls in a sandbox that is deleted meanwhile say so', async () => {
  structuredOf(await tools.create_sandbox({ name: 'leaving' }));
  const sandbox = 'leaving';
  structuredOf(await run_command({ command: 'true', sandbox }));
  const running = [
    run_command({ command: 'sleep 600', sandbox }),
    run_code({ code: 'import time; time.sleep(600)', session: 's', sandbox }),
  ];
  await sleep(500);
  structuredOf(await tools.delete_sandbox({ sandbox }));
  for (const result of await Promise.all(running))
    refused(result, /^the sandbox was put to sleep, reset or deleted meanwhile: call again$/);
});

// Belljar starts /usr/bin/python3 before it knows which one is the first along PATH.
test('a Python of the user is preferred', async () => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({ memory_mb: 300 }));
  const content = '#!/bin/sh\nOTHER=yes exec /usr/bin/python3 "$@"\n';
  structuredOf(await tools.write_file({ sandbox, path: '/home/coderunner/.local/bin/python3', content, executable: true }));
  for (let i = 0; i < 2; i++) {
    const result = await tools.run_code({ sandbox, code: "import os; print(os.environ['OTHER'])" });
    assert.equal(structuredOf(result).stdout, 'yes\n');
  }
});
