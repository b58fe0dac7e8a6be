// Sandboxes that a server has awake, used at the same time by commands in a terminal and by other servers.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { verbsOf } from '../lib/host.mjs';
import { BELLJAR, PATIENCE_MS, serverEnv, VERSION } from '../lib/programs.mjs';
import { allTextOf, open, stateDir, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const env = serverEnv({ ASAN_OPTIONS: 'detect_leaks=0' });

async function server(t, state) {
  const session = await open(t, { STATE_DIR: state });
  return { session, ...Object.fromEntries(['run_command', 'run_code', 'sandbox_info', 'reset_sandbox', 'delete_sandbox', 'update_sandbox', 'process_output', 'list_sandboxes', 'list_directory']
    .map((name) => [name, (args, options) => toolsOf(async () => session)[name](args, options)])) };
}

const stdoutOf = async (result) => structuredOf(await result).stdout;

test('logs shows what is running, and what ended with a server that was killed', async (t) => {
  const state = stateDir(t);
  const { session, run_command, process_output } = await server(t, state);
  const verb = verbsOf({ state });
  const runs = () => JSON.parse(verb('logs', ['--json', 'default']).stdout).runs.map(({ what, outcome }) => [what.replace(/^\S+ -c /, ''), outcome]);
  const until = async (wanted) => {
    for (let i = 0; i < 200 && JSON.stringify(runs()) !== JSON.stringify(wanted); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(runs(), wanted);
  };
  const { process } = structuredOf(await run_command({ command: 'read line; exit 3', background: true }));
  await run_command({ command: 'sleep 1000', background: true });
  await until([['read line; exit 3', 'running'], ['sleep 1000', 'running']]);
  await toolsOf(async () => session).process_input({ process, stdin: 'x\n' });
  await process_output({ process, wait_s: 5 });
  await until([['read line; exit 3', 'exit code 3'], ['sleep 1000', 'running']]);
  globalThis.process.kill(session.transport.pid, 'SIGKILL');
  await until([['read line; exit 3', 'exit code 3'], ['sleep 1000', 'ended with its server']]);
  const { run_command: again } = await server(t, state);
  await again({ command: 'true' });
  await until([['read line; exit 3', 'exit code 3'], ['sleep 1000', 'ended with its server'], ['true', 'exit code 0']]);
});

test('the next run after the default sandbox was deleted says so, once', async (t) => {
  const state = stateDir(t);
  const { run_command, run_code, update_sandbox } = await server(t, state);
  const GONE = /\[belljar: the sandbox that earlier calls used was deleted or has expired, with its files and sessions: this is a new one\]/;
  assert.doesNotMatch(allTextOf(await run_command({ command: 'echo 1 > f; ls' })), GONE);
  assert.equal(verbsOf({ state })('rm', ['default']).status, 0);
  assert.match(allTextOf(await run_code({ code: 'import os; print(os.listdir())' })), GONE);
  assert.doesNotMatch(allTextOf(await run_command({ command: 'ls' })), GONE);
  await update_sandbox({ name: 'kept' }); // calls use a new sandbox, but the old one is there
  assert.doesNotMatch(allTextOf(await run_command({ command: 'ls' })), GONE);
});

test('commands in a terminal use a sandbox that a server has awake', async (t) => {
  const state = stateDir(t);
  const { session, run_command, sandbox_info } = await server(t, state);
  const verb = verbsOf({ state });
  const files = mkdtempSync(join(tmpdir(), 'belljar-share-'));
  t.after(() => rmSync(files, { recursive: true, force: true }));
  await run_command({ command: 'echo from the server > note; sleep 1000', background: true });

  const read = verb('exec', ['--sandbox', 'default', 'cat', 'note']);
  assert.deepEqual([read.status, read.stdout, read.stderr], [0, 'from the server\n', '']);
  const piped = verb('exec', ['--sandbox', 'default', 'sh', '-c', 'wc -c; head -c 3000000 /dev/zero; exit 7'], 'x'.repeat(2_000_000));
  assert.deepEqual([piped.status, piped.stdout.length], [7, '2000000\n'.length + 3_000_000]);
  assert.equal(verb('exec', ['--sandbox', 'default', 'no-such-program']).status, 127);

  writeFileSync(join(files, 'in'), 'y'.repeat(5_000_000));
  assert.equal(verb('cp', [join(files, 'in'), 'default:copied']).status, 0);
  assert.equal(await stdoutOf(run_command({ command: 'wc -c < copied' })), '5000000\n');
  assert.equal(verb('cp', ['default:copied', join(files, 'out')]).status, 0);
  assert.equal(readFileSync(join(files, 'out')).length, 5_000_000);
  assert.match(verb('logs', ['default']).stdout, /cat note/);

  // A terminal: script(1) gives one to the command.
  const drawn = spawnSync('script', ['-qec', `${BELLJAR} exec --state-dir ${state} -t --sandbox default sh -c 'test -t 0 && stty size && cat note; exit 5'`, '/dev/null'], { env, encoding: 'utf8', timeout: PATIENCE_MS });
  if (!drawn.error) {
    assert.equal(drawn.status, 5);
    assert.match(drawn.stdout, /\d+ \d+\r\n.*from the server\r\n/);
  }
  assert.equal(verb('exec', ['-t', 'true']).status, 2);

  const { id, processes } = structuredOf(await sandbox_info());
  assert.ok(processes.some(({ state }) => state === 'running'), 'the process of the server still runs');
  const listed = JSON.parse(verb('ps', ['--json']).stdout).sandboxes;
  assert.deepEqual(listed.map(({ id, name, state }) => [id, name, state]), [[id, 'default', 'awake']]);

  assert.equal(verb('exec', ['--sandbox', 'other', 'true']).status, 0);
  const removed = verb('rm', ['nonesuch', 'default', 'other']);
  assert.deepEqual([removed.status, removed.stderr], [1, "belljar: there is no sandbox 'nonesuch'\n"]);
  assert.deepEqual(JSON.parse(verb('ps', ['--json']).stdout).sandboxes, []);
  assert.equal(await stdoutOf(run_command({ command: 'ls' })), '');
  await session.close();
});

test('two servers of one user share the default sandbox', async (t) => {
  const state = stateDir(t);
  const first = await server(t, state);
  const second = await server(t, state);
  const { id } = structuredOf(await first.sandbox_info());
  await first.run_command({ command: 'echo 1 > shared' });
  assert.equal(structuredOf(await second.sandbox_info()).id, id);
  assert.equal(await stdoutOf(second.run_command({ command: 'cat shared' })), '1\n');
  structuredOf(await first.run_code({ code: 'x = 1', session: 's' }));
  assert.match(allTextOf(await second.run_code({ code: 'x', session: 's' })), /NameError/, 'sessions belong to their server');
  const started = structuredOf(await second.run_command({ command: 'echo begun; sleep 1000', background: true }));
  assert.equal(structuredOf(await second.list_sandboxes()).sandboxes.length, 1);

  // The first server ends, and with it what runs in its sandbox. The files stay.
  await first.session.close();
  const ended = await second.process_output({ process: started.process, wait_s: 20 });
  assert.match(allTextOf(ended), /the server that had it awake has exited/);
  assert.ok(ended.isError || ended.structuredContent.running === false, JSON.stringify(ended));
  assert.equal(await stdoutOf(second.run_command({ command: 'cat shared' })), '1\n');
  assert.equal(structuredOf(await second.sandbox_info()).id, id);

  // Now the second server has it awake, and a third one is the guest.
  const third = await server(t, state);
  assert.equal(await stdoutOf(third.run_command({ command: 'cat shared' })), '1\n');
  structuredOf(await third.reset_sandbox());
  assert.equal(await stdoutOf(second.run_command({ command: 'ls' })), '');
  assert.equal(await stdoutOf(third.run_command({ command: 'ls' })), '');
  structuredOf(await third.delete_sandbox({ sandbox: id }));
  assert.notEqual(structuredOf(await second.sandbox_info()).id, id);
  await third.session.close();
  await second.session.close();
});

test('a second server changes a sandbox that the first one has awake', async (t) => {
  const state = stateDir(t);
  const first = await server(t, state);
  const second = await server(t, state);
  await first.run_command({ command: 'true' });
  const changed = await second.update_sandbox({ sandbox: 'default', name: 'ours', env: { NEW: 'yes' }, labels: { a: 'b' }, idle_s: 99, disk_mb: 3000 });
  const { name, labels, idle_s, limits } = structuredOf(changed);
  assert.deepEqual([name, labels, idle_s, limits.disk_mb], ['ours', { a: 'b' }, 99, 3000]);
  for (const { run_command, sandbox_info } of [first, second]) {
    assert.equal(await stdoutOf(run_command({ sandbox: 'ours', command: 'echo $NEW' })), 'yes\n');
    assert.equal(structuredOf(await sandbox_info({ sandbox: 'ours' })).limits.disk_mb, 3000);
  }
  const { isError } = await second.update_sandbox({ sandbox: 'ours', name: '.x' });
  assert.ok(isError, 'the first server refuses what it would refuse its own client');
  await second.session.close();
  await first.session.close();
});

test('a new conversation is told that the default sandbox was used before', async (t) => {
  const state = stateDir(t);
  const told = (session) => / The default sandbox was used before, last on \d{4}-\d\d-\d\d, and keeps its files: list_directory shows them, reset_sandbox removes them\.$/.test(session.client.getInstructions());
  const first = await server(t, state);
  assert.equal(told(first.session), false);
  await first.run_command({ command: 'touch kept' });
  const second = await server(t, state);
  assert.equal(told(second.session), true);
  structuredOf(await second.delete_sandbox({ sandbox: 'default' }));
  const third = await server(t, state);
  assert.equal(told(third.session), false);
  for (const { session } of [first, second, third]) await session.close();
});

test('a command ends when the server that holds its sandbox is killed', async (t) => {
  const state = stateDir(t);
  const { session, run_command } = await server(t, state);
  const verb = verbsOf({ state });
  await run_command({ command: 'echo kept > file' });
  const child = spawn(BELLJAR, ['exec', '--state-dir', state, '--sandbox', 'default', 'sh', '-c', 'echo begun; sleep 1000'], { env });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const ended = new Promise((resolve) => child.once('close', resolve));
  process.kill(session.transport.pid, 'SIGKILL');
  assert.equal(await ended, 1);
  assert.match(stderr, /^belljar: .*the server that had it awake has exited/);
  const again = verb('exec', ['--sandbox', 'default', 'cat', 'file']);
  assert.deepEqual([again.status, again.stdout, again.stderr], [0, 'kept\n', '']);
  verb('rm', ['default']);
  // While a helper of the dead server exits, it has the lock.
  const left = () => readdirSync(join(state, 'servers'));
  for (let i = 0; i < 100 && left().length !== 0; i++) verb('ps');
  assert.deepEqual(left(), [], 'lock and socket of the dead server are removed');
});

test('a call whose sandbox another server resets is answered, although further calls wake the sandbox at once', async (t) => {
  const state = stateDir(t);
  const first = await server(t, state);
  await first.run_command({ command: 'true' });
  const second = await server(t, state);
  for (let round = 0; round < 5; round++) {
    const interrupted = second.run_command({ command: 'touch begun; sleep 1000' });
    await first.run_command({ command: 'until [ -e begun ]; do sleep 0.02; done' });
    let isReset = false;
    const reset = first.reset_sandbox({}).finally(() => (isReset = true));
    const others = [];
    for (let n = 0; n < 3000 && !isReset; n++) {
      others.push(second.list_directory({ path: '.' }).catch((e) => assert.match(e.message, /max_calls/)));
      await new Promise(setImmediate);
    }
    structuredOf(await reset);
    assert.match(allTextOf(await interrupted), /the sandbox (ended|was put to sleep)/);
    await Promise.all(others);
  }
  for (const { session } of [second, first]) await session.close();
});

test('another user cannot connect to a server', async (t) => {
  if (process.getuid() !== 0) return t.skip('needs root to become another user');
  const state = stateDir(t);
  const { session, run_command, sandbox_info } = await server(t, state);
  const { id } = structuredOf(await sandbox_info());
  const socket = join(state, 'servers', readdirSync(join(state, 'servers')).find((name) => name.endsWith('.sock')));
  const script = `
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
try:
    s.connect(sys.argv[1])
    s.sendall(sys.argv[2].encode().ljust(64, b'\\0') + (1).to_bytes(4, sys.byteorder) + sys.argv[3].encode().ljust(60, b'\\0'))
    print('answer of', len(s.recv(1)))
except OSError as e:
    print(type(e).__name__)`;
  const attack = (uid) =>
    spawnSync('python3', ['-c', script, socket, VERSION, id], { uid, gid: uid, cwd: '/', encoding: 'utf8' }).stdout.trim();
  if (spawnSync('python3', ['-c', ''], { uid: 65534, gid: 65534, cwd: '/' }).status !== 0) return t.skip('needs python3');
  assert.equal(attack(65534), 'PermissionError', 'the directory keeps other users out');
  chmodSync(join(state, 'servers'), 0o755);
  chmodSync(socket, 0o777);
  assert.match(attack(65534), /^(answer of 0|ConnectionResetError|BrokenPipeError)$/, 'the server itself does too');
  assert.equal(attack(0), 'answer of 1');
  assert.equal(await stdoutOf(run_command({ command: 'echo fine' })), 'fine\n');
  await session.close();
  assert.ok(!existsSync(socket));
});

test('malformed requests and frames end the connection to a server', async (t) => {
  if (spawnSync('python3', ['-c', '']).status !== 0) return t.skip('needs python3');
  const state = stateDir(t);
  const { session, run_command, sandbox_info } = await server(t, state);
  const { id } = structuredOf(await sandbox_info());
  const socket = join(state, 'servers', readdirSync(join(state, 'servers')).find((name) => name.endsWith('.sock')));
  const script = `
import json, os, socket, struct, sys
path, version, sandbox = sys.argv[1:]
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(path)
    return s
def request(version, kind, sandbox):
    return version.encode().ljust(64, b'\\0') + struct.pack('=I', kind) + sandbox.encode().ljust(60, b'\\0')
def read_all(s):
    got = b''
    try:
        while more := s.recv(65536): got += more
    except ConnectionError: pass
    return got
def refused(bytes):
    s = connect()
    s.sendall(bytes)
    return read_all(s)[4:].split(b'\\0')[0].decode()
def attached(*frames):
    s = connect()
    s.sendall(request(version, 1, sandbox))
    first = s.recv(1)
    try:
        for frame in frames: s.sendall(frame)
    except ConnectionError: pass
    read_all(s)
    return first == b'\\0'
def frame(type, channel, stream, payload=b''):
    return struct.pack('>BBHI', type, channel, len(payload), stream) + payload
report = {
    'version': refused(request('0.0.0', 1, sandbox)),
    'kind': refused(request(version, 77, sandbox)),
    'id': refused(request(version, 1, '../../etc')),
    'missing': refused(request(version, 2, 'sb_' + 'a' * 26)),
    # More bytes than a struct of changes has: all of its texts have no end.
    'changes': refused(request(version, 4, sandbox) + b'A' * 20000),
    'noise': [attached(os.urandom(200000)), attached(frame(0x7f, 9, 1, b'x')), attached(frame(1, 0, 3), frame(2, 0, 1, b'y' * 60000)), attached(b'\\xff' * 8)],
}
many = [connect() for i in range(14)]
for s in many[-3:]: read_all(s)
print(json.dumps(report))`;
  const ran = spawnSync('python3', ['-c', script, socket, VERSION, id], { encoding: 'utf8', timeout: PATIENCE_MS });
  assert.equal(ran.status, 0, ran.stderr);
  const report = JSON.parse(ran.stdout);
  assert.equal(report.version, `a server of version ${VERSION} has the sandbox awake: use the same version, or end that server`);
  for (const key of ['kind', 'id', 'changes']) assert.equal(report[key], 'the request is malformed', key);
  assert.equal(report.missing, `there is no sandbox 'sb_${'a'.repeat(26)}'`);
  assert.deepEqual(report.noise, [true, true, true, true], 'each was attached first, and then disconnected');
  assert.equal(await stdoutOf(run_command({ command: 'echo fine' })), 'fine\n');
  assert.equal(verbsOf({ state })('exec', ['--sandbox', 'default', 'echo', 'too']).stdout, 'too\n');
  await session.close();
});

test('ps lists the processes in a sandbox, with hostile names escaped', async (t) => {
  const state = stateDir(t);
  const { session, run_command } = await server(t, state);
  const verb = verbsOf({ state });
  await run_command({ command: 'sleep 1001', background: true });
  await run_command({ command: `bash -c 'exec -a "$(printf "bad\\033[31m\\nroot")" sleep 1002'`, background: true });

  const listed = verb('ps', ['default']);
  assert.equal(listed.status, 0, listed.stderr);
  assert.match(listed.stdout, /^ +PID +PARENT +AGE +CPU +MEMORY +COMMAND\n/);
  assert.match(listed.stdout, /^ +\d+ +\d+ +\d+ \w+ +[\d.]+ s +[\d.]+ MiB {2}sleep 1001$/m);
  const { processes } = JSON.parse(verb('ps', ['default', '--json']).stdout);
  const bad = processes.find(({ command }) => command.startsWith('bad'));
  assert.equal(bad?.command, 'bad\\x1b[31m\\nroot 1002', JSON.stringify(processes));
  assert.ok(bad.pid > 1 && bad.parent > 0 && bad.age_s >= 0 && bad.memory_kib > 0, JSON.stringify(bad));

  assert.match(verb('ps', ['nothing']).stderr, /there is no sandbox 'nothing'/);
  await session.close();
  const asleep = verb('ps', ['default']);
  assert.deepEqual([asleep.status, asleep.stdout], [1, '']);
  assert.match(asleep.stderr, /sandbox 'default' is asleep: it has files and no processes/);
});
