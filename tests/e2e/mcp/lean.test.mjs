// What answers and descriptions cost a model, and what it may call arguments.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { open, refused, sandboxed, structuredOf, textOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { read_file, write_file, edit_file, run_code, run_command, list_directory, process_output, process_stop } = tools;
const bytes = (value) => Buffer.byteLength(JSON.stringify(value));

async function listTools(t, settings) {
  const { client } = await open(t, settings);
  return (await client.listTools()).tools;
}

const FOLDERS = { ALLOW_PATH: mkdtempSync(join(tmpdir(), 'belljar-lean-')), TOOLS_DIR: mkdtempSync(join(tmpdir(), 'belljar-lean-')) };
const EVERYTHING = { ...FOLDERS, ASK_HOSTS: '*', NETWORK_MAX: 'open' };
after(() => Object.values(FOLDERS).forEach((dir) => rmSync(dir, { recursive: true })));

test('tools/list has at most 24 KB, 14 KB of them for a model', async (t) => {
  const all = await listTools(t, EVERYTHING);
  const seen = all.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  assert.ok(bytes(all) <= 24_000, `${bytes(all)} bytes`);
  assert.ok(bytes(seen) <= 14_000, `${bytes(seen)} bytes for a model`);
});

test('tools/list leaves out tools and arguments that cannot be used', async (t) => {
  const names = (await listTools(t, { ROOTS: 'no' })).map((tool) => tool.name);
  for (const name of ['tool_help', 'copy_in', 'copy_out']) assert.ok(!names.includes(name), name);
  const all = await listTools(t, FOLDERS);
  for (const name of ['tool_help', 'copy_in', 'copy_out']) assert.ok(all.some((tool) => tool.name === name), name);
  const create = all.find((tool) => tool.name === 'create_sandbox').inputSchema.properties;
  assert.deepEqual(['image', 'network', 'gpu'].filter((name) => name in create), []);
});

test('the schema of run tools has the time-out of this server', async (t) => {
  for (const { name, inputSchema } of await listTools(t))
    if (['run_code', 'run_command'].includes(name)) {
      const { default: usual, maximum } = inputSchema.properties.timeout_s;
      assert.ok(usual > 0 && maximum >= usual, name);
    }
});

test('argument names of other tools are understood', async () => {
  await write_file({ file_path: 'alias.txt', content: 'one\n' });
  assert.match(textOf(await read_file({ file_path: 'alias.txt' })), /^one\n/);
  assert.match(textOf(await read_file({ file: 'alias.txt' })), /^one\n/);
  assert.equal(structuredOf(await list_directory({ directory: '/workspace' })).path, '/workspace');
  const { process } = structuredOf(await run_command({ command: 'sleep 60', background: true }));
  assert.equal(structuredOf(await process_output({ process_id: process })).running, true);
  assert.equal(structuredOf(await process_stop({ id: process })).running, false);
  assert.equal(structuredOf(await edit_file({ file_path: 'alias.txt', old_string: 'one', new_string: 'two two' })).replacements, 1);
  assert.equal(structuredOf(await edit_file({ path: 'alias.txt', old_str: 'two', new_str: '3', replace_all: true })).replacements, 2);
  assert.equal(structuredOf(await edit_file({ path: 'alias.txt', edits: [{ old_string: '3 3', new_string: '4' }] })).replacements, 1);
  assert.equal(structuredOf(await edit_file({ path: 'alias.txt', edits: [{ oldText: '4', newText: '5' }] })).replacements, 1);
  assert.equal(textOf(await read_file({ path: 'alias.txt' })), '5\n');
  assert.match(textOf(await run_command({ cmd: 'echo $A', environment: { A: 'b' }, timeout: 20 })), /^b\n/);
  assert.match(textOf(await run_code({ source: 'print(7)', lang: 'python' })), /^7\n/);
  assert.match(textOf(await run_command({ command: ['echo', 'a  b'] })), /^a  b\n/);
  assert.match(textOf(await run_command({ command: '["echo", "a  b"]', timeout_s: '20' })), /^a  b\n/);
  await write_file({ path: 'alias.txt', content: 'NQ==', encoding: 'BASE-64' });
  assert.equal(structuredOf(await edit_file({ path: 'alias.txt', edits: '[{"old": "5", "new": "6"}]' })).replacements, 1);
  assert.equal(textOf(await read_file({ path: 'alias.txt', encoding: 'utf8' })).split('\n')[0], '6');
});

test('copy_out takes the names of copy_in', async (t) => {
  const { call } = await open(t, FOLDERS);
  const target = join(FOLDERS.ALLOW_PATH, 'copied.txt');
  await call({ name: 'write_file', arguments: { path: 'here.txt', content: 'out\n' } });
  structuredOf(await call({ name: 'copy_out', arguments: { source: 'here.txt', destination: target } }));
  assert.equal(readFileSync(target, 'utf8'), 'out\n');
});

test('an argument under two names, or under an unknown one, is refused', async () => {
  refused(await read_file({ path: 'a', file_path: 'b' }), /^arguments 'path' and 'file_path' are the same: give only one of them$/);
  refused(await run_command({ target: 'x' }), /^argument 'target' is not known; there are: command, argv, background, pty, /);
  refused(await edit_file({ path: 'a' }), /^argument 'edits' is missing: expected \[\{"old": /);
  refused(await edit_file({ path: 'a', old_string: 'x' }), /^argument 'new_string' is missing/);
  refused(await edit_file({ path: 'a', old_string: 'x', new_string: 'y', edits: [{ old: 'a', new: 'b' }] }), /give one of them/);
});

test('HTML of a value is a file, its text is answered once', async () => {
  const code = 'class T:\n def _repr_html_(self): return "<td>" * 4000\n def _repr_mimebundle_(self, **k): return {"text/plain": "rows", "text/html": "<td>" * 4000}\nT()';
  const result = await run_code({ code, session: 'html' });
  assert.match(textOf(result), /^rows\n\[belljar: text\/html: \/workspace\/\.belljar\/page-1\.html\]/);
  assert.ok(bytes(result) < 600, `${bytes(result)} bytes`);
});

test('SVG is answered once: as text if it is short, else as a file', async () => {
  const shown = async (code) => structuredOf(await run_code({ code: `class S:\n def _repr_svg_(self): return ${code}\nS()` })).values;
  assert.deepEqual(await shown("'<svg/>'"), [{ mime: 'image/svg+xml', text: '<svg/>' }]);
  const [{ mime, path, text }, ...more] = await shown("'<svg>' + 'x' * 5000 + '</svg>'");
  assert.deepEqual([mime, text, more], ['image/svg+xml', undefined, []]);
  assert.match(path, /^\/workspace\/\.belljar\/image-\d+\.svg$/);
});

test('a long value is cut as output is', async () => {
  const { truncated, values } = structuredOf(await run_code({ code: '"x" * 100000', session: 'long' }));
  assert.equal(truncated, true);
  assert.ok(values[0].text.length < 25_000);
});
