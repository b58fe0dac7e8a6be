// Python as people know it from Jupyter: sessions, magics, display, the value of a fresh run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxed, sleep, structuredOf, textOf } from '../lib/sandboxed.mjs';

const { run_code, write_file } = sandboxed();
const cell = (code, session = 'notebook', more) => run_code({ code, session, ...more });
const valuesOf = (result) => (structuredOf(result).values ?? []).map(({ text, path }) => text ?? path);

test('fresh code answers the value of its last expression', async () => {
  assert.equal(textOf(await run_code({ code: '1 + 1' })), '2');
  assert.deepEqual(valuesOf(await run_code({ code: 'x = [1]\nx' })), ['[1]']);
  for (const code of ['5;', 'None', 'x = 1']) assert.deepEqual(valuesOf(await run_code({ code })), [], code);
  const named = await run_code({ code: 'print(__name__, __file__[-7:])' });
  assert.equal(textOf(named), '__main__ main.py\n');
});

test('a name that an earlier fresh run has set hints at sessions', async () => {
  await run_code({ code: 'only_here = 1' });
  const result = await run_code({ code: 'print(only_here)' });
  const said = result.content.map(({ text }) => text).join('');
  assert.match(said, /NameError: name 'only_here' is not defined\n(.*\n)?note: an earlier run set 'only_here', but each run starts anew\n[^]*\[belljar: runs that are given the same `session` keep their variables\]/);
  assert.doesNotMatch(textOf(await run_code({ code: 'print(never_set)' })), /session/);
});

test('a task that one cell starts is awaited in the next, and goes on between cells', async () => {
  await cell('import asyncio\nasync def f(n):\n    await asyncio.sleep(.2)\n    return n\nt = asyncio.create_task(f(7))');
  assert.equal(textOf(await cell('await t')), '7');
  await cell("import os\nasync def g():\n    await asyncio.sleep(.1)\n    open('/workspace/done', 'w')\nu = asyncio.create_task(g())");
  const wait = "import os, time\nwhile not os.path.exists('/workspace/done'): time.sleep(.05)\nprint('done')";
  assert.equal(textOf(await run_code({ code: wait, timeout_s: 60 })), 'done\n');
});

test('exit ends the cell and keeps the session', async () => {
  await cell('kept = 5');
  const result = await cell("import sys\nprint('before')\nsys.exit(3)\nprint('after')");
  assert.equal(structuredOf(result).exit_code, 3);
  assert.equal(structuredOf(result).state_lost, undefined);
  assert.match(JSON.stringify(result.content), /exit code 3/);
  await cell('exit()');
  assert.equal(textOf(await cell('kept')), '5');
});

test('results of earlier cells have names', async () => {
  await cell("'one'", 'out');
  await cell('2', 'out');
  assert.equal(textOf(await cell('_, __, _1, Out[2], In[1]', 'out')), `(2, 'one', 'one', 2, "'one'")`);
});

test('a cell that waited for an earlier one says how long', async () => {
  const wait = 'import os, time\nwhile not os.path.exists("waits"): time.sleep(0.05)';
  const { process } = structuredOf(await run_code({ language: 'python', session: 'waits', code: wait, background: true }));
  const second = cell('1 + 1', 'waits', { timeout_s: 1 });
  await sleep(3000);
  await write_file({ path: 'waits', content: '' });
  const { values, note, timed_out } = structuredOf(await second);
  assert.deepEqual([values[0].text, timed_out], ['2', undefined], process);
  assert.match(note, /^for \d+\.\d s the call waited for an earlier cell of its session$/);
  assert.equal(structuredOf(await cell('3', 'waits')).note, undefined);
});

test('cells that are called at once run in the order of their calls', async () => {
  await write_file({ path: 'some.txt', content: 'x' }); // from now on a run looks for files of a project
  await cell('n = 0', 'queue');
  const answers = await Promise.all(Array.from({ length: 100 }, () => cell('n += 1; n', 'queue')));
  assert.deepEqual(answers.map(textOf), Array.from({ length: 100 }, (_, i) => String(i + 1)));
});

