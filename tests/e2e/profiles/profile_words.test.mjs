// Texts that reach the caller of a profile name only the tools and parameters of that profile: every
// profile meets limits, refusals and wrong arguments, and all answers are searched for names of the
// default set. The engine is that of BELLJAR_ENGINE. doc/profiles.md names these tests.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { jsonOf, textsOf } from '../lib/profile.mjs';
import { places } from '../lib/profile_places.mjs';
import { ENGINE } from '../lib/programs.mjs';
import { open, toolsOf } from '../lib/sandboxed.mjs';

const PROXIED = `python3 -c "
import urllib.request as u
for host in 'one', 'two', 'three':
    try: u.urlopen('http://%s.example/' % host)
    except Exception as e: print(e, getattr(e, 'read', bytes)())
"`;
const MEMORY = `python3 -c "x = bytearray(400 << 20)"`;
/** What a program meets: a shell command, and what the answer says about it. */
const runs = {
  memory: [MEMORY, /memory: processes were killed, the limit is 128 MiB: use less, or have the operator set --memory 256M\]/],
  'processes left running': ['sleep 99 & sleep 1; echo bye', /left running were ended \(sleep 99\): a program runs no longer than the call that starts it\]/],
  time: ['sleep 99', /timed out|ended after/],
  output: ['yes | head -c 3000000', /bytes left out/],
  network: [PROXIED, /one\.example:80 is not allowed: the network policy of this sandbox is 'allow'\. Ask the administrator of belljar: --network allow --allow-hosts one\.example/],
  // Not every storage driver of Docker limits the disk. Without a quota the sandbox is measured a moment after the write.
  disk: ENGINE === 'native' ? ['head -c 90000000 /dev/zero > big && sleep 60', /disk: .*set --disk 128M|No space/] : ['head -c 90000000 /dev/zero > big', /./],
};
/** Calls that fail, or that say more than the program printed. */
const calls = {
  'code-executor': [
    ['execute_code', { executor_id: 'none', code: '1' }],
    ['execute_code', { code: '1', language: 'klingon' }],
    ['execute_code', { code: '1', language: 'swift' }],
    ['execute_code', { code: 'only_here = 1' }],
    ['execute_code', { code: 'print(only_here)' }],
    ['execute_code', { code: '%bg x' }],
    ['execute_code', { code: '%edit x' }],
    ['execute_code', { code: '%%javascript\n1' }],
    ['create_executor', { docker_image: 'a b' }],
    ['read_file', { file_path: 'none' }],
    ['read_file', { file_path: '.' }],
    ['write_file', { file_path: '/etc/x', content: '' }],
    ['list_directory', { path: '../x' }],
    ['create_directory', { dir_path: '/proc/x' }],
    ['project_structure', { path: 'none' }],
  ],
  'sandbox-interpreter': [
    ['execute_code', { code: '1', language: 'klingon' }],
    ['execute_code', { code: '1', language: 'swift' }],
    ['execute_code', { code: 'only_here = 1' }],
    ['execute_code', { code: 'print(only_here)' }],
    ['execute_code', { code: '%bg x' }],
    ['execute_code', {}],
    ['stop_sandbox', {}],
    ['execute_code', { code: '1' }],
    ['initialize_sandbox', { image: 'a b' }],
  ],
  'code-sandbox': [
    ['sandbox_exec', { container_id: 'none', commands: [] }],
    ['sandbox_exec', { workspace_id: 'none', commands: [] }],
    ['sandbox_exec', { commands: 'ls' }],
    ['sandbox_exec', { commands: ['python3 -c "import belljar_no_such_module"'] }],
    ['write_file_sandbox', { file_name: '/etc/x', file_contents: '' }],
    ['write_file_sandbox', { file_name: '../x', file_contents: '' }],
    ['copy_file', { local_src_file: '/etc/passwd' }],
    ['copy_project', { local_src_dir: '/none' }],
    ['copy_file_from_sandbox', { container_src_path: 'none', local_dest_path: '/tmp/x' }],
    ['clean_workspace', { workspace_id: 'none' }],
    ['sandbox_stop', { container_id: 'none' }],
    ['get_container_logs', { container_id: 'none' }],
  ],
  'execution-client': [
    ['execute_bash', { command: 'true', timeout: 1e9 }],
    ['read_file', { file_path: 'none' }],
    ['read_file', { file_path: '/workspace/none' }],
    ['read_file', { file_path: '/workspace' }],
    ['write_file', { file_path: '/etc/x', content: '' }],
    ['read_docstring', { module_path: 'tools.none', function_name: 'x' }],
    ['read_docstring', { file_path: '/workspace/none.py', function_name: 'x' }],
    ['cleanup_container', { user_id: 'none' }],
  ],
  'python-executor': [
    ['execute_python', { code: '%bg x' }],
    ['execute_python', { timeout: 1 }],
    ['install_package', { package_name: '-r x' }],
    ['install_package', { package_name: '/x' }],
    ['install_package', { package_name: 'https://x/y' }],
    ['install_package', { package_name: 'belljar-no-such-package' }],
    ['install_package', { package_name: 'a '.repeat(60) }],
    ['get_sandbox_info', { sandbox: 'x' }],
  ],
};

