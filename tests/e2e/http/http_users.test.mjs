// Two users of one server, in parallel: neither can find out what the other has.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';
import { structuredOf, stateDir, textOf } from '../lib/sandboxed.mjs';
import { bearer, eventually, tokenFile } from '../lib/tokens.mjs';

const REVISION = '2025-11-25';

async function twoUsers(t) {
  const { path, tokens } = tokenFile(t, { alice: {}, bob: {} });
  const state = stateDir(t);
  const server = await startHttp(t, BELLJAR, {
    args: ['serve', '--http', '127.0.0.1:0', '--auth', 'token', '--token-file', path],
    env: { BELLJAR_STATE_DIR: state },
  });
  const connect = async (user, way) => {
    const session = await connectHttp(t, server, { headers: bearer(tokens[user]), ...way });
    const callTool = session.call;
    session.call = (name, args, options) => callTool({ name, arguments: args }, options);
    return session;
  };
  return { server, tokens, connect, state };
}

/** The answer without what differs between any two calls: the id that was asked for. */
const shape = (answer, id) => JSON.parse(JSON.stringify(answer).replaceAll(id, 'ID').replace(/"duration_ms":\d+/g, ''));

test('ids of another user are answered like ids that do not exist', async (t) => {
  const { server, connect } = await twoUsers(t);
  const [alice, bob] = [await connect('alice', { version: 1 }), await connect('bob', { version: 2, mode: 'auto' })];
  const made = structuredOf(await alice.call('create_sandbox', { name: 'hush' }));
  const id = made.id ?? made.sandbox;
  assert.match(id, /^sb_/);
  await alice.call('write_file', { sandbox: id, path: 'secret.txt', content: 'hers' });
  const started = structuredOf(await alice.call('run_command', { sandbox: id, command: 'sleep 300', background: true }));
  assert.match(started.process, /^p\d+$/);
  const fake = `sb_${'a'.repeat(26)}`;
  const calls = [
    (sandbox) => ['run_command', { sandbox, command: 'cat secret.txt' }],
    (sandbox) => ['run_code', { sandbox, code: 'print(1)' }],
    (sandbox) => ['read_file', { sandbox, path: 'secret.txt' }],
    (sandbox) => ['write_file', { sandbox, path: 'secret.txt', content: 'his' }],
    (sandbox) => ['list_directory', { sandbox, path: '.' }],
    (sandbox) => ['search_files', { sandbox, text: 'hers' }],
    (sandbox) => ['delete_path', { sandbox, path: 'secret.txt' }],
    (sandbox) => ['sandbox_info', { sandbox }],
    (sandbox) => ['update_sandbox', { sandbox, name: 'mine' }],
    (sandbox) => ['reset_sandbox', { sandbox }],
    (sandbox) => ['delete_sandbox', { sandbox }],
    (sandbox) => ['process_output', { sandbox, process: 'p1' }],
  ];
  for (const make of calls)
    for (const known of [id, 'hush']) {
      const [real, unknown] = [await bob.call(...make(known)), await bob.call(...make(known === id ? fake : 'nope'))];
      assert.equal(real.isError, true, `${make(known)}: ${textOf(real)}`);
      assert.deepEqual(shape(real, known), shape(unknown, known === id ? fake : 'nope'));
    }
  for (const tool of ['process_output', 'process_stop']) {
    const [real, unknown] = [await bob.call(tool, { process: started.process }), await bob.call(tool, { process: 'p999' })];
    assert.equal(real.isError, true);
    assert.deepEqual(shape(real, started.process), shape(unknown, 'p999'));
  }
  for (const uri of [`sandbox://${id}/workspace/secret.txt`, 'sandbox://hush/workspace/secret.txt']) {
    const failed = (uri) => bob.client.readResource({ uri }).then(() => assert.fail('was read'), ({ code, message, data }) => ({ code, message, data }));
    const name = uri.split('/')[2];
    assert.deepEqual(shape(await failed(uri), name), shape(await failed(uri.replace(name, fake)), fake));
  }
  assert.deepEqual(structuredOf(await bob.call('list_sandboxes')).sandboxes, []);
  // The same names are free for the other user, and numbers of processes begin at 1.
  assert.equal(structuredOf(await bob.call('create_sandbox', { name: 'hush' })).name, 'hush');
  const his = structuredOf(await bob.call('run_command', { sandbox: 'hush', command: 'ls; sleep 300', background: true }));
  assert.equal(his.process, 'p1');
  assert.equal(structuredOf(await alice.call('run_command', { sandbox: 'hush', command: 'cat secret.txt' })).stdout, 'hers');
  await server.close();
});

