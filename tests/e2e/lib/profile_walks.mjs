// profile_walks.mjs - the documented example of each profile's original server, as a walk that runs
// over any transport and engine. A walk gets `json` (the object in an answer's text) and `text`.
import assert from 'node:assert/strict';

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
    assert.match((await json.project_structure(id)).tree, /my_project\/\n.*main\.py/);
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

  async 'code-sandbox'({ json }) {
    const { container_id, workspace_id, workspace_path, mode } = await json.sandbox_initialize();
    assert.equal(mode, 'persistent');
    const ids = { container_id, workspace_id };
    const { file_path } = await json.write_file_sandbox({ ...ids, file_name: 'hello.py', file_contents: 'print("hi")\n' });
    assert.equal(file_path, `${workspace_path}/hello.py`);
    const { success, results } = await json.sandbox_exec({ ...ids, commands: ['pwd', 'python hello.py'] });
    assert.equal(success, true, JSON.stringify(results));
    assert.deepEqual(results.map(({ stdout }) => stdout), [`${workspace_path}\n`, 'hi\n']);
    assert.match((await json.get_container_logs({ container_id })).logs, /python hello.py\nhi\n/);
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
    assert.match(messages[0].content.text, /execute_bash/);
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
    assert.equal((await json.reset_sandbox()).status, 'success');
  },
};
