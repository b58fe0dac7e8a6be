// The profile code-executor, over stdio: the walk of the original's example, and what must hold
// where a server that builds shell commands goes wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AWKWARD, idsOnDisk, imageNote, jsonOf, objectOf, profile } from '../lib/profile.mjs';
import { BELLJAR, ENGINE } from '../lib/programs.mjs';
import { refused, stateDir, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const { tools, json } = profile('code-executor');

test('create, make a directory, write, run as bash, read the output, delete', async () => {
  const { executor_id, message } = await json.create_executor();
  assert.match(executor_id, /^sb_/);
  assert.match(message, /created/);
  assert.equal((await json.create_directory({ executor_id, dir_path: 'my_project' })).success, true);
  const content = "import sys\nprint('hello from', sys.argv[0])\n";
  assert.equal(
    (await json.write_file({ executor_id, file_path: 'my_project/main.py', content })).success,
    true,
  );
  assert.deepEqual(
    await json.execute_code({
      executor_id,
      code: 'cd /workspace/my_project && python main.py',
      language: 'bash',
    }),
    { output: 'hello from main.py\n', exit_code: 0, success: true },
  );
  assert.deepEqual(await json.delete_executor({ executor_id }), {
    success: true,
    message: 'Executor deleted',
  });
  assert.deepEqual(await json.delete_executor({ executor_id }), {
    success: false,
    message: 'Executor not found',
  });
});

test('the tools, their arguments and defaults are those of the original', async (t) => {
  const session = await connectV1(t, {
    program: BELLJAR,
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'code-executor' },
  });
  assert.equal(session.client.getServerVersion().name, 'Docker Code Executor');
  const { tools: list } = await session.client.listTools();
  assert.deepEqual(
    list.map(({ name, inputSchema }) => [
      name,
      Object.keys(inputSchema.properties).join(),
      (inputSchema.required ?? []).join(),
    ]),
    [
      ['create_executor', 'docker_image,timeout', ''],
      ['execute_code', 'executor_id,code,language', 'executor_id,code'],
      ['delete_executor', 'executor_id', 'executor_id'],
      ['write_file', 'executor_id,file_path,content', 'executor_id,file_path,content'],
      ['read_file', 'executor_id,file_path', 'executor_id,file_path'],
      ['list_directory', 'executor_id,path', 'executor_id'],
      ['create_directory', 'executor_id,dir_path', 'executor_id,dir_path'],
      ['project_structure', 'executor_id,path', 'executor_id'],
    ],
  );
  const defaults = list[0].inputSchema.properties;
  assert.equal(defaults.docker_image.default, 'python:3-slim');
  assert.equal(defaults.timeout.default, 30);
  assert.equal(list[1].inputSchema.properties.language.default, 'python');
  assert.equal(list[5].inputSchema.properties.path.default, '.');
  const status = await session.client.readResource({ uri: 'system://status' });
  assert.match(status.contents[0].text, /is running/);
  await session.close();
});

test('stdout and stderr are told apart, and an exit status is kept', async () => {
  const { executor_id } = await json.create_executor();
  const run = (code, language) => json.execute_code({ executor_id, code, language });
  assert.deepEqual(await run('print("out")'), { output: 'out\n', exit_code: 0, success: true });
  assert.deepEqual(await run("import sys; print('out'); print('bad', file=sys.stderr); sys.exit(3)"), {
    output: 'out\n\n--- stderr ---\nbad\n',
    exit_code: 3,
    success: false,
  });
  const failed = await run('1/0');
  assert.equal(failed.exit_code, 1);
  assert.match(failed.output, /^\n--- stderr ---\nTraceback[^]*ZeroDivisionError/);
  assert.equal((await run('echo "$0" $BASH_VERSION', 'bash')).success, true);
  assert.equal((await run('print "perl\\n"', 'perl')).output, 'perl\n');
  const unknown = await run('x', 'klingon');
  assert.equal(unknown.exit_code, 127);
  assert.match(unknown.output, /'klingon' is not known; there are: python/);
  assert.match((await run('python --version; python3 --version', 'bash')).output, /^(Python 3\.\d+\.\d+\n)\1$/);
});

