// What belljar tells about a run besides its output: processes that were ended, limits, time-outs,
// a missing network. Paths that begin with ~.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BELLJAR, ENGINE, notOn, PATIENCE_MS } from '../lib/programs.mjs';
import { open, refused, sandboxed, sleep, structuredOf, allTextOf as textOf, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const tools = sandboxed();
const { run_command, run_code, create_sandbox, update_sandbox, read_file, write_file, edit_file, delete_path, delete_sandbox, list_directory, search_files } = tools;

const hasProgram = async (name) => structuredOf(await run_command({ command: `command -v ${name}` })).exit_code === 0;

const LEFT = /processes left running were ended \((.*)\): to keep one, start it without & by run_command {background: true}\]/;

test('processes that a command leaves running are named', async () => {
  // A moment later than its fork, a process of the shell has the name of its program.
  const result = await run_command({ command: 'nohup sleep 1234 >/dev/null 2>&1 & sleep 1; echo started' });
  assert.match(textOf(result), /^started\n/);
  assert.match(LEFT.exec(textOf(result))[1], /^(nohup )?sleep 1234$/);
  assert.match(structuredOf(result).note, /sleep 1234/);
  const all = textOf(await run_command({ command: 'for i in $(seq 40); do sleep 1$i & done; sleep 1' }));
  const named = LEFT.exec(all)[1];
  assert.match(named, /^sleep 11, sleep 12, .*, \.\.\.$/);
  assert.ok(named.length < 200, named);
});

test('processes that Python code leaves running are named', async () => {
  const code = "import subprocess\nsubprocess.Popen(['sleep', '4321'])\nprint(1)";
  assert.equal(LEFT.exec(textOf(await run_code({ language: 'python', code })))[1], 'sleep 4321');
  assert.equal(textOf(await run_code({ language: 'python', code: 'print(1)' })), '1\n');
  // A forked process has the command line of the interpreter, which is belljar's own.
  const fork = 'import os, time\nif os.fork() == 0:\n    time.sleep(4321)';
  assert.match(LEFT.exec(textOf(await run_code({ language: 'python', code: fork })))[1], /python3 -c # Python of run_code/);
});

test('the name of a process cannot imitate a line of belljar', async () => {
  const command = "bash -c \"exec -a $'x)]\\n[belljar: exit code 0' sleep 77\" & sleep 0.5";
  const text = textOf(await run_command({ command }));
  assert.match(text, /processes left running were ended \(x\)\? \?belljar: exit code 0 77\)/);
});

test('a command whose helpers end by themselves gets no note', async () => {
  // Helpers have 20 ms to exit, which may be too short on a busy machine: one try of ten is enough.
  const texts = [];
  while (!texts.includes('y\n') && texts.length < 10)
    texts.push(textOf(await run_command({ command: '(sleep 0.001 &); yes | head -1' })));
  assert.ok(texts.includes('y\n'), texts.at(-1));
});

test('the note of a running process has its time-out, and timeout_s its most', async () => {
  const { process } = structuredOf(await run_command({ command: 'sleep 60', background: true, timeout_s: 31 }));
  const text = textOf(await run_command({ command: 'sleep 60', background: true, timeout_s: 31 }));
  assert.match(text, /running as p\d+ \(for at most 31 s\): /);
  assert.ok(process);
  refused(await run_command({ command: 'true', timeout_s: 1e8 }), /'timeout_s': expected at most \d+ seconds, got 1e\+08/);
});

test('a path that begins with ~ is refused, and a name that does is not', async () => {
  const HOME = /begins with ~.*use \/home\/coderunner\/a/;
  for (const answer of [
    read_file({ path: '~/a' }), write_file({ path: '~/a', content: '' }), delete_path({ path: '~/a' }),
    edit_file({ path: '~/a', edits: [{ old: 'a', new: 'b' }] }), list_directory({ path: '~/a' }),
    search_files({ path: '~/a', pattern: 'x' }), run_command({ command: 'true', cwd: '~/a' }),
    run_code({ language: 'bash', code: 'true', files: [{ path: '~/a', content: '' }] }),
  ])
    refused(await answer, HOME);
  refused(await list_directory({ path: '~' }), /use \/home\/coderunner,/);
  structuredOf(await write_file({ path: '~name', content: 'x' }));
  structuredOf(await write_file({ path: './~/a', content: 'x' }));
  assert.equal(structuredOf(await run_command({ command: 'cat ./~name ./~/a' })).stdout, 'xx');
});

