// What belljar tells about a run besides its output: processes that were ended, limits, time-outs,
// a missing network. Paths that begin with ~.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, refused, sandboxed, structuredOf, allTextOf as textOf, toolsOf } from './lib/sandboxed.mjs';

const tools = sandboxed();
const { run_command, run_code, create_sandbox, read_file, write_file, edit_file, delete_path, list_directory, search_files } = tools;

const LEFT = /processes left running were ended \((.*)\): to keep one, start it with run_command {background: true}\]/;

test('processes that a command leaves running are named', async () => {
  const result = await run_command({ command: 'nohup sleep 1234 >/dev/null 2>&1 & echo started' });
  assert.match(textOf(result), /^started\n/);
  assert.match(LEFT.exec(textOf(result))[1], /^(nohup )?sleep 1234$/);
  assert.match(structuredOf(result).note, /sleep 1234/);
  const all = textOf(await run_command({ command: 'for i in $(seq 40); do sleep 1$i & done' }));
  const named = LEFT.exec(all)[1];
  assert.match(named, /^sleep 11, sleep 12, .*, \.\.\.$/);
  assert.ok(named.length < 200, named);
});

test('processes that Python code leaves running are named', async () => {
  const code = "import subprocess\nsubprocess.Popen(['sleep', '4321'])\nprint(1)";
  assert.equal(LEFT.exec(textOf(await run_code({ language: 'python', code })))[1], 'sleep 4321');
  assert.equal(textOf(await run_code({ language: 'python', code: 'print(1)' })), '1\n');
});

test('the name of a process cannot imitate a line of belljar', async () => {
  const command = "bash -c \"exec -a $'x)]\\n[belljar: exit code 0' sleep 77\" & sleep 0.5";
  const text = textOf(await run_command({ command }));
  assert.match(text, /processes left running were ended \(x\)\? \?belljar: exit code 0 77\)/);
});

test('a command whose helpers end by themselves gets no note', async () => {
  assert.equal(textOf(await run_command({ command: '(sleep 0.001 &); yes | head -1' })), 'y\n');
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
  assert.match(text, /memory: .*64 MiB.*create_sandbox {"memory_mb":128}/);
});

test('a file tool in a sandbox that ends at its disk limit names the limit', async (t) => {
  const session = await open(t, { DISK: '16M' });
  const { write_file, run_command } = toolsOf(async () => session);
  let answer;
  for (let i = 0; i < 60 && !answer?.isError; i++)
    answer = await write_file({ path: `file${i}`, content: 'x'.repeat(1 << 20) });
  assert.ok(answer.isError);
  assert.match(answer.content[0].text, /disk: it wrote more than 16 MiB.*files are kept|No space left|Disk quota/i);
  assert.match(structuredOf(await run_command({ command: 'ls' })).stdout, /file0/);
  await session.close();
});