test('limits: 256 MiB, one processor, no network, not root', async () => {
  const { executor_id } = await json.create_executor();
  const run = (code) => json.execute_code({ executor_id, code, language: 'bash' });
  assert.equal((await run('id -un; pwd; touch /usr/x 2>/dev/null || echo read-only')).output, 'coderunner\n/workspace\nread-only\n');
  const memory = await json.execute_code({
    executor_id,
    code: 'x = bytearray(400 * 1024 * 1024)\nx[::4096] = b"x" * len(x[::4096])\nprint("had it")',
  });
  assert.equal(memory.success, false);
  assert.doesNotMatch(memory.output, /had it/);
  const network = await json.execute_code({
    executor_id,
    code: 'import socket\nsocket.create_connection(("192.0.2.1", 80), 2)',
  });
  assert.match(network.output, /unreachable|not permitted/);
});

test('a program that never ends is ended after the time of create_executor', async () => {
  const { executor_id } = await json.create_executor({ timeout: 1 });
  const forever = await json.execute_code({ executor_id, code: "print('begun')\nwhile True: pass" });
  assert.equal(forever.exit_code, 124);
  assert.equal(forever.success, false);
  assert.match(forever.output, /^begun\n[^]*timed out after 1 seconds/);
  const asleep = await json.execute_code({ executor_id, code: 'sleep 1000 & sleep 1000', language: 'bash' });
  assert.equal(asleep.exit_code, 124);
  const left = await json.execute_code({ executor_id, code: 'ps -e -o comm= | grep -c sleep', language: 'bash' });
  assert.equal(left.output, '0\n');
});

test('output that never ends is cut, and the server goes on', async () => {
  const { executor_id } = await json.create_executor({ timeout: 2 });
  const { output, exit_code } = await json.execute_code({ executor_id, code: 'yes belljar', language: 'bash' });
  assert.equal(exit_code, 124);
  assert.ok(output.length < 2 * 1024 * 1024);
  assert.match(output, /^belljar\n[^]*bytes left out[^]*timed out/);
  assert.equal((await json.execute_code({ executor_id, code: 'print(1)' })).output, '1\n');
});

test('file contents and code arrive unchanged, whatever they contain', async () => {
  const { executor_id } = await json.create_executor();
  const file_path = `a 'quoted' "name" $(id)/ü *.txt`;
  for (const content of [AWKWARD, '', '\n', 'x'.repeat(5 * 1024 * 1024), '"\n'.repeat(500_000)]) {
    assert.equal((await json.write_file({ executor_id, file_path, content })).success, true);
    const back = await json.read_file({ executor_id, file_path });
    assert.equal(back.success, true, back.message);
    assert.ok(back.content === content, `${content.length} characters`);
  }
  const code = `print(${JSON.stringify("'$(id)' `x` \"y\" \\ ")})`;
  assert.equal((await json.execute_code({ executor_id, code })).output, "'$(id)' `x` \"y\" \\ \n");
  const { files } = await json.project_structure({ executor_id });
  assert.deepEqual(files, [file_path]);
});

test('paths stay in the sandbox', async () => {
  const { executor_id } = await json.create_executor();
  const write = (file_path) => json.write_file({ executor_id, file_path, content: 'x' });
  for (const path of ['../outside', 'a/../../outside', '../../../../etc/passwd', '/../x']) {
    const refusal = await write(path);
    assert.equal(refusal.success, false, path);
    assert.match(refusal.message, /leads out of/);
    assert.equal((await json.read_file({ executor_id, file_path: path })).success, false);
    assert.equal((await json.list_directory({ executor_id, path })).success, false);
    assert.equal((await json.create_directory({ executor_id, dir_path: path })).success, false);
    assert.equal((await json.project_structure({ executor_id, path })).success, false);
  }
  assert.equal((await write('a/../b')).success, true);
  assert.equal((await write('/workspace/absolute')).success, true);
  assert.equal((await write('/etc/passwd')).success, false);
  await json.execute_code({ executor_id, code: 'ln -s / root; ln -s /etc/shadow secret', language: 'bash' });
  // A link is resolved in the sandbox, whose files are not those of the host.
  const passwd = await json.read_file({ executor_id, file_path: 'root/etc/passwd' });
  assert.match(passwd.content, /^root:x:0:0[^]*coderunner:x:1000/);
  assert.equal((await json.read_file({ executor_id, file_path: 'secret' })).success, false);
  const missing = await json.read_file({ executor_id, file_path: 'none' });
  assert.equal(missing.success, false);
  assert.match(missing.message, /'.*none' does not exist/);
});