test('a run at the memory limit says how to get more', async () => {
  const { id: sandbox } = structuredOf(await create_sandbox({ memory_mb: 64 }));
  const command = 'head -c 300M /dev/zero | tail -c 200M | wc -c';
  const text = textOf(await run_command({ sandbox, command: `${command}; exit 1` }));
  const advice = /memory: .*64 MiB.*update_sandbox ({"memory_mb":128,.*?})/.exec(text);
  assert.ok(advice, text);
  // The advice is about the sandbox that met the limit, not about the default one.
  assert.deepEqual(JSON.parse(advice[1]), { memory_mb: 128, sandbox });
  assert.equal(structuredOf(await update_sandbox(JSON.parse(advice[1]))).limits.memory_mb, 128);
});

test('a sandbox at its disk limit refuses writes and goes on, and takes files again when some are deleted', notOn('docker', 'volumes without quotas have no limit'), async (t) => {
  const session = await open(t, { DISK: '16M' });
  const { write_file, run_code, run_command } = toolsOf(async () => session);
  const cell = async (code) => structuredOf(await run_code({ language: 'python', session: 's', code }));
  await cell('kept = 42');
  const filled = structuredOf(await run_command({
    command: 'for i in $(seq 60); do head -c 1M /dev/zero > file$i || exit; sleep 0.1; done',
  }));
  assert.match(filled.note, /disk: (one file may have at most 15\.5 MiB, and all files together|no room is left, the limit is) 16 MiB: delete files/);
  refused(await write_file({ path: 'large', content: 'x'.repeat(1 << 20) }), /: disk: (one file may|no room)/);
  assert.match((await cell("with open('more', 'w') as f: f.write('x' * 100000)")).error.message, /\[Errno (27|28)\]/);
  // Where the file system enforces the limit, nothing can be written; elsewhere new programs may write a little.
  assert.match(structuredOf(await run_command({ command: '(echo few > small) 2>&1; cat small' })).stdout, /^few$|No space left|I\/O error|quota exceeded/m);
  assert.equal((await cell('kept')).values[0].text, '42');
  await run_command({ command: 'rm file*' });
  // The disk is measured again when space was freed.
  const until = Date.now() + PATIENCE_MS;
  let answer;
  do answer = await write_file({ path: 'large', content: 'x'.repeat(1 << 20) });
  while (answer.isError && Date.now() < until);
  structuredOf(answer);
  assert.equal((await cell("kept += open('more', 'w').write('x' * 100000); kept")).values[0].text, '100042');
  await session.close();
});

test('programs of a full sandbox get an error for a write, and are not killed', notOn('docker', 'volumes without quotas have no limit'), async (t) => {
  const session = await open(t, { DISK: '16M' });
  const { run_code, run_command } = toolsOf(async () => session);
  const shell = async (code) => structuredOf(await run_code({ language: 'bash', session: 'b', code }));
  const ADVICE = /disk: (one file may have at most 15\.5 MiB, and all files together 16 MiB|no room is left, the limit is 16 MiB): delete files \(noticed within a second\)/;
  await shell('kept=42; git init -q . && head -c 15M /dev/urandom > big');
  const added = structuredOf(await run_command({ command: 'git add big; echo $?; ls .git/index.lock; echo end' }));
  assert.equal(added.stdout, '128\nend\n', added.stderr);
  assert.match(added.note, ADVICE);
  await shell('for i in $(seq 60); do head -c 1M /dev/zero > file$i || break; sleep 0.1; done');
  const written = await shell('echo text > small; echo "$? $kept"'); // by the shell itself
  assert.equal(written.stdout, '1 42\n', written.stderr);
  assert.match(written.note, ADVICE);
  // Nothing but its failure tells that this program could not write.
  const silent = structuredOf(await run_command({ command: 'head -c 1M /dev/zero 2>/dev/null > more || exit 3' }));
  assert.match(silent.note, ADVICE);
  await session.close();
});

