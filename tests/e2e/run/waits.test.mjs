// process_output waits for the end, for a text, for a port, or for some time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, sandboxed, structuredOf } from '../lib/sandboxed.mjs';

const { run_command, run_code, process_output, process_stop } = sandboxed();
const start = async (command) => structuredOf(await run_command({ command, background: true })).process;

test('until_end does not return at every line', async () => {
  const process = await start('for i in 1 2 3 4; do echo $i; sleep 0.5; done');
  const told = structuredOf(await process_output({ process, since: 0, until_end: true }));
  assert.equal(told.running, false);
  assert.equal(told.stdout, '1\n2\n3\n4\n');
});

test('until_end with wait_s answers what is there when the time is up', async () => {
  const process = await start('while echo x; do sleep 0.2; done');
  const began = Date.now();
  const told = structuredOf(await process_output({ process, since: 0, until_end: true, wait_s: 1.5 }));
  assert.ok(Date.now() - began >= 1400);
  assert.equal(told.running, true);
  assert.match(told.stdout, /^(x\n){2,}$/);
  await process_stop({ process, force: true });
});

test('until waits for a text, which may come in two writes', async () => {
  const process = await start('echo one; sleep 0.4; printf "server rea"; sleep 0.4; echo dy; sleep 60');
  const result = await process_output({ process, since: 0, until: 'server ready' });
  const told = structuredOf(result);
  assert.equal(told.running, true);
  assert.match(told.stdout, /^one\nserver ready/);
  assert.match(told.note, /"server ready" was printed/);
  const again = structuredOf(await process_output({ process, until: 'server ready' }));
  assert.match(again.note, /was printed/);
  const never = structuredOf(await process_output({ process, until: 'never', wait_s: 0.5 }));
  assert.match(never.note, /"never" was not printed/);
  assert.equal(never.running, true);
  await process_stop({ process, force: true });
});

test('the end of the process ends the wait for a text', async () => {
  const process = await start('sleep 0.6; printf last');
  assert.match(structuredOf(await process_output({ process, until: 'last' })).note, /"last" was printed/);
  const other = await start('sleep 0.6; printf last');
  const told = structuredOf(await process_output({ process: other, until: 'more' }));
  assert.equal(told.running, false);
  assert.match(told.note, /"more" was not printed/);
});

test('port waits for a server in the sandbox', async () => {
  const code = "import socket, time\ntime.sleep(1)\ns = socket.socket()\ns.bind(('127.0.0.1', 8123))\ns.listen()\ntime.sleep(60)";
  const { process } = structuredOf(await run_code({ code, background: true }));
  const told = structuredOf(await process_output({ process, port: 8123 }));
  assert.equal(told.running, true);
  assert.match(told.note, /port 8123 is open/);
  const closed = structuredOf(await process_output({ process, port: 8124, wait_s: 0.5 }));
  assert.match(closed.note, /nothing listens on port 8124/);
  await process_stop({ process, force: true });
});

test('until and port together are refused', async () => {
  refused(await process_output({ process: 'p1', until: 'x', port: 80 }), /'until' and 'port': give one of them/);
});
