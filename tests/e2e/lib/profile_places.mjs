// profile_places.mjs - one sandbox of each profile as the same few functions, for tests of all profiles.
import assert from 'node:assert/strict';

/** One sandbox of each profile as the same few functions. `run` takes a shell command and returns what it
 * printed; `write` a path and a text, and fails with the profile's message. */
export const places = {
  async 'code-executor'({ json }, { timeout = 30 } = {}) {
    const { executor_id } = await json.create_executor({ timeout });
    return {
      id: executor_id,
      run: async (code) => (await json.execute_code({ executor_id, code, language: 'bash' })).output,
      async write(file_path, content) {
        const { success, message } = await json.write_file({ executor_id, file_path, content });
        assert.ok(success, message);
      },
    };
  },
  async 'code-sandbox'({ json }, { use_persistent = true } = {}) {
    const { container_id, workspace_id } = await json.sandbox_initialize({ use_persistent });
    const ids = { container_id, ...(workspace_id && { workspace_id }) };
    return {
      id: container_id,
      ids,
      async run(command) {
        const { results } = await json.sandbox_exec({ ...ids, commands: [command] });
        return results[0].stdout + results[0].stderr;
      },
      async write(file_name, file_contents) {
        const { success, error } = await json.write_file_sandbox({ ...ids, file_name, file_contents });
        assert.ok(success, error);
      },
    };
  },
  async 'execution-client'({ json, text }, { timeout = 30, user_id } = {}) {
    return {
      async run(command) {
        const { stdout, stderr } = await json.execute_bash({ command, timeout, user_id });
        return stdout + stderr;
      },
      write: (path, content) => text.write_file({ file_path: path[0] === '/' ? path : `/workspace/${path}`, content, user_id }),
    };
  },
  async 'sandbox-interpreter'({ text }) {
    const id = /sb_\w+/.exec(await text.initialize_sandbox())[0];
    return { id, run: (code) => text.execute_code({ code, language: 'bash' }) };
  },
  async 'python-executor'({ json }, { timeout = 30 } = {}) {
    return {
      async run(command) {
        const code = `import subprocess, sys; sys.exit(subprocess.run(["bash", "-c", ${JSON.stringify(command)}]).returncode)`;
        const { stdout, stderr, error } = await json.execute_python({ code, timeout });
        return stdout + stderr + (error ?? '');
      },
    };
  },
};