test('list and tree', async () => {
  const { executor_id } = await json.create_executor();
  for (const path of ['p/src/a.py', 'p/src/b.py', 'p/README', '-x'])
    await json.write_file({ executor_id, file_path: path, content: '' });
  const { output } = await json.list_directory({ executor_id });
  assert.match(output, /^total \d+\n(.*\n)*-rw-r--r-- 1 coderunner coderunner +0 .* -x\n/);
  assert.match(output, /\ndrwxr-xr-x .* p\n/);
  assert.match((await json.list_directory({ executor_id, path: '-x' })).output, / -x\n$/);
  const listed = await json.list_directory({ executor_id, path: 'nowhere' });
  assert.equal(listed.success, false);
  assert.match(listed.message, /nowhere/);
  assert.deepEqual(await json.project_structure({ executor_id, path: 'p' }), {
    success: true,
    tree: 'p/\n├── README\n└── src/\n    ├── a.py\n    └── b.py',
    files: ['p/README', 'p/src/a.py', 'p/src/b.py'], // as read_file takes them
  });
  for (const [path, tree, files] of [
    ['./p/src/', 'p/src/\n├── a.py\n└── b.py', ['p/src/a.py', 'p/src/b.py']],
    ['/workspace/p/src', 'p/src/\n├── a.py\n└── b.py', ['p/src/a.py', 'p/src/b.py']],
    ['.', 'workspace/\n├── -x\n└── p/\n    ├── README\n    └── src/\n        ├── a.py\n        └── b.py', ['-x', 'p/README', 'p/src/a.py', 'p/src/b.py']],
  ])
    assert.deepEqual(await json.project_structure({ executor_id, path }), { success: true, tree, files });
  await json.execute_code({ executor_id, language: 'bash', code: 'mkdir many && cd many && seq 5100 | xargs touch' });
  const cut = await json.project_structure({ executor_id, path: 'many' });
  assert.equal(cut.files.length, 5000);
  assert.match(cut.message, /^Only 5000 entries and 32 levels of directories are shown/);
  await json.execute_code({ executor_id, language: 'bash', code: `mkdir -p ${'d/'.repeat(40)}` });
  const deep = await json.project_structure({ executor_id, path: 'd' });
  assert.equal(deep.tree.split('\n').length, 33);
  assert.match(deep.message, /32 levels of directories are shown/);
});

test('an answer that no message holds is refused in the shape of the profile', async () => {
  const { executor_id } = await json.create_executor();
  // Six bytes of JSON for each, which are escaped once more in the text of the answer.
  await json.execute_code({ executor_id, code: "open('zeros', 'w').write('\\0' * 5000000)" });
  const { success, message } = await json.read_file({ executor_id, file_path: 'zeros' });
  assert.equal(success, false);
  assert.match(message, /^the answer has 3\d{7} bytes as JSON, and at most 10485760 can be sent \(--max-line\): read or print less at once$/);
});

test('code that cannot be run has an output and an exit code', async () => {
  const { executor_id } = await json.create_executor();
  for (const language of ['klingon', 'swift']) {
    const { success, output, exit_code } = await json.execute_code({ executor_id, code: '1', language });
    assert.equal(success, false);
    assert.match(output, new RegExp(language));
    assert.ok(exit_code > 0);
  }
});

test('a file that is no text is refused, and not changed into one', async () => {
  const { executor_id } = await json.create_executor();
  await json.execute_code({ executor_id, code: "open('b', 'wb').write(bytes(range(256)))" });
  const { success, message } = await json.read_file({ executor_id, file_path: 'b' });
  assert.equal(success, false);
  assert.match(message, /'\/workspace\/b' is not text in UTF-8, .* as Base64/);
});

