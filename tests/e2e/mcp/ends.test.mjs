// The end of a server: end of input, closed output, signals. Calls are cancelled, and the exit status is 0.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { MIB } from '../lib/proc.mjs';
import { start } from '../lib/raw.mjs';

const slow = { name: 'test_slow', arguments: { ms: 60000 } };
const wait = { name: 'run_command', arguments: { command: 'sleep 300' } };

/** Starts calls that would take minutes, and makes sure they run. */
async function busy(server, params) {
  for (let i = 0; i < 3; i++) server.ask('tools/call', params, `busy-${i}`);
  await server.request('ping');
}

for (const signal of [undefined, 'SIGTERM', 'SIGINT', 'SIGHUP']) {
  const what = signal ?? 'end of input';

  test(`${what} while calls run (fixture)`, async (t) => {
    const server = start(t, FIXTURE);
    await busy(server, slow);
    assert.match(await server.close({ signal }), /fixture: 3 cancelled/);
  });

  test(`${what} while calls run (belljar)`, async (t) => {
    const server = start(t, BELLJAR);
    await busy(server, wait);
    await server.close({ signal });
  });

  test(`${what} at rest`, async (t) => {
    for (const program of [FIXTURE, BELLJAR]) {
      const server = start(t, program);
      await server.handshake('2025-11-25');
      await server.close({ signal });
    }
  });
}

test('end of input waits for a call that cannot be cancelled', async (t) => {
  const server = start(t, FIXTURE);
  server.ask('tools/call', { name: 'test_deaf', arguments: { ms: 1200 } });
  await server.close(); // its answer comes after half of the grace period, and goes nowhere
});

test('a call that ends soon after the end of input is answered', async (t) => {
  const server = start(t, FIXTURE);
  const id = server.ask('tools/call', { name: 'test_deaf', arguments: { ms: 200 } });
  server.child.stdin.end();
  assert.equal((await server.next()).id, id);
  await server.close();
});

test('responses from before the end of input are written', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  const ids = [1, 2, 3, 4, 5];
  for (const id of ids) server.ask('tools/call', { name: 'test_big', arguments: { bytes: MIB } }, id);
  server.child.stdin.end();
  server.read();
  for (const id of ids) assert.equal((await server.next()).id, id);
  await server.close();
});

test('a server whose client closes the input and reads nothing exits', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  // Five answers fill the queue, so that the server stops reading; the ping stays in the pipe.
  for (let i = 0; i < 5; i++) server.ask('tools/call', { name: 'test_big', arguments: { bytes: MIB } });
  server.ask('ping');
  server.child.stdin.end();
  await server.ended();
  assert.match(server.stderr, /the client closed its input and does not read: \d+ bytes are queued for it/);
});

test('a server whose output is closed exits', async (t) => {
  for (const program of [FIXTURE, BELLJAR]) {
    const server = start(t, program, { reading: false });
    server.child.stdout.destroy();
    server.ask('ping');
    await server.ended();
  }
});

test('a server whose output is closed cancels its calls', async (t) => {
  const server = start(t, FIXTURE);
  await busy(server, slow);
  server.child.stdout.destroy();
  server.ask('ping');
  await server.ended();
  assert.match(server.stderr, /fixture: 3 cancelled/);
});

test('a server whose output is closed in the middle of a response exits', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  server.ask('tools/call', { name: 'test_big', arguments: { bytes: 9 * MIB } });
  server.child.stdout.once('readable', () => server.child.stdout.destroy());
  await server.ended();
});

test('a server whose input and output are closed exits', async (t) => {
  const server = start(t, FIXTURE);
  await busy(server, slow);
  server.child.stdin.end();
  server.child.stdout.destroy();
  await server.ended();
});

test('a server with output to /dev/full exits', async (t) => {
  const server = start(t, FIXTURE, { stdout: 'ignore' });
  server.child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await server.ended();
});

test('a signal ends the server though its client does not read', async (t) => {
  const server = start(t, FIXTURE, { reading: false });
  server.ask('tools/call', { name: 'test_big', arguments: { bytes: 9 * MIB } });
  await new Promise((resolve) => server.child.stdout.once('readable', resolve));
  server.child.kill('SIGTERM');
  await new Promise((resolve) => server.child.once('exit', resolve));
  assert.equal(server.child.exitCode, 0);
  server.child.stdout.destroy();
});

test('a client that comes and goes leaves nothing behind', async (t) => {
  for (let i = 0; i < 10; i++) {
    const server = start(t, BELLJAR);
    await server.handshake('2025-06-18');
    await server.close();
  }
});