test('a program that starts in a full sandbox may write small files, but not many, and the sandbox goes on', notOn('docker', 'volumes without quotas have no limit'), async (t) => {
  const session = await open(t, { DISK: '16M' });
  const { run_code, run_command } = toolsOf(async () => session);
  const cell = async (code) => structuredOf(await run_code({ language: 'python', session: 's', code }));
  await cell('kept = 42');
  await run_command({ command: 'for i in $(seq 60); do head -c 1M /dev/zero > file$i || exit; sleep 0.1; done' });
  const code = `
import errno
try:
  for i in range(4000):
    with open(f"small{i}", "wb") as f: f.write(bytes(50000))
except OSError as error: print(errno.errorcode[error.errno])`;
  assert.match(structuredOf(await run_command({ command: `python3 -c '${code}'` })).stdout, /^(EFBIG|ENOSPC|EDQUOT)\n$/);
  assert.equal(structuredOf(await run_command({ command: 'sleep 2; rm file* small*; echo removed' })).stdout, 'removed\n');
  assert.equal((await cell('kept')).values[0].text, '42');
  await session.close();
});

test('an allocation that can never fit raises MemoryError', async () => {
  const { stderr, exit_code, note } = structuredOf(await run_code({ language: 'python', code: 'x = bytearray(8 << 30)' }));
  assert.match(stderr, /MemoryError/);
  assert.equal(exit_code, 1);
  assert.match(note, /^memory: an allocation was refused, the limit is 1024 MiB: use less, or update_sandbox {"memory_mb":2048}$/);
  const code = 'import threading, time\nall = [threading.Thread(target=time.sleep, args=(1,)) for i in range(200)]\nfor t in all: t.start()\nprint(len(all))';
  assert.equal(structuredOf(await run_code({ language: 'python', code })).stdout, '200\n');
});

test('a program that allocates piece by piece gets an error before it is killed', async () => {
  const { id: sandbox } = structuredOf(await create_sandbox({ memory_mb: 512 }));
  const python = "x = []\nwhile True: x.append(b'x' * (10 << 20))";
  for (const more of [{}, { session: 'm' }]) {
    const answer = structuredOf(await run_code({ language: 'python', code: `kept = 1\n${python}`, sandbox, ...more }));
    assert.match(JSON.stringify(answer), /MemoryError/);
    assert.match(answer.note, /^memory: an allocation was refused, the limit is 512 MiB/);
  }
  assert.equal(structuredOf(await run_code({ language: 'python', code: 'del x\nkept', session: 'm', sandbox })).values[0].text, '1');
  if (await hasProgram('Rscript')) {
    const cell = async (code) => structuredOf(await run_code({ language: 'r', code, session: 'r', sandbox }));
    const answer = await cell('kept <- 1\nx <- numeric(1e8)');
    assert.match(answer.error?.message ?? JSON.stringify(answer), /cannot allocate vector/);
    assert.match(answer.note, /^memory: an allocation was refused/);
    assert.equal((await cell('kept')).stdout, '[1] 1\n');
    if (!(await update_sandbox({ sandbox, memory_mb: 2048 })).isError) assert.equal((await cell('x <- numeric(1e8); length(x)')).stdout, '[1] 100000000\n');
    assert.equal((await cell('tools::pskill(Sys.getpid(), 9)')).note, "the session's state is lost, and the next call with this session starts again: its interpreter was killed", 'processes of the kernel are not named');
  }
  await delete_sandbox({ sandbox });
});

