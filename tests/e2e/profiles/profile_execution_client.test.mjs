// The profile execution-client, over stdio: commands, files, docstrings and users.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { AWKWARD, jsonOf, profile } from '../lib/profile.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { refused, stateDir, textOf, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-execution-'));
chmodSync(dir, 0o755);
after(() => rmSync(dir, { recursive: true, force: true }));
for (const sub of ['tools', 'tools/deep', 'skills', 'skills/charts']) mkdirSync(join(dir, sub));
writeFileSync(
  join(dir, 'tools/example.py'),
  `raise SystemExit("it was run")

def greet(name: str) -> str:
    """Greet someone.

    Politely, by name.
    """
    return f"Hello, {name}!"

def silent(): pass
`,
);
writeFileSync(join(dir, 'tools/hello.py'), 'def hello(name):\n    "Say hello."\n    return "hello " + name\n');
writeFileSync(join(dir, 'tools/deep/inner.py'), 'def far(): "Far away."\n');
writeFileSync(join(dir, 'skills/charts/Skill.md'), '---\nname: Good charts\ndescription: Draw good charts\n---\nUse few colours.\n');

const settings = { TOOLS_DIR: join(dir, 'tools'), SKILLS_DIR: join(dir, 'skills') };
const { tools, json } = profile('execution-client', settings);
const text = async (name, args) => {
  const result = await tools[name](args);
  assert.ok(!result.isError, textOf(result));
  return textOf(result);
};

