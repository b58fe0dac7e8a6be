// profile_walks.mjs - the documented example of each profile's original server, as a walk that runs
// over any transport and engine. A walk gets `json` (the object in an answer's text), `text`, the `client`
// and `dir`, the directory of this machine that copies may use.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const patient = { timeout: 180000 };

/** Fills a directory with what the walks copy in, import and read; the settings of a server that uses it. */
export function prepareWalks(dir, index) {
  for (const [file, text] of Object.entries({
    'tools/example.py': 'def greet(name: str) -> str:\n    """Greet someone."""\n    return f"Hello, {name}!"\n',
    'skills/charts/SKILL.md': '---\nname: charts\ndescription: Draw good charts\n---\nUse few colours.\n',
    'project/src/main.py': 'print("main")\n',
    'one.txt': 'one\n',
  })) {
    mkdirSync(join(dir, file, '..'), { recursive: true });
    writeFileSync(join(dir, file), text);
  }
  chmodSync(dir, 0o777);
  return {
    BELLJAR_ALLOW_PATH: dir,
    BELLJAR_TOOLS_DIR: join(dir, 'tools'),
    BELLJAR_SKILLS_DIR: join(dir, 'skills'),
    BELLJAR_PIP_INDEX: index.url,
  };
}

const histogram = `import numpy as np
import matplotlib.pyplot as plt
import alpha
plt.hist(np.random.default_rng(0).normal(size=1000), bins=20)
plt.savefig('histogram.png')
print('alpha', alpha.VALUE)
`;