test('an allocation somewhat above the limit is refused, and the session goes on', async () => {
  for (const memory_mb of [64, 256, 1024]) {
    const { id: sandbox } = structuredOf(await create_sandbox({ memory_mb }));
    const run = async (code, more) => structuredOf(await run_code({ language: 'python', code, sandbox, ...more }));
    for (const more of [{}, { session: 'm' }]) {
      const answer = await run(`kept = 1\nx = bytearray(${memory_mb + 100} << 20)`, more);
      assert.match(JSON.stringify(answer), /MemoryError/, `${memory_mb} MiB`);
      assert.match(answer.note, /an allocation was refused/);
    }
    assert.equal((await run('kept', { session: 'm' })).values[0].text, '1');
    const many = 'import multiprocessing, threading, time\nall = [threading.Thread(target=time.sleep, args=(.3,)) for i in range(40)]\nfor t in all: t.start()\n' +
      'with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, 2]))';
    if (memory_mb > 64 || process.getuid() === 0)
      for (const more of [{}, { session: 'm' }]) assert.equal((await run(many, more)).stdout, '[1, 2]\n', `${memory_mb} MiB`);
    await delete_sandbox({ sandbox });
  }
});

test('libraries start no more threads than the sandbox has processors and memory for', async () => {
  // OpenBLAS maps 136 MiB for each thread: on a machine with eight processors `import numpy` met the limit for data.
  const code = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])";
  for (const [cpus, memory_mb, counts] of [[0.5, 1024, '1 1\n'], [2, 1024, '2 2\n'], [2, 512, '2 1\n'], [2, 16, '2 1\n']]) {
    const { id: sandbox } = structuredOf(await create_sandbox({ cpus, memory_mb }));
    const env = { OMP_NUM_THREADS: '9' };
    assert.equal(structuredOf(await run_command({ sandbox, command: 'echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS' })).stdout, counts);
    assert.equal(structuredOf(await run_command({ sandbox, env, command: 'echo $OMP_NUM_THREADS' })).stdout, '9\n');
    if (memory_mb > 16) assert.equal(structuredOf(await run_code({ sandbox, language: 'python', code })).stdout, counts);
    await delete_sandbox({ sandbox });
  }
});

test('a session gets the memory that update_sandbox adds', notOn('docker', 'the limit is checked elsewhere'), async (t) => {
  const session = await open(t, { MEMORY: '128M', MEMORY_MAX: '1024M' });
  const { run_code, update_sandbox } = toolsOf(async () => session);
  const run = async (code, more) => structuredOf(await run_code({ language: 'python', code: code, ...more }));
  for (const more of [{}, { session: 'm' }]) assert.match(JSON.stringify(await run('x = bytearray(300 << 20)', more)), /MemoryError/);
  const updated = await update_sandbox({ memory_mb: 512 });
  if (!updated.isError)
    for (const more of [{}, { session: 'm' }]) assert.equal((await run('x = bytearray(300 << 20)\nprint(len(x))', more)).stdout, `${300 << 20}\n`);
  await session.close();
});