test('commands, magics and indented code run', async () => {
  assert.equal(textOf(await cell("x = 4\n!echo {x + 1} $x")), '5 4\n');
  assert.equal(textOf(await cell('lines = !printf "a\\nb\\n"\nlines')), "['a', 'b']");
  assert.equal(textOf(await cell('%%bash\necho from bash')), 'from bash\n');
  assert.equal(textOf(await cell('    y = 1\n    y + 1')), '2');
  assert.match(textOf(await cell('%time 1 + 1')), /Wall time: .*\n2$/s);
  assert.match(textOf(await cell('len?')), /Return the number of items in a container/);
  assert.match(textOf(await cell('%nonesuch')), /UsageError: the magic %nonesuch is not available here: use /);
  assert.equal(textOf(await run_code({ code: '!echo fresh' })), 'fresh\n');
});

test('a command that is a whole cell needs no sign, unless it is a name', async () => {
  assert.equal(textOf(await cell('cd /tmp', 'bare')), '/tmp\n');
  assert.equal(textOf(await cell('pwd', 'bare')), "'/tmp'");
  assert.match(textOf(await cell('ls -d /tmp', 'bare')), /^\/tmp\n/);
  assert.equal(textOf(await cell('ls = [1]\nls', 'bare')), '[1]');
  assert.equal(textOf(await cell('ls', 'bare')), '[1]');
  for (const run of [(code) => run_code({ code }), (code) => cell(code, 'bare')])
    assert.match((await run('pip frobnicate')).content.map(({ text }) => text).join(''), /unknown command "frobnicate"|No module named pip/);
});

test('%history writes a file, and finds cells', async () => {
  await cell('first = 1', 'history');
  await cell('second = "þ"', 'history');
  assert.equal(textOf(await cell('%history -g first -n', 'history')), '   1: first = 1\n   3: %history -g first -n\n');
  await cell('%hist -l 3 -f /tmp/cells', 'history');
  assert.equal(textOf(await cell('print(open("/tmp/cells").read(), end="")', 'history')),
    'second = "þ"\n%history -g first -n\n%hist -l 3 -f /tmp/cells\n');
});

test('%pip takes pipes and redirections', async (t) => {
  if (/No module named pip/.test(JSON.stringify(await cell('%pip --version')))) return t.skip('no pip');
  for (const code of ['%pip --version | cut -c 1-4', 'pip --version | cut -c 1-4', '!pip --version | cut -c 1-4']) assert.equal(textOf(await cell(code)), 'pip \n', code);
  assert.equal(textOf(await cell('%pip --version > /tmp/version\n!cut -c 1-4 /tmp/version')), 'pip \n');
  assert.doesNotMatch(textOf(await cell('%pip download no-such>=1.0')), /Usage/);
});

test('the source of a class and of a function of an earlier cell is shown', async () => {
  await cell('import dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int = 0\n\ndef f():\n    return 1', 'source');
  assert.match(textOf(await cell('Point??', 'source')), /Source:\n@dataclasses.dataclass\nclass Point:\n    x: int = 0\n$/m);
  assert.match(textOf(await cell('f??', 'source')), /Source:\ndef f\(\):\n    return 1\n/);
});

test('each cell shows its warnings', async () => {
  for (let i = 0; i < 2; i++)
    assert.match(structuredOf(await cell('import warnings; warnings.warn("careful")', 'warnings')).stderr, /UserWarning: careful/);
});

test('output comes in the order in which it was printed', async () => {
  const code = "import subprocess\nprint('a'); subprocess.run('echo b', shell=True); print('c')";
  assert.equal(textOf(await run_code({ code })), 'a\nb\nc\n');
  assert.equal(textOf(await cell(code)), 'a\nb\nc\n');
});

test('IPython.display works without IPython, and displays are replaced and cleared', async () => {
  const head = 'from IPython.display import *\n';
  for (const run of [(code) => run_code({ code }), cell]) {
    assert.deepEqual(valuesOf(await run(`${head}HTML('<b>')`)), ['<b>']);
    assert.deepEqual(valuesOf(await run(`${head}h = display(1, display_id=True)\nh.update(2)`)), ['2']);
    const moved = await run(`${head}display(1, display_id='i'); print('between'); display(2)\nupdate_display(3, display_id='i')`);
    assert.deepEqual([valuesOf(moved), textOf(moved)], [['3', '2'], '3\nbetween\n2']);
    assert.deepEqual(valuesOf(await run(`${head}for i in range(100): clear_output(wait=True); display(i)`)), ['99']);
    assert.equal(textOf(await run(`${head}import sys\nfor i in range(50): clear_output(wait=True); print(i); print(-i, file=sys.stderr)`)),
      '49\n[belljar: stderr]\n-49\n');
    assert.equal(textOf(await run(`${head}print(1); display(2); clear_output(); print(3)`)), '3\n');
    assert.equal(textOf(await run(`${head}print(1); clear_output(wait=True)`)), '1\n');
    assert.match(textOf(await run(`${head}print('a' * 300000); clear_output(); print('end')`)), /^a{100}[^]*end\n/);
    assert.deepEqual(valuesOf(await run("display({'text/plain': 'p'}, raw=True)")), ['p']);
  }
});

