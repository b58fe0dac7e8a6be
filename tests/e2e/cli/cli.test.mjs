// The verbs that work in sandboxes, as a person or a script calls them: run, shell, client, logs, ps.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BELLJAR, complaint, notOn, PATIENCE_MS, serverEnv } from '../lib/programs.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-cli-'));
chmodSync(dir, 0o755);
const STATE = ['--state-dir', join(dir, 'state')];
const env = serverEnv({ ASAN_OPTIONS: 'detect_leaks=0', TERM: 'xterm-256color' });

function run(args, { input = '' } = {}) {
  const result = spawnSync(BELLJAR, args, { env, input, encoding: 'utf8', timeout: PATIENCE_MS });
  assert.equal(complaint(result.stderr), null);
  return result;
}

// Files of a sandbox may belong to other uids, so belljar removes them.
after(() => {
  for (const { id } of JSON.parse(verb('ps', ['--json']).stdout).sandboxes) verb('rm', [id]);
  rmSync(dir, { recursive: true, force: true });
});

const verb = (name, args, options) => run([name, ...STATE, ...args], options);
const client = (args, options) => run(['client', ...args, '--', ...STATE], options);

function file(name, text) {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const has = (program) => verb('exec', ['sh', '-c', `command -v ${program}`]).status === 0;

describe('run', () => {
  test('run passes arguments and input to a file and returns its status', () => {
    const path = file('a.py', 'import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint("e", file=sys.stderr)\nsys.exit(3)\n');
    const result = verb('run', [path, '--json', 'x y'], { input: 'typed' });
    assert.deepEqual([result.status, result.stdout, result.stderr], [3, "['--json', 'x y'] typed\n", 'e\n']);
  });

  test('a traceback names the file as it was given', () => {
    const result = verb('run', [file('named.py', 'raise KeyError(1)\n')]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /File "\/tmp\/belljar-\d+\/named\.py", line 1/);
  });

  test('run knows the language from a first line with #!', () => {
    const result = verb('run', [file('tool', '#!/usr/bin/env -S python3 -u\nprint(6 * 7)\n')]);
    assert.deepEqual([result.status, result.stdout, result.stderr], [0, '42\n', '']);
    assert.equal(verb('run', ['-'], { input: '#!/bin/sh\necho piped' }).stdout, 'piped\n');
  });

  test('run --with copies files and directories in beside the code', () => {
    const beside = join(dir, 'beside');
    mkdirSync(join(beside, 'deep'), { recursive: true });
    writeFileSync(join(beside, 'helper.py'), 'value = 42\n');
    writeFileSync(join(beside, 'deep', 'data.txt'), 'deep data\n');
    const code = file('uses.py', 'import helper\nprint(helper.value, open("deep/data.txt").read(), open("one.txt").read())\n');
    const result = verb('run', ['--with', beside, '--with', file('one.txt', 'one'), code]);
    assert.deepEqual([result.status, result.stdout, result.stderr], [0, '42 deep data\n one\n', '']);
    assert.match(verb('run', ['--with', join(dir, 'nonesuch'), code]).stderr, /--with '.*nonesuch': No such file/);
  });

  test('run reads code from standard input', () => {
    const result = verb('run', ['--language', 'bash', '-', 'one'], { input: 'echo "$1 ${BASH_VERSION%%.*}"; cat; exit 4' });
    assert.equal(result.status, 4);
    assert.match(result.stdout, /^one \d+\n$/);
  });

  test('run prints output while the code runs', async () => {
    const path = file('slow.py', 'import time\nprint("first")\ntime.sleep(600)\n');
    const child = spawn(BELLJAR, ['run', ...STATE, path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    child.kill('SIGTERM');
    assert.equal(await ended, 128 + 15);
  });

  test('run compiles first and reports compile errors', (t) => {
    if (!has('cc')) return t.skip('there is no cc');
    const good = verb('run', [file('good.c', '#include <stdio.h>\nint main(int n, char **v) { puts(v[n - 1]); return 5; }\n'), 'last']);
    assert.deepEqual([good.status, good.stdout, good.stderr], [5, 'last\n', '']);
    const bad = verb('run', [file('bad.c', 'int main(void) { return nonesuch; }\n')]);
    assert.deepEqual([bad.status, bad.stdout], [1, '']);
    assert.match(bad.stderr, /bad\.c:1:\d+: error: .nonesuch. undeclared/);
  });

  test('a run past --timeout is killed', () => {
    const result = verb('run', ['--timeout', '1', file('sleep.sh', 'sleep 60')]);
    assert.deepEqual([result.status, result.stderr], [124, 'belljar: the program was killed after its time-out of 1 s\n']);
  });

  test('run names the installed languages when one is missing', (t) => {
    if (has('swiftc')) return t.skip('there is Swift');
    const result = verb('run', [file('x.swift', 'print(1)')]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^belljar: there is no interpreter for swift in this sandbox; available: python, .*sh/);
  });

  test('run --keep keeps the sandbox without the code', () => {
    const result = verb('run', ['--keep', file('keep.py', 'open("left", "w").write("here")\n')]);
    assert.equal(result.status, 0);
    const [, id] = /^belljar: the sandbox is kept: (sb_[a-z2-7]+)\n$/.exec(result.stderr);
    const again = verb('exec', ['--sandbox', id, 'sh', '-c', 'cat left; ls -d /tmp/belljar-* 2>&1']);
    assert.match(again.stdout, /^herels: cannot access/);
    assert.equal(verb('rm', [id]).status, 0);
  });
});

// Types each text after the one before it was echoed; prints the output and the exit status.
const driver = `
import fcntl, json, os, pty, select, struct, sys, termios, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0: os.execv(argv[0], argv)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 31, 101, 0, 0))
before, out, end = termios.tcgetattr(fd), b'', time.time() + 40
def until(text):
    global out
    while time.time() < end and (text is None or text not in out):
        if not select.select([fd], [], [], 0.2)[0]: continue
        try: more = os.read(fd, 65536)
        except OSError: break
        if not more: break
        out += more
for seen, typed in steps:
    until(seen.encode())
    if typed == 'RESIZE': fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 41, 111, 0, 0)); time.sleep(0.5)
    else: os.write(fd, typed.encode())
until(None)
same = termios.tcgetattr(fd) == before
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({'out': out.decode('utf8', 'replace'), 'status': status, 'same': same}))
`;
const typeInto = (steps, args) => {
  const result = spawnSync('python3', ['-c', driver, JSON.stringify(steps), BELLJAR, ...args], { env, encoding: 'utf8', timeout: PATIENCE_MS });
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
};
const NO_PTY = spawnSync('python3', ['-c', 'import pty']).status !== 0 && 'there is no python3';

describe('shell', { skip: NO_PTY }, () => {
  const typed = (steps, args = []) => typeInto(steps, ['shell', ...STATE, ...args]);

  test('the shell has a terminal of the right size, and its status is returned', () => {
    const { out, same, status } = typed([['$ ', 'stty size; echo $TERM; id -un; exit 3\r']]);
    assert.equal(status, 3);
    assert.match(out, /\r\n(\x1b\[\?2004l\r)?31 101\r\nxterm-256color\r\ncoderunner\r\n/);
    assert.equal(same, true);
  });

  test('escape sequences that control the terminal are filtered out', () => {
    const { out } = typed([['$ ', 'printf "\\033]0;title\\007\\033[6n\\033[31mred\\n"; exit\r']]);
    assert.match(out, /\n(\x1b\[\?2004l\r)?\x1b\[31mred\r\n/);
    assert.equal(/\x1b\]0;title\x07/.test(out), false);
    assert.equal(out.includes('\x1b[6n'), false);
  });

  test('the shell is told when the terminal changes its size', () => {
    const { out } = typed([['$ ', 'RESIZE'], ['', 'stty size; exit\r']]);
    assert.match(out, /41 111\r\n/);
  });

  test('messages about a program with a terminal end their lines', () => {
    const { out, same, status } = typeInto([], ['exec', ...STATE, '-t', 'nothing-of-this-name']);
    assert.match(out, /^belljar: nothing-of-this-name: No such file or directory\r\n/);
    assert.deepEqual({ same, status }, { same: true, status: 127 });
  });

  test('a sandbox with a name is kept', () => {
    typed([['$ ', 'echo data >kept; exit\r']], ['shelled']);
    assert.equal(verb('exec', ['--sandbox', 'shelled', 'cat', 'kept']).stdout, 'data\n');
    assert.equal(verb('rm', ['shelled']).status, 0);
  });

  // Sends each signal to the shell when it is ready, and reads the terminal's mode then.
  const signalled = (...names) => {
    const steps = `
import json, os, pty, select, signal, sys, termios, time
names, argv = json.loads(sys.argv[1]), sys.argv[2:]
told, tells = os.pipe()
seen_first, look_first = os.pipe() # how the terminal was is known before anybody changes it
leader, fd = pty.fork()
if leader == 0: # what a shell does with a job: one without it cannot be stopped
    os.read(seen_first, 1)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(argv[0], argv)
    os.write(tells, b'%d\\n' % pid)
    while True:
        status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)[1]
        os.write(tells, b'%d\\n' % status)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status): time.sleep(60)
before, out, end = termios.tcgetattr(fd), b'', time.time() + 30
os.write(look_first, b'x')
said = os.fdopen(told)
pid = int(said.readline())
while time.time() < end and b'$ ' not in out:
    if select.select([fd], [], [], 0.2)[0]: out += os.read(fd, 65536)
seen = []
for name in names:
    os.kill(pid, getattr(signal, name))
    status = int(said.readline())
    time.sleep(0.3)
    seen.append([termios.tcgetattr(fd) == before,
        'stopped' if os.WIFSTOPPED(status) else 'continued' if os.WIFCONTINUED(status) else os.WTERMSIG(status)])
if not os.WIFSIGNALED(status): os.kill(pid, signal.SIGUSR1)
os.kill(leader, signal.SIGKILL)
print(json.dumps(seen))
`;
    const result = spawnSync('python3', ['-c', steps, JSON.stringify(names), BELLJAR, 'shell', ...STATE], { env, encoding: 'utf8', timeout: PATIENCE_MS });
    assert.equal(result.status, 0, result.stderr);
    return JSON.parse(result.stdout);
  };

  test('fatal signals restore the terminal', () => {
    for (const [name, number] of [['SIGQUIT', 3], ['SIGUSR1', 10], ['SIGALRM', 14], ['SIGABRT', 6]])
      assert.deepEqual(signalled(name), [[true, number]], name);
  });

  test('SIGTSTP restores the terminal, SIGCONT takes it again', () => {
    assert.deepEqual(signalled('SIGTSTP', 'SIGCONT'), [[true, 'stopped'], [false, 'continued']]);
  });

  test('shell without a terminal is refused', () => {
    const result = verb('shell', []);
    assert.equal(result.status, 2);
    assert.match(result.stderr, /must be a terminal; use 'belljar exec' to run a program without one/);
  });
});

describe('client', () => {
  test('client tools lists the tools', () => {
    const result = client(['tools']);
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stdout, /^run_code +Run code: /m);
    const tools = JSON.parse(client(['--json', 'tools']).stdout);
    assert.ok(tools.find(({ name }) => name === 'run_command').inputSchema);
  });

  test('client tools reads every page', () => {
    const all = JSON.parse(client(['--json', 'tools']).stdout);
    const paged = run(['client', '--json', 'tools', '--', ...STATE, '--page-size', '1']);
    assert.deepEqual(JSON.parse(paged.stdout), all);
  });

  test('client call prints text or JSON, reads arguments from standard input, reports errors', () => {
    const code = JSON.stringify({ language: 'python', code: 'print(6 * 7)' });
    const text = client(['call', 'run_code', code]);
    assert.equal(text.status, 0, text.stderr);
    assert.match(text.stdout, /^42\n/);
    const json = JSON.parse(client(['--json', 'call', 'run_code', '-'], { input: code }).stdout);
    assert.equal(json.structuredContent.exit_code, 0);
    const wrong = client(['call', 'run_code', '{"code": 5}']);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stdout, /argument 'code'/);
    const missing = client(['call', 'nonesuch']);
    assert.deepEqual([missing.status, missing.stdout], [1, '']);
    assert.match(missing.stderr, /^belljar: tools\/call was refused: unknown tool 'nonesuch'/);
  });

  test('exec with a sandbox in place of a program says how to name it', () => {
    assert.equal(verb('exec', ['--sandbox', 'named', 'true']).status, 0);
    const { status, stderr } = verb('exec', ['named', 'ls']);
    assert.equal(status, 127);
    assert.match(stderr, /named: No such file[^]*\nbelljar: 'named' is a sandbox: belljar exec --sandbox named PROGRAM runs a program in it\n$/);
    assert.doesNotMatch(verb('exec', ['nonesuch']).stderr, /is a sandbox/);
  });

  test('a note about a limit names the flag', () => {
    const { stderr } = verb('exec', ['--memory', '64M', 'sh', '-c', 'head -c 300M /dev/zero | tail -c 200M | wc -c; exit 1']);
    assert.match(stderr, /^belljar: memory: .*limit is 64 MiB: use less, or give a new sandbox --memory 128M$/m);
  });

  test('a sandbox that ends at its disk limit says which limit it was, and whether its files are kept', notOn('docker', 'volumes without quotas have no limit'), () => {
    // A full sandbox refuses writes; it ends if its programs raise their limit and write all the same.
    const write = 'for i in 1 2 3 4 5 6 7 8 9; do ulimit -S -f $(ulimit -H -f); head -c 20M /dev/zero > f$i; done; sleep 5';
    const make = 'i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; sleep 5';
    const ended = (options, program, text) => {
      const { stderr, status } = verb('exec', [...options, 'sh', '-c', program]);
      if (/No space left|Disk quota exceeded/.test(stderr)) return; // a quota is better than the end
      assert.match(stderr, text);
      assert.equal(status, 137);
    };
    ended(['--disk', '50M'], write, /^belljar: the sandbox ended: disk: it wrote more than 50 MiB; its files are removed, because it is temporary: write less, or give a new sandbox --disk 100M$/m);
    ended(['--disk', '50M', '--sandbox', 'filled'], write, /disk: it wrote more than 50 MiB; processes and sessions are lost, files are kept: delete some, or give a new sandbox --disk 100M$/m);
    ended(['--inodes', '1000'], make, /^belljar: the sandbox ended: inodes: it made more than 1000 files; its files are removed, because it is temporary: make fewer$/m);
    assert.match(verb('exec', ['--sandbox', 'filled', 'ls']).stdout, /^f1$/m);
    assert.equal(verb('rm', ['filled']).status, 0);
  });

  test('client shell reads commands from a script, and its status tells whether one failed', () => {
    const script = [
      'help write_file',
      "write_file path='a b.txt' content=\"one\\ntwo\"",
      'read_file {"path": "a b.txt"}',
      'call run_command command="wc -l < \'a b.txt\'"',
      '# a comment',
      'history',
      'quit',
      'never reached',
    ].join('\n');
    const result = client(['shell'], { input: script });
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stdout, /^Create a file in the sandbox[^]*content=string/);
    assert.match(result.stdout, /\none\ntwo\n/);
    assert.match(result.stdout, /\n1\n[^]*   1  help write_file\n/);
    const wrong = client(['shell'], { input: 'nonsense\nrun_code code=print(1)\n' });
    assert.equal(wrong.status, 1);
    assert.match(wrong.stdout, /^error: there is no command and no tool 'nonsense'; 'help' lists both\n1\n/);
  });

  test('client on a terminal completes names and shows earlier lines', { skip: NO_PTY }, () => {
    // While a call runs the terminal is as usual, and Ctrl-C is a signal: each key waits for its prompt.
    const prompt = 'belljar> \x1b[K\r';
    const { out, same, status } = typeInto(
      [['belljar> ', 'server_i\t'], ['server_info ', '\r'], ['}\r\n\rbelljar> ', '\x1b[A'],
        [`${prompt}belljar> server_info \x1b[K`, '\x03'], ['^C\r\n\rbelljar> ', '\x04']],
      ['client', '--', ...STATE],
    );
    assert.equal(status, 0, out);
    assert.match(out, /\d+ tools; 'help' lists/);
    assert.match(out, /belljar> server_info \x1b\[K\^C/);
    assert.equal(same, true);
  });

  test('client call prints the size of a picture', (t) => {
    if (verb('exec', ['python3', '-c', 'import matplotlib']).status !== 0) return t.skip('there is no matplotlib');
    const code = JSON.stringify({ language: 'python', code: 'import matplotlib.pyplot as p; p.plot([1, 2]); p.show()' });
    assert.match(client(['call', 'run_code', code]).stdout, /^\[picture image\/png, \d+ bytes\]$/m);
  });

  test('client lists and reads prompts and resources', () => {
    assert.match(client(['prompts']).stdout, /^getting_started/m);
    assert.match(client(['prompt', 'getting_started']).stdout, /Belljar/);
    assert.match(client(['resources']).stdout, /^belljar:\/\/server-info/m);
    assert.match(client(['read', 'belljar://tools/run_code']).stdout, /^# run_code\n/);
    assert.match(client(['read', 'belljar://nonesuch']).stderr, /^belljar: resources\/read was refused: /);
  });

  test('client without an action takes a tour and leaves nothing behind', () => {
    const ids = () => JSON.parse(verb('ps', ['--json']).stdout).sandboxes.map(({ id }) => id);
    const before = ids();
    const result = client([]);
    assert.equal(result.status, 0, result.stdout + result.stderr);
    for (const tool of ['create_sandbox', 'write_file', 'run_command', 'run_code', 'list_directory', 'read_file', 'delete_sandbox'])
      assert.match(result.stdout, new RegExp(`^  > ${tool} \\{`, 'm'));
    assert.match(result.stdout, /^    six times seven is 42$/m);
    assert.deepEqual(ids(), before);
  });

  test('each profile has a tour like the example of its original', () => {
    for (const [profile, tools] of Object.entries({
      'code-executor': ['create_executor', 'create_directory', 'write_file', 'execute_code', 'list_directory', 'project_structure', 'read_file', 'delete_executor'],
      'sandbox-interpreter': ['initialize_sandbox', 'execute_code', 'stop_sandbox'],
      'code-sandbox': ['sandbox_initialize', 'write_file_sandbox', 'sandbox_exec', 'clean_workspace'],
      'execution-client': ['execute_bash', 'write_file', 'read_file', 'stop_container'],
      'python-executor': ['execute_python', 'list_installed_packages', 'get_sandbox_info'],
    })) {
      const result = run(['client', 'tour', '--', ...STATE, '--profile', profile]);
      assert.equal(result.status, 0, result.stdout + result.stderr);
      for (const tool of tools) assert.match(result.stdout, new RegExp(`^  > ${tool} \\{`, 'm'), profile);
      assert.match(result.stdout, /six times seven is 42/, profile);
    }
  });

  test('a tour ends after its first step where nothing can be run', () => {
    const result = run(['client', 'tour', '--', ...STATE, '--engine', 'docker', '--docker-host', 'unix:///nonexistent.sock']);
    assert.equal(result.status, 1);
    assert.match(result.stdout, /> create_sandbox \{\}\n    (nothing can be run here: )?[^]*cannot be reached[^]*The tour ends here/);
    assert.doesNotMatch(result.stdout, /write_file/);
  });

  test('Ctrl-C cancels the call and stops the server', async () => {
    const code = JSON.stringify({ language: 'python', code: 'import time; time.sleep(600)' });
    const child = spawn(BELLJAR, ['client', 'call', 'run_code', code, '--', ...STATE], { env, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    await new Promise((resolve) => setTimeout(resolve, 2000));
    child.kill('SIGINT');
    assert.equal(await ended, 130);
  });

  test('client reports flags that the server does not know', () => {
    const result = run(['client', 'tools', '--', '--nonsense']);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /unknown option '--nonsense'\n[^]*belljar: the server exited without a response\n$/);
  });
});

describe('logs and ps', () => {
  before(() => {
    verb('exec', ['--sandbox', 'logged', 'sh', '-c', 'exit 9']);
    verb('exec', ['--sandbox', 'logged', '--timeout', '1', 'sleep', '9']);
    verb('exec', ['printf', 'gone with its sandbox']);
    verb('exec', ['--sandbox', 'other', 'printf', 'a\nb']);
  });
  after(() => verb('rm', ['logged', 'other']));

  test('logs lists the runs of one sandbox, the newest last', () => {
    const { runs } = JSON.parse(verb('logs', ['--json', 'logged']).stdout);
    assert.deepEqual(runs.map(({ what, outcome }) => [what, outcome]), [
      ['sh -c exit 9', 'exit code 9'],
      ['sleep 9', 'timed out'],
    ]);
    assert.ok(runs[1].duration_ms >= 1000);
    assert.match(runs[0].sandbox, /^sb_/);
    assert.deepEqual(JSON.parse(verb('logs', ['--json', runs[0].sandbox]).stdout).runs, runs);
  });

  test('logs prints one line for each run', () => {
    const lines = verb('logs', []).stdout.split('\n');
    assert.ok(!lines.some((line) => /gone with/.test(line)));
    assert.match(lines[0], /^STARTED +SANDBOX +TOOK +OUTCOME +WHAT$/);
    assert.match(lines.at(-2), /^20\d\d-\d\d-\d\dT\S+Z  sb_\S+ +\d+\.\d{3} s +exit code 0 +printf a\\nb$/);
  });

  test('logs refuses an unknown name', () => {
    const result = verb('logs', ['nonesuch']);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /nonesuch/);
  });

  test('ps prints names, states and ages', () => {
    assert.match(verb('ps', []).stdout, /^SANDBOX +NAME +STATE +AGE +UNUSED +SLEEPS +EXPIRES\n[^]*^sb_\S+ logged +asleep +\d+ s +\d+ s +- +-$/m);
    const row = JSON.parse(verb('ps', ['--json']).stdout).sandboxes.find(({ name }) => name === 'logged');
    assert.match(row.created, /^20\d\d-.*Z$/);
    assert.equal(row.state, 'asleep');
  });

  test('logs and ps print nothing in a new state directory', () => {
    const nowhere = ['--state-dir', join(dir, 'nowhere')];
    for (const name of ['logs', 'ps']) {
      const result = run([name, ...nowhere]);
      assert.deepEqual([result.status, result.stdout, result.stderr], [0, '', '']);
    }
  });
});

describe('unusual hosts', notOn('docker', 'they have no disk images'), () => {
  test('a low limit of file sizes is an error that names it, and kills no process', () => {
    const state = join(dir, 'small-files');
    const command = `ulimit -f 100; exec "${BELLJAR}" exec --state-dir "${state}" -- echo ran`;
    const { status, stderr, stdout } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8', timeout: PATIENCE_MS });
    assert.match(status === 0 ? 'File too large' : stderr, /File too large/, `${status} ${stdout} ${stderr}`);
    assert.doesNotMatch(stderr, /has exited/);
  });

  test('a link in the place of a directory of the server is refused, and its target keeps its owner', () => {
    const target = join(dir, 'target');
    mkdirSync(target);
    writeFileSync(join(target, 'shadow'), 'secret');
    const owners = process.getuid() === 0 ? [0, 65534] : [process.getuid()];
    for (const owner of owners) {
      const state = join(dir, `linked-${owner}`);
      mkdirSync(state);
      symlinkSync(target, join(state, 'db'));
      chownSync(state, owner, owner);
      const { status, stderr } = run(['exec', '--state-dir', state, '--', 'true']);
      assert.equal(status, 1);
      assert.match(stderr, owner === process.getuid() ? /Not a directory/ : /belongs to user 65534: use --state-dir/);
      for (const path of [target, join(target, 'shadow')]) assert.equal(statSync(path).uid, process.getuid(), path);
    }
  });

  test('root gives no file in the state directory of a user away', { skip: process.getuid() !== 0 && 'not root' }, () => {
    const state = join(dir, 'of-user');
    const paths = [state, join(state, 'db'), join(state, 'db', 'belljar.db')];
    mkdirSync(paths[1], { recursive: true });
    writeFileSync(paths[2], '');
    for (const path of paths) chownSync(path, 65534, 65534);
    for (const args of [['ps'], ['logs'], ['exec', 'true']]) {
      const { status, stderr } = run([args[0], '--state-dir', state, ...args.slice(1)]);
      assert.equal(status, 1);
      assert.match(stderr, /'[^']*of-user' belongs to user 65534/);
      for (const path of paths) assert.equal(statSync(path).uid, 65534, path);
    }
  });

  test('root uses no state directory that another user can replace', { skip: process.getuid() !== 0 && 'not root' }, () => {
    const above = join(dir, 'above');
    const state = join(above, 'root', 'state');
    mkdirSync(state, { recursive: true });
    const refused = (pattern) => {
      for (const args of [['ps'], ['exec', 'true']]) {
        const { status, stderr } = run([args[0], '--state-dir', state, ...args.slice(1)]);
        assert.equal(status, 1);
        assert.match(stderr, pattern);
      }
    };
    chownSync(above, 65534, 65534);
    refused(/state' is below '[^']*above', which belongs to user 65534, who could replace it: run 'chown root [^']*above'/);
    chownSync(above, 0, 0);
    chmodSync(above, 0o777);
    refused(/state' is below '[^']*above', to which other users may write, .* run 'chmod go-w [^']*above'/);
    chmodSync(above, 0o1777);
    assert.equal(run(['ps', '--state-dir', state]).status, 0);
  });

  test('a umask without rights for the owner does not matter', () => {
    const state = join(dir, 'umask', 'new', 'state');
    const command = `umask 0777; exec "${BELLJAR}" exec --state-dir "${state}" -- echo ran`;
    const { status, stderr, stdout } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8', timeout: PATIENCE_MS });
    assert.deepEqual([status, stdout], [0, 'ran\n'], stderr);
  });

  test('a low limit on the stack is raised, or an error that names it', () => {
    const command = `ulimit -s 100; exec "${BELLJAR}" doctor --state-dir "${join(dir, 'stack')}"`;
    const { signal, stderr, stdout } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8', timeout: PATIENCE_MS });
    assert.equal(signal, null);
    assert.match(stdout === '' ? stderr : stdout, /user-namespaces|limit on the stack .* 'ulimit -s 512'/);
  });
});