test('without cgroups a refused allocation says how to get a sandbox with more', notOn('docker', 'containers have cgroups'), async (t) => {
  const session = await open(t, { NO_CGROUPS: 'yes', MEMORY: '128M', MEMORY_MAX: '512M' });
  const { run_code, create_sandbox } = toolsOf(async () => session);
  const code = 'x = bytearray(200 << 20)\nprint(len(x))';
  const { note } = structuredOf(await run_code({ language: 'python', code }));
  const advice = /^memory: an allocation was refused, the limit is 128 MiB: use less, or create_sandbox ({.*})$/.exec(note);
  assert.ok(advice, note);
  const { id: sandbox } = structuredOf(await create_sandbox({ ...JSON.parse(advice[1]), memory_mb: 512 }));
  assert.equal(structuredOf(await run_code({ language: 'python', code, sandbox })).stdout, `${200 << 20}\n`);
  // The stacks of threads count as data.
  const threads = 'import threading, time\nall = [threading.Thread(target=time.sleep, args=(1,)) for i in range(200)]\nfor t in all: t.start()\nprint(len(all), threading.stack_size(2 << 20))\nt = threading.Thread(target=print); t.start(); t.join()\nprint(threading.stack_size())';
  for (const more of [{}, { session: 't' }])
    assert.equal(structuredOf(await run_code({ language: 'python', code: threads, sandbox, ...more })).stdout, '200 1048576\n\n2097152\n');
  const large = structuredOf(await run_code({ language: 'python', code: `import threading\nthreading.stack_size(64 << 20)\n${threads}`, sandbox }));
  assert.match(large.stderr, /can't start new thread/);
  assert.match(large.note, /^pids: the limit is 512 processes and threads, whose stacks are part of 512 MiB: start fewer, or create_sandbox {"pids":1024}$/);
  await session.close();
});

test('where programs have all processes of a sandbox, each answer says what helps, and sandbox_info still answers', async () => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({ pids: 32 }));
  const code = "import os, time\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(600)\nexcept OSError: os.write(1, b'full')\ntime.sleep(600)";
  const { process } = structuredOf(await run_command({ sandbox, argv: ['python3', '-c', code], background: true }));
  await tools.process_output({ sandbox, process, since: 0, until: 'full' });
  const full = /^no room for another process in the sandbox: .*: pids: the limit is 32 processes and threads: end some \(process_stop ends a process or a session, sandbox_info lists both\), or update_sandbox {"pids":64,"sandbox":"sb_\w+"}$/;
  refused(await tools.list_directory({ sandbox }), full);
  refused(await run_command({ sandbox, command: 'true' }), full);
  const info = structuredOf(await tools.sandbox_info({ sandbox }));
  assert.deepEqual(info.processes.map((each) => [each.process, each.state]), [[process, 'running']]);
  await tools.process_stop({ sandbox, process, force: true });
  for (let tries = 0; (await tools.list_directory({ sandbox })).isError; tries++) {
    assert.ok(tries < 100);
    await sleep(100);
  }
});

test('sanitizers work by run_command, or the answer says why not', notOn('docker', 'images may have no compiler'), async (t) => {
  if (!(await hasProgram('gcc'))) return t.skip('there is no gcc');
  const build = "echo 'int main(int c, char **v) { char b[4]; b[c + 3] = 1; return b[c]; }' | gcc -x c -fsanitize=address - -o asan";
  const { exit_code } = structuredOf(await run_command({ command: build }));
  if (exit_code !== 0) return t.skip('gcc has no sanitizers');
  const code = "import subprocess, sys\nsys.exit(subprocess.run('./asan').returncode != 0)";
  const session = await open(t, { NO_CGROUPS: 'yes' });
  const without = toolsOf(async () => session);
  assert.equal(structuredOf(await without.run_command({ command: `${build} && ./asan` })).note,
    "sanitizers map more memory than a sandbox without cgroups may: valgrind works, and 'belljar doctor' says how the operator gets cgroups");
  await session.close();
  const told = structuredOf(await run_command({ command: './asan' }));
  if (/without cgroups/.test(told.note)) return;
  assert.match(told.stderr, /stack-buffer-overflow/);
  assert.equal(structuredOf(await run_code({ language: 'python', code })).note, 'sanitizers map more memory than a program of run_code may: use run_command');
});

test('java that finds too little memory is told how to plan with the memory of the sandbox', async () => {
  const command = "echo '# There is insufficient memory for the Java Runtime Environment to continue.'; exit 1";
  assert.match(textOf(await run_command({ command })), /memory: java plans with the memory of the machine, .* 1024 MiB: pass -XX:MaxRAM=1024m to java, -J-XX:MaxRAM=1024m to javac\]$/);
});