test('output of a thread after its cell is told apart in the next cell', async () => {
  await cell(`import os, threading, time
def late():
    while not os.path.exists('/workspace/go'): time.sleep(.01)
    print('late')
    open('/workspace/gone', 'w')
threading.Thread(target=late).start()`, 'late');
  const wait = "import os, time\nopen('/workspace/go', 'w')\nwhile not os.path.exists('/workspace/gone'): time.sleep(.05)\nprint('done')";
  assert.equal(textOf(await run_code({ code: wait, timeout_s: 60 })), 'done\n');
  assert.equal(
    structuredOf(await cell("print('next')", 'late')).stdout,
    '[printed by what earlier cells left running:]\nlate\n[this cell:]\nnext\n',
  );
});

test('output of threads and forked children of earlier cells is told apart while a later cell runs', async () => {
  const head = '[printed by what earlier cells left running:]\n';
  const wait = 'def wait(name):\n    while not os.path.exists(name): time.sleep(.005)\n';
  const starts = {
    thread: 'threading.Thread(target=late).start()',
    nested: 'threading.Thread(target=lambda: (wait("go"), threading.Thread(target=late).start())).start()',
    child: 'if os.fork() == 0: late(); os._exit(0)',
    process: 'import multiprocessing\nmultiprocessing.get_context("fork").Process(target=late).start()',
  };
  for (const [name, start] of Object.entries(starts)) {
    await cell(`import os, sys, threading, time\nos.makedirs('${name}'); os.chdir('${name}')\n${wait}
def late():
    wait('go')
    print('late', 1)
    print('err', file=sys.stderr)
    open('gone', 'w')
${start}\nprint('first')`, name);
    const answer = structuredOf(await cell("print('a')\nopen('go', 'w').close()\nwait('gone')\nprint('b')\nprint('c', file=sys.stderr)", name));
    assert.equal(answer.stdout, `a\n${head}late 1\n[this cell:]\nb\n`, name);
    assert.equal(answer.stderr, `${head}err\n[this cell:]\nc\n`, name);
    assert.equal(textOf(await cell("print('own')", name)), 'own\n', name);
  }
  await cell("import asyncio\ne = asyncio.Event()\nasync def f():\n    await e.wait()\n    print('task')\nt = asyncio.create_task(f())", 'task');
  assert.equal(textOf(await cell("print('a'); e.set(); await t; print('b')", 'task')), 'a\ntask\nb\n', 'tasks run in the cell that awaits');
});

test('output of a cell that other threads print for it is its own', async () => {
  await cell('import asyncio, threading\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(print, 1).result(); await asyncio.to_thread(print, 2)', 'pool');
  assert.equal(textOf(await cell('pool.submit(print, 3).result()\nawait asyncio.to_thread(print, 4)\nt = threading.Thread(target=print, args=[5]); t.start(); t.join()', 'pool')), '3\n4\n5\n');
});

test('lines of a cell and of earlier threads stay whole', async () => {
  await cell("import threading\nstop = threading.Event()\ndef talk():\n    while not stop.wait(.001): print('x' * 30)\nthreading.Thread(target=talk, daemon=True).start()", 'talk');
  const { stdout } = structuredOf(await cell("import time\nfor i in range(200): print('y' * 30); time.sleep(.0005)\nstop.set()", 'talk'));
  const kinds = new Set(stdout.trimEnd().split('\n'));
  assert.deepEqual([...kinds].sort(), ['[printed by what earlier cells left running:]', '[this cell:]', 'x'.repeat(30), 'y'.repeat(30)].sort());
  assert.equal(stdout.split('y'.repeat(30)).length, 201);
});