test('execute_bash', async () => {
  assert.deepEqual(await json.execute_bash({ command: 'echo out; echo err >&2; exit 3' }), {
    exit_code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  const where = await json.execute_bash({ command: 'id -un; id -u; pwd; echo $0; python --version' });
  assert.match(where.stdout, /^coderunner\n1000\n\/workspace\n.*bash\nPython 3/);
  assert.deepEqual(await json.execute_bash({ command: 'echo begun; sleep 1000', timeout: 1 }), {
    exit_code: -1,
    stdout: '',
    stderr: 'Command timed out after 1 seconds',
  });
  const dirs = 'touch /workspace/x /artifacts/x && ! touch /tools/x && ! touch /skills/x && ls /tools /skills';
  const rights = await json.execute_bash({ command: dirs });
  assert.equal(rights.exit_code, 0, rights.stderr);
  assert.equal(rights.stdout, '/skills:\ncharts\n\n/tools:\ndeep\nexample.py\nhello.py\n');
  const use = 'python3 -c "from tools.hello import hello; print(hello(chr(98)))"';
  assert.equal((await json.execute_bash({ command: use })).stdout, 'hello b\n');
});

test('output that never ends is cut', async () => {
  const { exit_code, stdout } = await json.execute_bash({ command: 'timeout 2 yes belljar' });
  assert.equal(exit_code, 124);
  assert.ok(stdout.length < 2 * 1024 * 1024);
  assert.match(stdout, /bytes left out/);
});

test('files: special characters, and ranges of lines', async () => {
  const file_path = `/workspace/a "b" 'c' $(d)/e.txt`;
  const bytes = Buffer.byteLength(AWKWARD);
  assert.equal(await text('write_file', { file_path, content: AWKWARD }), `Successfully wrote ${bytes} bytes to ${file_path}`);
  assert.equal(await text('read_file', { file_path }), AWKWARD);
  const big = '"quote" $(x)\n'.repeat(400_000);
  await text('write_file', { file_path: '/workspace/big', content: big });
  assert.ok((await text('read_file', { file_path: '/workspace/big' })) === big);
  const content = Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join('');
  await text('write_file', { file_path: '/workspace/ten', content });
  const lines = (offset, line_count) => text('read_file', { file_path: '/workspace/ten', offset, line_count });
  assert.equal(await lines(), content);
  assert.equal(await lines(0, 2), 'line 0\nline 1\n');
  assert.equal(await lines(3, 1), 'line 3\n');
  assert.equal(await lines(8), 'line 8\nline 9\n');
  assert.equal(await lines(8, 100), 'line 8\nline 9\n');
  assert.equal(await lines(3, 0), '');
  assert.equal(await lines(100), '');
  refused(await tools.read_file({ file_path: 'ten' }), /'ten' is not absolute/);
  refused(await tools.read_file({ file_path: '/../etc/passwd' }), /leads out of the sandbox/);
  refused(await tools.read_file({ file_path: '/workspace/none' }), /does not exist/);
  refused(await tools.write_file({ file_path: '/tools/x', content: '' }), /'\/tools\/x'/);
  refused(await tools.write_file({ file_path: '/workspace/x' }), /'content' is missing/);
});

test('docstrings are read without running the module', async () => {
  assert.equal(
    await text('read_docstring', { module_path: 'tools.example', function_name: 'greet' }),
    'Greet someone.\n\nPolitely, by name.',
  );
  assert.equal(await text('read_docstring', { module_path: 'tools.deep.inner', function_name: 'far' }), 'Far away.');
  assert.equal(
    await text('read_docstring', { file_path: '/tools/example.py', function_name: 'greet' }),
    'Greet someone.\n\nPolitely, by name.',
  );
  assert.equal(await text('read_docstring', { module_path: 'tools.example', function_name: 'silent' }), '');
  refused(await tools.read_docstring({ module_path: 'tools.none', function_name: 'x' }), /no module 'tools.none'/);
  refused(await tools.read_docstring({ module_path: 'tools.example', function_name: 'great' }), /did you mean 'greet'/);
  refused(await tools.read_docstring({ module_path: '../x', function_name: 'x' }), /'module_path'/);
  refused(await tools.read_docstring({ function_name: 'x' }), /either 'module_path'/);
});

test('two users at once do not see each other', async () => {
  const users = ['alice', 'bob', 'a_b', 'a/b', 'a b'];
  await Promise.all(
    users.map(async (user_id) => {
      await json.execute_bash({ command: `cat > mine`, user_id });
      await tools.write_file({ file_path: '/workspace/mine', content: user_id, user_id });
    }),
  );
  for (const user_id of users) {
    const { stdout } = await json.execute_bash({ command: 'ls; cat mine', user_id });
    assert.equal(stdout, `mine\n${user_id}`);
    assert.equal(await text('read_file', { file_path: '/workspace/mine', user_id }), user_id);
  }
  // An empty user is none.
  await json.execute_bash({ command: 'echo nobody > own', user_id: '' });
  assert.equal((await json.execute_bash({ command: 'cat own' })).stdout, 'nobody\n');
  refused(await tools.execute_bash({ command: 'true', user_id: '/'.repeat(40) }), /'user_id' is too long/);
});

test('stop keeps files, cleanup removes them', async () => {
  const user_id = 'carol';
  const run = async (command) => (await json.execute_bash({ command, user_id })).stdout;
  assert.match(await text('stop_container', { user_id }), /no container/);
  await run('echo kept > f; sleep 1000 & disown');
  assert.match(await text('stop_container', { user_id }), /stopped/);
  assert.equal(await run('cat f; pgrep sleep'), 'kept\n');
  assert.match(await text('cleanup_container', { user_id }), /removed/);
  assert.equal(await run('ls'), '');
  assert.match(await text('cleanup_all'), /^\d+ containers removed$/);
  assert.match(await text('cleanup_all'), /^0 containers removed$/);
  assert.equal(await run('ls'), '');
});

test('the system prompt names skills and functions; the paths come from the usual variables', async (t) => {
  const session = await connectV1(t, {
    program: BELLJAR,
    env: {
      BELLJAR_STATE_DIR: stateDir(t),
      BELLJAR_PROFILE: 'execution-client',
      MCP_TOOLS_PATH: join(dir, 'tools'),
      MCP_SKILLS_PATH: join(dir, 'skills'),
    },
  });
  assert.deepEqual((await session.client.listPrompts()).prompts.map(({ name }) => name), ['agent_system_prompt']);
  const { messages } = await session.client.getPrompt({ name: 'agent_system_prompt' });
  const prompt = messages[0].content.text;
  assert.match(prompt, /\n- Good charts: Draw good charts \(\/skills\/charts\/Skill.md\)\n/);
  assert.match(prompt, /\n- tools\.example: greet\(name: str\) -> str - Greet someone\.\n/);
  assert.match(prompt, /\n- tools\.deep\.inner: far\(\) - Far away\.\n/);
  const { tools: list } = await session.client.listTools();
  assert.deepEqual(list.map(({ name }) => name), [
    'execute_bash', 'read_file', 'write_file', 'read_docstring',
    'stop_container', 'cleanup_container', 'cleanup_all',
  ]);
  assert.equal(list[0].inputSchema.properties.timeout.default, 30);
  const { stdout } = await jsonOf(toolsOf(async () => session)).execute_bash({ command: 'ls /tools' });
  assert.equal(stdout, 'deep\nexample.py\nhello.py\n');
  await session.close();
});

test('directories that cannot be used are named with their option', async (t) => {
  const start = (env) => connectV1(t, { program: BELLJAR, env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_PROFILE: 'execution-client', ...env } });
  const missing = await start({ MCP_TOOLS_PATH: join(dir, 'none') });
  const { stderr } = await jsonOf(toolsOf(async () => missing)).execute_bash({ command: 'true' });
  assert.match(stderr, /--tools-dir: '\S*\/none': No such file or directory/);
  await missing.close();

  mkdirSync(join(dir, 'named/two words'), { recursive: true });
  writeFileSync(join(dir, 'named/two words/SKILL.md'), 'Text.');
  const named = await start({ MCP_SKILLS_PATH: join(dir, 'named') });
  assert.match(await named.close(), /the skill 'two words' is left out: rename its directory, with letters, digits and "\._-" only/);
});