test('a workspace that a program has removed can be made again', { skip: ENGINE === 'docker' || process.getuid() !== 0 ? 'only root can become another user' : false }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-nobody-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  copyFileSync(BELLJAR, join(dir, 'belljar'));
  for (const [name, id] of [['belljar', 0], ['', 65534]]) {
    chmodSync(join(dir, name), 0o755);
    chownSync(join(dir, name), id, id);
  }
  const args = ['--reuid', '65534', '--regid', '65534', '--clear-groups', join(dir, 'belljar')];
  const session = await connectV1(t, { program: 'setpriv', args, env: { HOME: dir, BELLJAR_STATE_DIR: join(dir, 'state') } });
  const nobody = toolsOf(async () => session);
  await nobody.run_command({ command: 'rm -rf /workspace' });
  const gone = await nobody.run_command({ command: 'ls' });
  refused(gone, /^cwd \/workspace: No such file or directory: a program has removed it; run_command \{.*\} makes it again$/);
  structuredOf(await nobody.run_command(JSON.parse(/\{.*\}/.exec(textOf(gone))[0])));
  assert.equal(structuredOf(await nobody.run_command({ command: 'pwd' })).stdout, '/workspace\n');
  await session.close();
});

test('sudo is answered with what to do instead', async () => {
  assert.match(structuredOf(await run_command({ command: 'sudo ls' })).note, /^programs of a sandbox are not root and cannot become root: leave sudo out$/);
});