test('sandboxes of the caller that are no executors are not found', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t) };
  const session = await connectV1(t, { program: BELLJAR, env });
  const { id } = (await session.call({ name: 'create_sandbox', arguments: { name: 'mine' } })).structuredContent;
  await session.close();
  const executors = await connectV1(t, { program: BELLJAR, env: { ...env, BELLJAR_PROFILE: 'code-executor' } });
  const use = jsonOf(toolsOf(async () => executors));
  for (const executor_id of [id, 'mine'])
    assert.deepEqual(await use.delete_executor({ executor_id }), { success: false, message: 'Executor not found' });
  await executors.close();
});

test('errors have the shape of the profile', async () => {
  const unknown = { executor_id: 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' };
  const notFound = { success: false, message: 'Executor not found' };
  assert.deepEqual(await json.execute_code({ ...unknown, code: '1' }), notFound);
  assert.deepEqual(await json.write_file({ ...unknown, file_path: 'x', content: '' }), notFound);
  for (const executor_id of ['nonsense', '', 'x'.repeat(1000)])
    assert.deepEqual(await json.read_file({ executor_id, file_path: 'x' }), notFound);
  assert.deepEqual(await json.list_directory(unknown), notFound);
  assert.deepEqual(await json.create_directory({ ...unknown, dir_path: 'x' }), notFound);
  assert.deepEqual(await json.project_structure(unknown), notFound);
  refused(await tools.execute_code({ code: '1' }), /'executor_id' is missing/);
  refused(await tools.execute_code({ executor_id: 1, code: '1' }), /'executor_id'.*string/);
  refused(await tools.create_executor({ timeout: 'long' }), /'timeout'/);
  const image = await json.create_executor({ docker_image: '; rm -rf /' });
  assert.match(image.message, /'; rm -rf \/' is not the name of an image/);
  await assert.rejects(tools.run_code({ code: '1' }), /run_code/);
});

test('an image that the engine does not have is named in the message', async () => {
  assert.match((await json.create_executor()).message, imageNote('python:3-slim'));
  const { message } = await json.create_executor({ docker_image: 'node:20' });
  assert.match(message, ENGINE === 'native' ? imageNote('node:20') : /Docker has no 'node:20', and this server may not pull it/);
});

test('20 executors at once, and two clients of one user', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'code-executor' };
  const [one, two] = await Promise.all([0, 1].map(() => connectV1(t, { program: BELLJAR, env })));
  const use = (session) => jsonOf(toolsOf(async () => session));
  const ids = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const client = use(i % 2 ? one : two);
      const { executor_id, message } = await client.create_executor();
      assert.ok(executor_id, message);
      await client.write_file({ executor_id, file_path: 'n', content: String(i) });
      const { output } = await client.execute_code({ executor_id, code: "print(open('n').read())" });
      assert.equal(output, `${i}\n`);
      return executor_id;
    }),
  );
  assert.equal(new Set(ids).size, 20);
  await one.close();
  await two.close();
  // Executors are removed when their server stops.
  assert.deepEqual(await idsOnDisk(env.BELLJAR_STATE_DIR), []);
});

test('a client that vanishes leaves nothing', async (t) => {
  const env = { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'code-executor' };
  const session = await connectV1(t, { program: BELLJAR, env });
  const { executor_id } = objectOf(await session.call({ name: 'create_executor', arguments: {} }));
  const running = session.call({ name: 'execute_code', arguments: { executor_id, code: 'sleep 1000', language: 'bash' } });
  running.catch(() => {});
  assert.deepEqual(await idsOnDisk(env.BELLJAR_STATE_DIR), [executor_id]);
  await session.close();
  assert.deepEqual(await idsOnDisk(env.BELLJAR_STATE_DIR), []);
});

test('an unknown profile is refused with the names of all', async (t) => {
  const { spawnSync } = await import('node:child_process');
  for (const [args, env] of [
    [['serve', '--profile', 'code-exekutor'], {}],
    [['serve'], { BELLJAR_PROFILE: 'code-exekutor' }],
  ]) {
    const { status, stderr } = spawnSync(BELLJAR, args, {
      input: '',
      env: { ...process.env, BELLJAR_STATE_DIR: stateDir(t), ...env },
    });
    assert.equal(status, 2);
    assert.match(
      String(stderr),
      /default, code-executor, sandbox-interpreter, code-sandbox, execution-client, python-executor.*'code-exekutor'/,
    );
  }
});