export const walks = {
  async 'code-executor'({ json, client }) {
    const { executor_id } = await json.create_executor({ docker_image: 'python:3-slim', timeout: 30 });
    const id = { executor_id };
    await json.create_directory({ ...id, dir_path: 'my_project' });
    await json.write_file({ ...id, file_path: 'my_project/main.py', content: "print('Hello from executor')\n" });
    const ran = await json.execute_code({ ...id, code: 'cd /workspace/my_project && python main.py', language: 'bash' });
    assert.deepEqual(ran, { output: 'Hello from executor\n', exit_code: 0, success: true });
    assert.equal((await json.execute_code({ ...id, code: 'print(1 + 1)' })).output, '2\n');
    assert.equal((await json.read_file({ ...id, file_path: 'my_project/main.py' })).content, "print('Hello from executor')\n");
    assert.match((await json.list_directory({ ...id, path: 'my_project' })).output, /main\.py/);
    assert.deepEqual(await json.project_structure(id), {
      success: true,
      tree: 'workspace/\n└── my_project/\n    └── main.py',
      files: ['my_project/main.py'],
    });
    assert.match((await client.readResource({ uri: 'system://status' })).contents[0].text, /running/);
    assert.deepEqual(await json.delete_executor(id), { success: true, message: 'Executor deleted' });
    assert.equal((await json.read_file({ ...id, file_path: 'x' })).message, 'Executor not found');
  },

  async 'sandbox-interpreter'({ text }) {
    assert.match(await text.initialize_sandbox(), /^Sandbox sb_\S+ is ready/);
    assert.equal(await text.execute_code({ code: "print('Hello')" }), 'Hello\n');
    assert.equal(await text.execute_code({ code: 'echo $((2 * 3))', language: 'bash' }), '6\n');
    assert.match(await text.stop_sandbox(), /removed/);
    assert.match(await text.stop_sandbox(), /no sandbox/);
  },

  async 'code-sandbox'({ json, dir }) {
    const { container_id, workspace_id, workspace_path, mode } = await json.sandbox_initialize();
    assert.equal(mode, 'persistent');
    const ids = { container_id, workspace_id };
    const { file_path } = await json.write_file_sandbox({ ...ids, file_name: 'hello.py', file_contents: 'print("hi")\n' });
    assert.equal(file_path, `${workspace_path}/hello.py`);
    const { success, results } = await json.sandbox_exec({ ...ids, commands: ['pwd', 'python hello.py'] });
    assert.equal(success, true, JSON.stringify(results));
    assert.deepEqual(results.map(({ stdout }) => stdout), [`${workspace_path}\n`, 'hi\n']);
    assert.match((await json.get_container_logs({ container_id })).logs, /python hello.py\nhi\n/);
    const copied = await json.copy_file({ ...ids, local_src_file: join(dir, 'one.txt') });
    assert.equal(copied.file_path, `${workspace_path}/one.txt`);
    const project = await json.copy_project({ ...ids, local_src_dir: join(dir, 'project') });
    assert.equal(project.dest_dir, `${workspace_path}/project`);
    const used = await json.sandbox_exec({ ...ids, commands: ['cat one.txt', 'python project/src/main.py'] });
    assert.deepEqual(used.results.map(({ stdout }) => stdout), ['one\n', 'main\n']);
    await json.write_file_sandbox({ ...ids, file_name: 'requirements.txt', file_contents: 'numpy\nmatplotlib>=1\nalpha < 2\n' });
    await json.write_file_sandbox({ ...ids, file_name: 'plot.py', file_contents: histogram });
    const ran = await json.sandbox_exec({ ...ids, commands: ['python plot.py'] }, patient);
    assert.equal(ran.success, true, JSON.stringify(ran));
    assert.deepEqual(ran.dependencies, { installed: ['alpha==1.0'] });
    const local_dest_path = join(dir, 'histogram.png');
    const out = await json.copy_file_from_sandbox({ ...ids, container_src_path: 'histogram.png', local_dest_path });
    const png = readFileSync(local_dest_path);
    rmSync(local_dest_path);
    assert.deepEqual([out.local_path, out.file_size], [local_dest_path, png.length]);
    assert.equal(png.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
    assert.equal(png.subarray(12, 16).toString(), 'IHDR');
    assert.equal((await json.clean_workspace(ids)).success, true);
    assert.equal((await json.sandbox_stop({ container_id, is_persistent: true })).success, true);
    const alone = await json.sandbox_initialize({ use_persistent: false });
    assert.equal(alone.workspace_path, '/app');
    assert.equal((await json.sandbox_stop({ container_id: alone.container_id })).success, true);
  },

  async 'execution-client'({ json, text, client }) {
    const ran = await json.execute_bash({ command: 'echo "hello"; whoami' });
    assert.deepEqual(ran, { exit_code: 0, stdout: 'hello\ncoderunner\n', stderr: '' });
    const file_path = '/workspace/a.txt';
    assert.equal(await text.write_file({ file_path, content: 'a\nb\nc\n' }), 'Successfully wrote 6 bytes to /workspace/a.txt');
    assert.equal(await text.read_file({ file_path, offset: 1, line_count: 1 }), 'b\n');
    await json.execute_bash({ command: 'echo result > /artifacts/result.txt' });
    const { messages } = await client.getPrompt({ name: 'agent_system_prompt' });
    assert.match(messages[0].content.text, /execute_bash[^]*charts: Draw good charts[^]*tools\.example: greet\(name: str\)/);
    assert.equal(await text.read_docstring({ module_path: 'tools.example', function_name: 'greet' }), 'Greet someone.');
    const used = await json.execute_bash({ command: 'cat /skills/charts/SKILL.md | tail -1; python -c "from tools.example import greet; print(greet(1))"' });
    assert.equal(used.stdout, 'Use few colours.\nHello, 1!\n');
    assert.match(await text.stop_container({}), /stopped/);
    assert.equal(await text.read_file({ file_path }), 'a\nb\nc\n');
    assert.match(await text.cleanup_container({}), /removed/);
    assert.match(await text.cleanup_all(), /^0 containers/);
  },

  async 'python-executor'({ json }) {
    assert.equal((await json.execute_python({ code: "print('Hello, World!')" })).stdout, 'Hello, World!\n');
    assert.equal((await json.execute_python({ code: 'import math; print(math.sqrt(16))' })).stdout, '4.0\n');
    assert.equal((await json.execute_python({ code: 'while True: pass', timeout: 1 })).status, 'timeout');
    assert.equal((await json.get_sandbox_info()).status, 'ready');
    assert.deepEqual((await json.list_installed_packages()).packages, []);
    const { installed } = await json.install_package({ package_name: 'alpha<2 beta' }, patient);
    assert.deepEqual(installed, ['alpha==1.0', 'beta==1.0']);
    assert.equal((await json.execute_python({ code: 'import alpha; print(alpha.VALUE)' })).stdout, '1\n');
    assert.deepEqual((await json.list_installed_packages()).packages.map(({ name }) => name), ['alpha', 'beta']);
    assert.equal((await json.reset_sandbox()).status, 'success');
    assert.deepEqual((await json.list_installed_packages()).packages, []);
  },
};
