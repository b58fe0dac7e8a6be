// Background processes: start, output, input, stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BELLJAR, ENGINE } from '../lib/programs.mjs';
import { start as startRaw } from '../lib/raw.mjs';
import { open, refused, sandboxed, sleep, stateDir, structuredOf, allTextOf as textOf, toolsOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { run_code, run_command, process_output, process_input, process_stop } = tools;

const start = async (command, more) =>
  structuredOf(await run_command({ command, background: true, ...more }));

test('a background process answers at once, and is read from later', async () => {
  const { process, running, exit_code, next } = await start('for i in 1 2 3; do echo $i; sleep 2; done; exit 4');
  assert.equal(running, true);
  assert.equal(exit_code, undefined);
  let text = '', since = 0, answer;
  do {
    answer = structuredOf(await process_output({ process, since, wait_s: 10 }));
    text += answer.stdout;
    since = answer.next;
  } while (answer.running || answer.more);
  assert.equal(text, '1\n2\n3\n');
  assert.equal(answer.exit_code, 4);
  assert.equal(since, 6);
  assert.ok(next <= 2);
  const again = await process_output({ process, since: 2 });
  assert.equal(textOf(again), '2\n3\n[belljar: exit code 4]');
  const nothing = await process_output({ process });
  assert.equal(textOf(nothing), '[belljar: exit code 4]');
});

test('without since, each answer goes on where the last ended', async () => {
  const { process } = await start('echo a; sleep 1; echo b; sleep 1; echo c');
  let text = '', answer;
  do {
    answer = structuredOf(await process_output({ process, wait_s: 10 }));
    text += answer.stdout;
  } while (answer.running || answer.more);
  assert.ok('a\nb\nc\n'.endsWith(text), text); // the first answer had what came first
  assert.ok(text.endsWith('b\nc\n'), text);
  assert.equal(textOf(await process_output({ process })), '[belljar: no new output; exit code 0]');
});

test('the answer with the last output of a process tells its end', async () => {
  const { process } = await start('sleep 1; echo done');
  assert.equal(textOf(await process_output({ process, wait_s: 60, until_end: true })), 'done\n[belljar: exit code 0]');
  const cell = structuredOf(await run_code({ code: 'import time; time.sleep(1); print(2)', session: 'end', background: true }));
  assert.equal(textOf(await process_output({ process: cell.process, wait_s: 60, until_end: true })), '2\n[belljar: exit code 0]');
});

test('ps and pkill of one call find what another call runs, and the agent is not among it', async () => {
  const { process } = await start('exec -a its-own-name sleep 600');
  const { stdout } = structuredOf(await run_command({ command: 'ps -eo args' }));
  assert.match(stdout, /^its-own-name 600$/m);
  if (ENGINE !== 'docker') assert.doesNotMatch(stdout, /belljar/); // there the agent has the id of its programs
  assert.equal(structuredOf(await run_command({ command: 'pkill -f ^its-own-name' })).exit_code, 0);
  const { running, signal } = structuredOf(await process_output({ process, until_end: true }));
  assert.deepEqual({ running, signal }, { running: false, signal: 'SIGTERM' });
});

test('a background process that fails at once is reported at once', async () => {
  let result;
  for (let i = 0; i < 5; i++) {
    result = await run_command({ command: 'echo no >&2; exit 7', background: true });
    if (!structuredOf(result).running) break; // on a busy machine it may take longer than it waits
  }
  const { running, exit_code, stderr, process } = structuredOf(result);
  assert.deepEqual({ running, exit_code, stderr }, { running: false, exit_code: 7, stderr: 'no\n' });
  assert.match(textOf(result), /\[belljar: exit code 7\]/);
  assert.equal(structuredOf(await process_output({ process })).exit_code, 7);
});

test('wait_s returns as soon as there is output', async () => {
  const { process } = await start('sleep 1; echo now; sleep 600');
  const began = Date.now();
  const { stdout, running } = structuredOf(await process_output({ process, wait_s: 40 }));
  assert.ok(Date.now() - began < 35_000);
  assert.deepEqual({ stdout, running }, { stdout: 'now\n', running: true });
  const before = Date.now();
  const nothing = structuredOf(await process_output({ process, wait_s: 0.5 }));
  assert.ok(Date.now() - before >= 450);
  assert.deepEqual([nothing.stdout, nothing.running], ['', true]);
  structuredOf(await process_stop({ process }));
});

test('process_input writes to a background process', async () => {
  const { process } = await start('cat; echo over');
  const told = structuredOf(await process_input({ process, stdin: 'grün\n' }));
  assert.deepEqual(told, { process, written: 6, closed: false, next: 0 });
  assert.equal(structuredOf(await process_output({ process, wait_s: 10 })).stdout, 'grün\n');
  await process_input({ process, stdin: 'AP8K', encoding: 'base64' });
  assert.equal(structuredOf(await process_output({ process, wait_s: 10 })).stdout, '\u2400\ufffd\n');
  assert.equal(structuredOf(await process_input({ process, close: true })).closed, true);
  let text = '', answer;
  do {
    answer = structuredOf(await process_output({ process, wait_s: 10 }));
    text += answer.stdout;
  } while (answer.running || answer.more);
  assert.equal(text, 'over\n');
  assert.equal(answer.exit_code, 0);
  refused(await process_input({ process, stdin: 'x' }), /has ended/);
});

test('an interpreter in the background answers its input', async () => {
  const { process } = await start('python3 -uqi 2>/dev/null');
  await process_input({ process, stdin: 'x = 6\nprint(x * 7)\n' });
  assert.equal(structuredOf(await process_output({ process, wait_s: 20 })).stdout, '42\n');
  await process_input({ process, stdin: 'exit(3)\n' });
  const { exit_code } = structuredOf(await process_output({ process, wait_s: 20 }));
  assert.equal(exit_code, 3);
});

test('process_stop kills the whole tree, and may be called twice', async () => {
  const { process } = await start(
    'trap "echo bye; exit 5" TERM; (while :; do echo >> /workspace/beat; sleep 0.1; done) & echo up; wait',
  );
  structuredOf(await process_output({ process, wait_s: 5, since: 0 }));
  const first = await process_stop({ process });
  const { running, exit_code, stdout } = structuredOf(first);
  assert.deepEqual({ running, exit_code, stdout }, { running: false, exit_code: 5, stdout: 'bye\n' });
  const second = await process_stop({ process });
  assert.match(textOf(second), /\[belljar: it had ended before this call\]/);
  assert.equal(structuredOf(second).exit_code, 5);
  const beats = structuredOf(await run_command({ command: 'wc -c < beat; sleep 0.6; wc -c < beat' })).stdout.split('\n');
  assert.ok(beats[0]);
  assert.equal(beats[0], beats[1]);
});

test('process_stop kills a process that ignores SIGTERM', async () => {
  const { process } = await start('trap "" TERM; while :; do sleep 0.1; done');
  const { running, signal } = structuredOf(await process_stop({ process }));
  assert.deepEqual({ running, signal }, { running: false, signal: 'SIGKILL' });
});

test('process_stop with force kills at once', async () => {
  const { process } = await start('trap "echo never" TERM; while :; do sleep 0.1; done');
  const { running, signal, stdout } = structuredOf(await process_stop({ process, force: true }));
  assert.deepEqual({ running, signal, stdout }, { running: false, signal: 'SIGKILL', stdout: '' });
});

test('a background process has a time limit if it is given one', async () => {
  const { process } = await start('sleep 600', { timeout_s: 1 });
  const { timed_out, running } = structuredOf(await process_output({ process, wait_s: 20 }));
  assert.deepEqual({ timed_out, running }, { timed_out: true, running: false });
});

test('process_output reports limits, offsets and output that is no longer kept', async () => {
  const { process } = await start('seq 1 2000000; echo end');
  let answer;
  for (let i = 0; i < 100; i++) {
    answer = structuredOf(await process_output({ process, since: 0, limit: 100 }));
    if (!answer.running) break;
    await sleep(200);
  }
  const part = await process_output({ process, since: 0, limit: 100 });
  const told = structuredOf(part);
  assert.ok(told.stdout.length <= 100);
  assert.equal(told.more, true);
  assert.equal(told.truncated, true);
  assert.match(textOf(part), /^\[belljar: \d+ bytes before this are no longer kept\]\n/);
  const total = told.stdout_bytes;
  const end = structuredOf(await process_output({ process, since: total - 4 }));
  assert.equal(end.stdout, 'end\n');
  assert.equal(end.next, total);
  const beyond = structuredOf(await process_output({ process, since: total + 1000 }));
  assert.equal(beyond.stdout, '');
});

test('a call that became a process can be stopped by its id', async (t) => {
  const session = await open(t, { ANSWER_WITHIN: 3000 });
  const soft = toolsOf(async () => session);
  await soft.run_code({ code: 'x = 1', session: 's' });
  const { process, running } = structuredOf(
    await soft.run_code({ code: 'import time\nx = 2\ntime.sleep(600)', session: 's' }),
  );
  assert.equal(running, true);
  const { running: still } = structuredOf(await soft.process_stop({ process }));
  assert.equal(still, false);
  assert.equal(textOf(await soft.run_code({ code: 'x', session: 's' })), '2');
  refused(await soft.process_input({ process, stdin: 'x' }), /has ended/);
  await session.close();
});

test('process_input is refused for a process without open stdin', async (t) => {
  const session = await open(t, { ANSWER_WITHIN: 1000 });
  const soft = toolsOf(async () => session);
  const { process } = structuredOf(await soft.run_command({ command: 'sleep 600' }));
  refused(await soft.process_input({ process, stdin: 'x' }), /^the stdin of p\d+ is not open/);
  await soft.process_stop({ process });
  await session.close();
});

test('cancelling process_output leaves the process running', async () => {
  const { process } = await start('sleep 2; echo later');
  const abort = new AbortController();
  const waiting = process_output({ process, wait_s: 40 }, { signal: abort.signal });
  await sleep(300);
  abort.abort('enough');
  await assert.rejects(waiting, /enough/);
  assert.equal(structuredOf(await process_output({ process, wait_s: 20 })).stdout, 'later\n');
});

test('a process is found by its id, but not in another sandbox', async () => {
  const made = structuredOf(await tools.create_sandbox({ name: 'second' }));
  assert.ok(made);
  const { process, sandbox } = await start('sleep 600', { sandbox: 'second' });
  assert.ok(sandbox);
  assert.equal(structuredOf(await process_output({ process })).running, true);
  assert.equal(structuredOf(await process_output({ process, sandbox: 'second' })).sandbox, sandbox);
  const here = await start('sleep 600');
  refused(
    await process_output({ process: here.process, sandbox: 'second' }),
    /^argument 'process': there is no process "p\d+" in that sandbox/,
  );
  await process_stop({ process: here.process });
  await tools.delete_sandbox({ sandbox: 'second' });
  refused(await process_output({ process }), /^argument 'process': /);
});

const BAD = [
  ['process_output', {}, /^argument 'process' is missing/],
  ['process_output', { process: 7 }, /^argument 'process': expected a string/],
  ['process_output', { process: '' }, /^argument 'process': expected a string of 1 to/],
  ['process_output', { process: 'p99999' }, /^argument 'process': there is no process "p99999"; sandbox_info/],
  ['process_output', { process: 'p1', sandbox: 'nobodys' }, /^argument 'sandbox': there is no sandbox "nobodys"; list_sandboxes/],
  ['process_output', { process: 'p1', since: -2 }, /^argument 'since': expected an integer from -1/],
  ['process_output', { process: 'p1', since: 'x' }, /^argument 'since': expected an integer/],
  ['process_output', { process: 'p1', wait_s: 3601 }, /^argument 'wait_s': expected a number from 0 to 3600/],
  ['process_output', { process: 'p1', limit: -1 }, /^argument 'limit': expected an integer from 0/],
  ['process_input', { process: 'p99999', stdin: 'x' }, /^argument 'process': .*p99999/],
  ['process_input', { process: 'p1' }, /^argument 'stdin' is empty: give text, or close: true/],
  ['process_input', { process: 'p1', stdin: 'x', encoding: 'latin1' }, /^argument 'encoding': expected one of "utf-8", "base64"/],
  ['process_input', { process: 'p1', stdin: '?', encoding: 'base64' }, /^argument 'stdin': not base64 at byte 0$/],
  ['process_input', { process: 'p1', stdin: 'x'.repeat(1024 * 1024 + 1) }, /^argument 'stdin': expected a string of at most 1048576 bytes/],
  ['process_stop', { process: 'p99999' }, /^argument 'process': .*p99999/],
  ['process_stop', { process: 'p1', force: 1 }, /^argument 'force': expected true or false/],
];

for (const [name, args, why] of BAD)
  test(`refused: ${name} ${JSON.stringify(args).slice(0, 60)}`, async () => refused(await tools[name](args), why));

for (const background of [true, false])
  test(`a client that leaves ends what runs (background: ${background})`, async (t) => {
    const dir = stateDir(t);
    const server = startRaw(t, BELLJAR, { env: { BELLJAR_STATE_DIR: dir } });
    await server.handshake('2025-06-18');
    const command = { command: 'echo > /workspace/up; sleep 600', background };
    const id = server.ask('tools/call', { name: 'run_command', arguments: command });
    if (background) await server.answer(id);
    for (let up; !up; )
      up = textOf((await server.call('run_command', { command: 'ls' })).result).includes('up');
    const began = Date.now();
    await server.close();
    assert.ok(Date.now() - began < 60_000, `${Date.now() - began} ms`);
  });

test('run_code in the background answers at once, and its process takes input', async () => {
  const code = "print('begun')\nprint('got', input())";
  const { process, running, stdout } = structuredOf(await run_code({ code, background: true }));
  assert.equal(running, true);
  let all = stdout;
  structuredOf(await process_input({ process, stdin: 'bread\n' }));
  for (let told = { running: true }; told.running; all += told.stdout)
    told = structuredOf(await process_output({ process, wait_s: 30 }));
  assert.equal(all, 'begun\ngot bread\n');
});

test('a cell in the background leaves its session usable', async () => {
  const session = 'aside';
  const code = "import time\nprint('begun')\ntime.sleep(2)\nx = 5\nprint('done')";
  const { process } = structuredOf(await run_code({ code, session, background: true }));
  assert.match(process, /^p\d+$/);
  assert.equal(structuredOf(await run_code({ code: 'print(x)', session })).stdout, '5\n');
  const told = structuredOf(await process_output({ process, since: 0, wait_s: 30 }));
  assert.equal(told.stdout, 'begun\ndone\n');
});

test('a program that runs for a while and prints nothing may buffer its output', async () => {
  const { process } = await start('sleep 1000');
  const { note } = structuredOf(await process_output({ process, wait_s: 2 }));
  assert.match(note, /^no output so far: a program that buffers it needs stdbuf -oL, or to flush$/);
  await process_stop({ process });
});
