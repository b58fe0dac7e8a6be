// The server's limit of open files: it is raised at the start, and running out of it is said as such.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BELLJAR } from '../lib/programs.mjs';
import { start, textOf } from '../lib/raw.mjs';
import { stateDir } from '../lib/sandboxed.mjs';

async function startWith(t, limit) {
  const server = start(t, 'prlimit', {
    args: [`--nofile=${limit}`, BELLJAR, 'serve'],
    env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_OWNER_SANDBOXES: 0, BELLJAR_MEMORY: '64M' },
  });
  await server.handshake('2025-11-25');
  return server;
}

const OUT_OF_FILES = /no descriptors left for one more sandbox: delete sandboxes, or wait.*the limit is 160/;

test('sandboxes beyond the limit of open files are refused, and all others go on', async (t) => {
  const server = await startWith(t, '160:160');
  const names = [];
  let refusal;
  for (let i = 0; i < 60 && refusal === undefined; i++) {
    const answer = await server.call('create_sandbox', { name: `n${i}` });
    if (answer.result.isError) refusal = textOf(answer);
    else names.push(`n${i}`);
  }
  assert.match(refusal, OUT_OF_FILES);
  assert.ok(names.length >= 4, `${names.length} sandboxes`);
  const command = async (sandbox) => {
    const answer = await server.call('run_command', { sandbox, command: 'ulimit -Hn' });
    assert.match(textOf(answer), /^160$/m); // not more than the server itself may have
  };
  await command(names[0]);
  await command(names.at(-1));
  for (const sandbox of names.splice(0, 3))
    assert.ok(!(await server.call('delete_sandbox', { sandbox })).result.isError);
  assert.ok(!(await server.call('create_sandbox', { name: 'more' })).result.isError);
  await command('more');
  await server.close();
});

test('the soft limit of open files is raised, and programs have that of their sandbox', async (t) => {
  const server = await startWith(t, '64:8192');
  const answer = await server.call('run_command', { command: 'ulimit -Sn; ulimit -Hn' });
  // On a machine with a small file table a program gets less than the 4096 of the options.
  assert.match(textOf(answer), /^(\d+)\n\1\n/);
  assert.ok(parseInt(textOf(answer)) <= 4096);
  assert.match(readFileSync(`/proc/${server.child.pid}/limits`, 'utf8'), /^Max open files +8192 +8192/m);
  await server.close();
});

test('a limit of open files that is too low is named', async (t) => {
  const server = await startWith(t, '40:40');
  const answer = await server.call('run_command', { command: 'true' });
  assert.match(textOf(answer), /the limit of open files is 40, and belljar needs at least 128: raise it/);
  await server.close();
});