test('default sandboxes, sessions and subscriptions belong to one user', async (t) => {
  const { server, connect, tokens, state } = await twoUsers(t);
  const [alice, bob] = [await connect('alice', { version: 2 }), await connect('bob', { version: 2 })];
  await Promise.all([alice, bob].map((user, i) => user.call('write_file', { path: 'note.txt', content: ['hers', 'his'][i] })));
  await Promise.all([alice, bob].map((user, i) => user.call('run_code', { session: 's', code: `x = ${i + 1}` })));
  const texts = await Promise.all([alice, bob].map((user) => user.call('run_code', { session: 's', code: 'print(x, open("note.txt").read())' })));
  assert.deepEqual(texts.map((result) => textOf(result)), ['1 hers\n', '2 his\n']);
  // The URI is the same for both, but only its owner is notified.
  for (const { client } of [alice, bob]) await client.subscribeResource({ uri: 'sandbox://default/workspace/note.txt' });
  await alice.call('write_file', { path: 'note.txt', content: 'new' });
  assert.equal((await alice.note('notifications/resources/updated')).params.uri, 'sandbox://default/workspace/note.txt');
  const before = bob.notes.length;
  await bob.call('server_info');
  assert.equal(before, 0);
  await bob.call('write_file', { path: 'note.txt', content: 'newer' });
  await bob.note('notifications/resources/updated');
  assert.equal(alice.notes.length, 0);
  // The operator works on the sandboxes of a user by name, while the server has them awake.
  const operator = (...args) => execFileSync(BELLJAR, args, { encoding: 'utf8', env: serverEnv({ BELLJAR_STATE_DIR: state }) });
  assert.equal(operator('exec', '--user', 'alice', '--sandbox', 'default', 'cat', 'note.txt'), 'new');
  assert.match(operator('ps', '--user', 'bob'), /default/);
  assert.doesNotMatch(operator('ps'), /default/);
  await eventually(() => /print\(x/.test(operator('logs', '--user', 'bob')), 'the history');
  const sandboxes = await Promise.all([alice, bob].map(async (user) => structuredOf(await user.call('list_sandboxes')).sandboxes.length));
  assert.deepEqual(sandboxes, [1, 1]);
  // An MCP session of one user is unknown to the other.
  const session = await server.handshake(REVISION, bearer(tokens.alice));
  const stolen = { ...session, ...bearer(tokens.bob) };
  const invented = { ...stolen, 'mcp-session-id': 'a'.repeat(session['mcp-session-id'].length) };
  for (const send of [(headers) => server.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers), (headers) => server.get(headers), (headers) => server.delete(headers)]) {
    const [real, unknown] = [await send(stolen), await send(invented)];
    assert.equal(real.status, 404);
    assert.equal(real.text, unknown.text);
  }
  assert.equal((await server.call(session, 'server_info')).status, 200);
  const sse = await server.get(bearer(tokens.alice), '/sse');
  const endpoint = (await sse.event()).data;
  const posted = await Promise.all([endpoint, endpoint.replace(/=.*/, `=${'a'.repeat(40)}`)].map((path) => server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, bearer(tokens.bob), path)));
  assert.equal(posted[0].status, 404);
  assert.equal(posted[0].text, posted[1].text);
  await server.close();
});