const settings = { RUN_TIMEOUT: 12, MEMORY: '128M', MEMORY_MAX: '1G', DISK: '64M', DISK_MAX: '1G', NETWORK: 'allow', ALLOW_HOSTS: 'only.example', OWNER_PROCESSES: 4 };
const namesOf = ({ tools }) => [
  ...tools.map((tool) => tool.name),
  ...tools.flatMap((tool) => Object.keys(tool.inputSchema.properties ?? {})).filter((name) => name.includes('_')),
];
let known; // names of the default set
before(async (t) => {
  const session = await open({ after: () => {} }, { NETWORK_MAX: 'allow' });
  known = [...new Set([...namesOf(await session.client.listTools()), 'background: true', 'request_network', 'the same `session'])];
  await session.close();
  assert.ok(known.includes('run_command') && known.includes('timeout_s') && known.includes('update_sandbox'), known.join());
});

for (const name of Object.keys(places))
  test(`${name}: no text names a tool or a parameter that the profile does not have`, async (t) => {
    const session = await open(t, { PROFILE: name, ...settings });
    const own = namesOf(await session.client.listTools());
    const foreign = new RegExp(known.filter((word) => !own.includes(word)).map((word) => `\\b${word}\\b`).join('|'));
    const check = (what, result) => assert.doesNotMatch(JSON.stringify(result), foreign, what);
    check('instructions', session.client.getInstructions());
    check('tools', await session.client.listTools());

    const results = []; // of all calls
    const tools = toolsOf(async () => ({
      call: async (...args) => {
        const result = await session.call(...args);
        results.push(result);
        return result;
      },
    }));
    const parts = { tools, json: jsonOf(tools), text: textsOf(tools) };
    const place = await places[name](parts, { timeout: 12 });
    for (const [what, [command, expected]] of Object.entries(runs)) {
      await place.run(command).catch(() => {}); // some of them end the sandbox
      assert.match(JSON.stringify(results.at(-1)), expected, what);
      check(what, results);
    }
    // One more process at a time than --owner-processes allows.
    await Promise.all(Array.from({ length: 8 }, () => place.run('sleep 1').catch(() => {})));
    check('processes', results);
    for (const [tool, args] of calls[name]) {
      const ids = name === 'code-executor' && tool !== 'create_executor' ? { executor_id: place.id } : name === 'code-sandbox' ? place.ids : {};
      await tools[tool]({ ...ids, ...args });
      check(`${tool} ${JSON.stringify(args)}`, results.slice(-1));
    }
    await session.close();
  });

/** What a profile says about packages to a program that finds no network. */
const packages = {
  'code-executor': /packages cannot be installed in it either, so use what it has, or ask the operator of the server for --network/,
  'sandbox-interpreter': /packages cannot be installed in it either, so use what it has, or ask the operator of the server for --network/,
  'code-sandbox': /packages of a requirements\.txt in the workspace, and those that a script imports, are installed before a command runs Python/,
  'execution-client': /packages cannot be installed in it either, so use what it has, or ask the operator of the server for --network/,
  'python-executor': /install_package installs packages/,
};
for (const name of Object.keys(places))
  test(`${name}: a program that finds no network is told why`, async (t) => {
    const session = await open(t, { PROFILE: name });
    const tools = toolsOf(async () => session);
    const place = await places[name]({ tools, json: jsonOf(tools), text: textsOf(tools) });
    const said = await place.run(`python3 -c "import urllib.request as u; u.urlopen('http://one.example/')"`);
    assert.match(said, new RegExp(`\\[belljar: a sandbox has no network: ${packages[name].source}\\]`));
    assert.doesNotMatch(await place.run('echo "Name or service not known"'), /belljar/);
    await session.close();
  });