test('without a network clients fail at once, and the answer says why', async () => {
  const NO_NETWORK = /\[belljar: a sandbox has no network unless /;
  const code = "import urllib.request\nurllib.request.urlopen('http://example.com')";
  assert.match(textOf(await run_code({ language: 'python', code })), NO_NETWORK);
  assert.match(textOf(await run_code({ language: 'javascript', code: "fetch('http://example.com')" })), NO_NETWORK);
  const { stdout } = structuredOf(await run_command({ command: 'command -v pip git npm curl go Rscript apt-get || true' }));
  if (stdout.includes('/go')) assert.match(textOf(await run_command({ command: 'mkdir /tmp/gox && cd /tmp/gox && go mod init x && go get example.com/x' })), NO_NETWORK);
  for (const [program, command] of [['Rscript', `Rscript -e 'install.packages("x")'`], ['apt-get', 'apt-get update']])
    if (stdout.includes(`/${program}`)) assert.match(textOf(await run_command({ command })), /\[belljar: .*has no network unless it is given one/, command);
  if (stdout.includes('/curl')) assert.match(textOf(await run_command({ command: 'curl -s http://example.com' })), NO_NETWORK);
  if (stdout.includes('/curl')) {
    assert.match(textOf(await run_command({ command: 'curl -s http://example.com | head -3' })), NO_NETWORK);
    assert.doesNotMatch(textOf(await run_command({ command: 'curl -s http://localhost:1 | head -3' })), NO_NETWORK);
  }
  const caught = "import urllib.request\ntry: urllib.request.urlopen('http://example.com')\nexcept Exception as e: print(e)";
  assert.match(textOf(await run_code({ language: 'python', code: caught })), NO_NETWORK);
  assert.match(textOf(await run_code({ language: 'python', code: caught, session: 'caught' })), NO_NETWORK);
  assert.doesNotMatch(textOf(await run_code({ code: "print('Name or service not known', 'x' * 5000)" })), NO_NETWORK);
  assert.doesNotMatch(textOf(await run_command({ command: 'echo curl >&2; exit 6' })), NO_NETWORK);
  if (stdout.includes('/git')) assert.match(textOf(await run_command({ command: 'git clone https://example.com/a' })), NO_NETWORK);
  for (const command of ['pip install no-such-package', 'npm install no-such-package']) {
    if (!stdout.includes(`/${command.slice(0, 3)}`)) continue;
    const text = textOf(await run_command({ command }));
    assert.match(text, NO_NETWORK);
    assert.match(textOf(await run_command({ command: `${command} || true` })), NO_NETWORK);
    assert.doesNotMatch(text, /Retrying/);
  }
  assert.doesNotMatch(textOf(await run_command({ command: 'echo ENOTFOUND' })), NO_NETWORK);
  const cause = "throw new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND example.com') })";
  assert.match(textOf(await run_code({ code: cause, language: 'javascript', session: 'network' })), NO_NETWORK);
  // The exit code of a pipeline is that of its last program, and 2>&1 moves the messages to stdout.
  for (const message of ['curl: (6) Could not resolve host: example.com', 'npm error network This is a problem related to network connectivity.'])
    assert.match(textOf(await run_command({ command: `echo '${message}' 2>&1 | tail -3` })), NO_NETWORK);
});

test('code that reads more than its input is told how to pass it', async () => {
  for (const more of [{}, { session: 'reads' }]) {
    const { note } = structuredOf(await run_code({ code: 'input("name? ")', ...more }));
    assert.equal(note, 'the code reads more than its standard input has: pass what it is to read as `stdin`');
    assert.equal(structuredOf(await run_code({ code: 'print(input())', stdin: 'x\n', ...more })).note, undefined);
  }
});

test('code that finds its input empty is told how to pass it, if it fails or prints nothing', async () => {
  const EMPTY = 'the code reads its standard input, which is empty: pass what it is to read as `stdin`';
  const session = 'no-input';
  for (const [language, code, more] of [
    ['python', 'import sys\nint(sys.stdin.readline())'],
    ['javascript', "require('readline').createInterface({ input: process.stdin }).question('', (name) => console.log(name))"],
    ['ruby', 'puts gets.chomp'],
    ['ruby', 'puts gets.chomp', { session }],
    ['bash', 'set -e; read n; echo $n'],
    ['c', '#include <stdio.h>\nint main() { int n; return scanf("%d", &n) != 1; }'],
  ]) {
    const result = await run_code({ language, code, ...more });
    if (/there is no interpreter for/.test(textOf(result))) continue;
    assert.equal(structuredOf(result).note, EMPTY, `${language}: ${textOf(result)}`);
    assert.equal(structuredOf(await run_code({ language, code, stdin: '5\n', ...more })).note, undefined, language);
  }
  for (const [language, code] of [['python', 'raise ValueError("no")'], ['bash', 'read n; echo "got $n"'], ['ruby', 'widgets = nil; widgets.x']])
    assert.equal((await run_code({ language, code })).structuredContent?.note, undefined, language);
});

test('a missing package of R is told with who can install it', async (t) => {
  const result = await run_code({ language: 'r', code: 'library(nosuchpackage)' });
  if (result.isError) return t.skip('no R');
  assert.match(structuredOf(result).note, /the library of R is read-only: the operator can install packages of R/);
});

test('a silent run in the background is told that values are not answered', async () => {
  const NOTE = 'a run in the background answers only what it prints, not the value of its last expression';
  const end = async (args) => {
    const { process } = structuredOf(await run_code({ ...args, background: true }));
    return structuredOf(await tools.process_output({ process, since: 0, wait_s: 60, until_end: true }));
  };
  assert.equal((await end({ code: '6 * 7' })).note, NOTE);
  assert.equal((await end({ code: 'print(1)' })).note, undefined);
  assert.equal((await end({ language: 'bash', code: 'true' })).note, undefined);
});

test('a file that grows beyond its limit is told so, also by a program that ignores the signal', async () => {
  const code = "import os\nf = open('/tmp/large', 'wb')\nos.ftruncate(f.fileno(), 1 << 50)";
  assert.match(structuredOf(await run_code({ language: 'python', code })).note, /^disk: one file may have at most [\d.]+ MiB, and all files together \d+ MiB: delete files/);
});

test('a file tool that would exceed the disk limit with one file says so, and the sandbox goes on', notOn('docker', 'volumes without quotas have no limit'), async (t) => {
  const session = await open(t, { DISK: '2M' });
  const { write_file, run_command } = toolsOf(async () => session);
  await run_command({ command: 'echo awake > /dev/shm/state' }); // gone if the sandbox ends
  const answer = await write_file({ path: 'large', content: 'x'.repeat(3 << 20) });
  assert.ok(answer.isError);
  assert.match(answer.content[0].text, /: disk: (one file may have at most 1\.9 MiB, and all files together 2 MiB|no room is left, the limit is 2 MiB): delete files/);
  assert.equal(structuredOf(await run_command({ command: 'cat /dev/shm/state; ls' })).stdout, 'awake\n');
  await session.close();
});

test('a program that opens too many files is told the limit', async () => {
  const code = "files = []\nwhile True: files.append(open('/dev/null'))";
  assert.match(structuredOf(await run_code({ language: 'python', code })).note, /open-files: a program may have at most \d+ files open: close some/);
});

const WHEEL = `
import zipfile
with zipfile.ZipFile('/tmp/hello-1-py3-none-any.whl', 'w') as z:
    z.writestr('hello.py', 'print("hello")')
    z.writestr('hello-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: hello\\nVersion: 1\\n')
    z.writestr('hello-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr('hello-1.dist-info/RECORD', '')
`;

test('packages that pip installed are visible to waiting interpreters', async (t) => {
  const has = structuredOf(await run_command({ command: 'python3 -m pip --version' }));
  if (has.exit_code !== 0) return t.skip('no pip');
  structuredOf(await run_code({ language: 'python', session: 'before', code: 'x = 1' }));
  structuredOf(await run_code({ language: 'python', code: WHEEL }));
  const { exit_code, stderr } = structuredOf(await run_command({ command: 'python3 -m pip install --no-index /tmp/hello-1-py3-none-any.whl' }));
  assert.equal(exit_code, 0, stderr);
  assert.equal(structuredOf(await run_code({ language: 'python', code: 'import hello' })).stdout, 'hello\n');
  assert.equal(structuredOf(await run_code({ language: 'python', session: 'before', code: 'import hello' })).stdout, 'hello\n');
});

test('packages that npm installed globally can be required', async (t) => {
  if (!(await hasProgram('npm'))) return t.skip('no npm');
  const command = `mkdir -p /tmp/hi && cd /tmp/hi && echo 'console.log("hi")' > index.js &&
    echo '{"name":"hi-there","version":"1.0.0"}' > package.json && npm install -g /tmp/hi`;
  const { exit_code, stderr } = structuredOf(await run_command({ command }));
  assert.equal(exit_code, 0, stderr);
  assert.equal(structuredOf(await run_code({ language: 'javascript', code: "require('hi-there')" })).stdout, 'hi\n');
});

test('Java prints nothing of its own, and its heap fits the sandbox', async (t) => {
  const code = 'class Main { public static void main(String[] a) { System.out.println(Runtime.getRuntime().maxMemory() >> 20); } }';
  if (!(await hasProgram('java'))) return t.skip('no Java');
  const { stdout, stderr } = structuredOf(await run_code({ language: 'java', code }));
  assert.equal(stderr, '');
  assert.ok(Number(stdout) > 0 && Number(stdout) <= 1024, stdout);
});

test('a debugger that needs ptrace is told the setting', async (t) => {
  if (!(await hasProgram('strace'))) return t.skip('no strace');
  assert.match(textOf(await run_command({ command: 'strace true' })), /\[belljar: .*--calls debug\]/);
  assert.match(textOf(await run_command({ command: 'strace true 2>&1 | cat' })), /\[belljar: .*--calls debug\]/);
});

test('AddressSanitizer works without ptrace', async (t) => {
  const command = "echo 'int main(void) { return 7; }' > a.c && cc -fsanitize=address a.c -o a || exit 3; ./a";
  const { exit_code, stderr } = structuredOf(await run_command({ command }));
  if (exit_code === 3) return t.skip('no AddressSanitizer');
  assert.deepEqual({ exit_code, stderr }, { exit_code: 7, stderr: '' });
});

test('TypeScript runs through tsc if there is nothing better', async (t) => {
  const { id: sandbox } = structuredOf(await create_sandbox({}));
  // A stand-in for the compiler: copies the last argument to the directory behind --outDir.
  const content = '#!/bin/sh\nfor a; do [ "$b" = --outDir ] && out=$a; b=$a; done\nmkdir -p $out && cp "$b" $out/main.js\n';
  structuredOf(await write_file({ sandbox, path: '/home/coderunner/.local/bin/tsc', content, executable: true }));
  const result = await run_code({ sandbox, language: 'typescript', code: 'console.log(1 + 2)' });
  assert.equal(structuredOf(result).stdout, '3\n', textOf(result));
});
