// What clients of a profile see before their first call: the name of the server, the tools, their parameters with
// types and defaults, resources and prompts. doc/profiles.md names these tests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BELLJAR } from '../lib/programs.mjs';
import { stateDir } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const required = (type) => [type, 'required'];
const id = required('string');
/** tool: { parameter: [type, default] }; a parameter without a default has the type alone. */
const profiles = {
  'code-executor': {
    server: 'Docker Code Executor',
    resources: ['system://status'],
    tools: {
      create_executor: { docker_image: ['string', 'python:3-slim'], timeout: ['integer', 30] },
      execute_code: { executor_id: id, code: required('string'), language: ['string', 'python'] },
      delete_executor: { executor_id: id },
      write_file: { executor_id: id, file_path: required('string'), content: required('string') },
      read_file: { executor_id: id, file_path: required('string') },
      list_directory: { executor_id: id, path: ['string', '.'] },
      create_directory: { executor_id: id, dir_path: required('string') },
      project_structure: { executor_id: id, path: ['string', '.'] },
    },
  },
  'sandbox-interpreter': {
    server: 'MCP Docker Sandbox Interpreter',
    tools: {
      initialize_sandbox: { image: ['string', 'alpine:latest'] },
      execute_code: { code: required('string'), language: ['string', 'python'] },
      stop_sandbox: {},
    },
  },
  'code-sandbox': {
    server: 'code-sandbox-mcp',
    tools: {
      sandbox_initialize: { image: ['string', 'python:3.9-slim'], use_persistent: ['boolean', true] },
      sandbox_exec: { container_id: id, commands: required('array'), workspace_id: ['string'] },
      write_file_sandbox: { container_id: id, file_name: required('string'), file_contents: required('string'), workspace_id: ['string'], dest_dir: ['string'] },
      copy_file: { container_id: id, local_src_file: required('string'), workspace_id: ['string'], dest_path: ['string'] },
      copy_project: { container_id: id, local_src_dir: required('string'), workspace_id: ['string'], dest_dir: ['string'] },
      copy_file_from_sandbox: { container_id: id, container_src_path: required('string'), workspace_id: ['string'], local_dest_path: ['string'] },
      clean_workspace: { container_id: id, workspace_id: id },
      sandbox_stop: { container_id: id, is_persistent: ['boolean', false] },
      get_container_logs: { container_id: id },
    },
  },
  'execution-client': {
    server: 'DockerExecutionClient',
    prompts: ['agent_system_prompt'],
    tools: {
      execute_bash: { command: required('string'), timeout: ['number', 30], user_id: ['string'] },
      read_file: { file_path: required('string'), offset: ['integer', 0], line_count: ['integer'], user_id: ['string'] },
      write_file: { file_path: required('string'), content: required('string'), user_id: ['string'] },
      read_docstring: { module_path: ['string'], file_path: ['string'], function_name: required('string'), user_id: ['string'] },
      stop_container: { user_id: ['string'] },
      cleanup_container: { user_id: ['string'] },
      cleanup_all: {},
    },
  },
  'python-executor': {
    server: 'Python Code Executor',
    tools: {
      execute_python: { code: required('string'), timeout: ['number', 60] },
      install_package: { package_name: required('string') },
      list_installed_packages: {},
      reset_sandbox: {},
      get_sandbox_info: {},
    },
  },
};

for (const [name, expected] of Object.entries(profiles))
  test(`${name}: the server, its tools, parameters and defaults are those of the original`, async (t) => {
    const session = await connectV1(t, { program: BELLJAR, args: ['serve', '--profile', name], env: { BELLJAR_STATE_DIR: stateDir(t) } });
    const { client } = session;
    assert.equal(client.getServerVersion().name, expected.server);
    const { tools } = await client.listTools();
    const seen = tools.map(({ name, inputSchema: { properties = {}, required = [] } }) => [
      name,
      Object.fromEntries(
        Object.entries(properties).map(([key, schema]) => [
          key,
          [schema.type, ...(required.includes(key) ? ['required'] : []), ...('default' in schema ? [schema.default] : [])],
        ]),
      ),
    ]);
    assert.deepEqual(Object.fromEntries(seen), expected.tools);
    assert.ok(tools.every((tool) => tool.description.length > 10));
    const { resources, prompts } = client.getServerCapabilities();
    assert.deepEqual(resources ? (await client.listResources()).resources.map((each) => each.uri) : [], expected.resources ?? []);
    assert.deepEqual(prompts ? (await client.listPrompts()).prompts.map((each) => each.name) : [], expected.prompts ?? []);
    await session.close();
  });
