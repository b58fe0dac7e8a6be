// Who may call over HTTP: tokens that are missing, forged, expired, revoked or too weak.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { BELLJAR, serverEnv } from '../lib/programs.mjs';
import { after, bearer, eventually, scratch, token, tokenFile } from '../lib/tokens.mjs';

const REVISION = '2025-11-25';

const start = (t, path, ...more) =>
  startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', '--auth', 'token', '--token-file', path, ...more] });

test('a request without a valid token is refused, with a challenge', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {}, late: { expires: -1 }, soon: { expires: 3600 } });
  const server = await start(t, path);
  const { alice } = tokens;
  const cases = [
    [{}, /^Bearer realm="belljar", scope="run files"$/],
    [bearer(`bj_${'a'.repeat(32)}`), /error="invalid_token".*unknown or has been revoked/],
    [bearer(alice.slice(0, -1)), /unknown/],
    [bearer(`${alice}x`), /unknown/],
    [bearer(alice.toUpperCase()), /unknown/],
    [bearer(tokens.late), /error="invalid_token".*has expired/],
    [{ authorization: `Basic ${Buffer.from(`alice:${alice}`).toString('base64')}` }, /is not 'Bearer' and one token/],
    [{ authorization: 'Bearer' }, /is not 'Bearer' and one token/],
    [{ authorization: `Bearer ${alice} ${alice}` }, /is not 'Bearer' and one token/],
    [{ authorization: `Bearer ${alice},x` }, /is not 'Bearer' and one token/],
  ];
  for (const [headers, challenge] of cases)
    for (const [method, path] of [['POST', '/mcp'], ['GET', '/mcp'], ['DELETE', '/mcp'], ['GET', '/sse'], ['POST', '/messages/?sessionId=x']]) {
      const answer = await server.request(method, path, { 'content-type': 'application/json', ...headers }, method === 'POST' ? '{}' : undefined);
      assert.equal(answer.status, 401, `${method} ${path} ${JSON.stringify(headers)}`);
      assert.match(answer.headers['www-authenticate'], challenge);
      assert.ok(answer.json.error_description);
    }
  // A token in the URL is never looked at.
  assert.equal((await server.get({}, `/mcp?access_token=${alice}`)).status, 401);
  assert.equal((await server.get({}, '/healthz')).status, 200);
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
    const session = await server.handshake(REVISION, { authorization: `${scheme} ${alice}` });
    assert.ok(session['mcp-session-id']);
  }
  await server.handshake(REVISION, bearer(tokens.soon));
  const stderr = await server.close();
  for (const secret of Object.values(tokens)) assert.ok(!stderr.includes(secret));
});

test('a token that is revoked is refused at once, and what it has open is closed', async (t) => {
  const { path } = tokenFile(t, {});
  const alice = token(path, 'add', 'alice');
  const bob = token(path, 'add', 'bob', '--expires', 'never', '--scopes', 'run', '--note', 'a note');
  assert.match(alice, /^bj_[a-z2-7]{32}$/);
  const list = JSON.parse(token(path, 'list', '--json'));
  assert.deepEqual(list.map(({ user, scopes, note }) => [user, scopes, note]), [['alice', 'run,files', undefined], ['bob', 'run', 'a note']]);
  const server = await start(t, path);
  const [hers, his] = [await server.handshake(REVISION, bearer(alice)), await server.handshake(REVISION, bearer(bob))];
  const added = bearer(token(path, 'add', 'alice', '--note', 'laptop'));
  // A process of the server tells it that the file has changed: that takes a moment.
  await eventually(async () => (await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, added)).status !== 401, 'added');
  const laptop = await server.handshake(REVISION, added);
  const [herStream, hisStream, laptopStream] = [await server.get(hers), await server.get(his), await server.get(laptop)];
  assert.equal(herStream.status, 200);
  const running = server.call(hers, 'run_command', { command: 'sleep 300' });
  running.catch(() => {});
  token(path, 'revoke', list[0].id);
  await herStream.end();
  assert.equal((await server.get(hers)).status, 401);
  assert.equal((await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, hers)).status, 401);
  const run = async (session) => JSON.stringify((await (await server.call(session, 'run_command', { command: 'true' })).end()).events);
  assert.match(await run(his), /"exit_code\W+0/);
  assert.equal(hisStream.ended, false);
  // The other token of the same user keeps what it has opened.
  assert.match(await run(laptop), /"exit_code\W+0/);
  assert.equal(laptopStream.ended, false);
  const answer = await running;
  await answer.end();
  assert.ok(!/exit_code/.test(answer.text + JSON.stringify(answer.events)));
  // A token that is added works without a restart.
  const carol = token(path, 'add', 'carol');
  await eventually(async () => (await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, bearer(carol))).status !== 401, 'carol');
  await server.close();
});

test('an open stream ends when its token expires', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {}, bob: {} });
  const server = await start(t, path);
  const [session, other] = [await server.handshake(REVISION, bearer(tokens.alice)), await server.handshake(REVISION, bearer(tokens.bob))];
  const [stream, his] = [await server.get(session), await server.get(other)];
  assert.equal(stream.status, 200);
  const text = readFileSync(path, 'utf8');
  writeFileSync(`${path}.new`, text.replace(/( alice .*) never/, `$1 ${after(2)}`), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  await stream.end();
  assert.match((await server.get(session)).headers['www-authenticate'], /has expired/);
  assert.equal(his.ended, false);
  await server.close();
});

test('a token file that becomes invalid or vanishes makes all tokens invalid', async (t) => {
  const { path, tokens } = tokenFile(t, { alice: {} });
  const server = await start(t, path);
  const good = readFileSync(path);
  const status = async () => (await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, bearer(tokens.alice))).status;
  const replace = (text) => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  assert.notEqual(await status(), 401);
  replace(`${good}nonsense\n`);
  await eventually(async () => (await status()) === 401, 'refused');
  replace(good);
  await eventually(async () => (await status()) !== 401, 'accepted');
  writeFileSync(path, ''); // in place
  await eventually(async () => (await status()) === 401, 'refused');
  writeFileSync(path, good);
  await eventually(async () => (await status()) !== 401, 'accepted');
  rmSync(path);
  await eventually(async () => (await status()) === 401, 'refused');
  const stderr = await server.close();
  assert.match(stderr, /line 3: expected id, hash.*all tokens are refused until it is corrected/);
  assert.match(stderr, /No such file or directory; all tokens are refused until it can be read/);
});

test('scopes limit the tools of a token', async (t) => {
  const { path, tokens } = tokenFile(t, { run: { scopes: 'run' }, files: { scopes: 'files' }, admin: { scopes: 'run,files,admin' } });
  const server = await start(t, path, '--allow-path', scratch(t));
  const names = {};
  for (const [who, secret] of Object.entries(tokens)) {
    const { client } = await connectHttp(t, server, { version: 1, headers: bearer(secret) });
    names[who] = (await client.listTools()).tools.map((tool) => tool.name);
  }
  assert.ok(names.run.includes('run_code') && !names.run.includes('read_file') && !names.run.includes('copy_in'));
  // Exactly: a new tool that names no scope would be open to every token.
  assert.deepEqual(names.files.toSorted(), [
    ...['delete_path', 'edit_file', 'list_directory', 'list_sandboxes', 'move_path', 'read_file'],
    ...['sandbox_info', 'search_files', 'server_info', 'write_file'],
  ]);
  assert.ok(names.admin.includes('copy_in') && names.admin.includes('run_code') && names.admin.includes('read_file'));
  const cases = [
    ['run', 'write_file', { path: 'x', content: 'y' }, 'files'],
    ['files', 'run_command', { command: 'true' }, 'run'],
    ['run', 'copy_in', { from: '/tmp/x', to: 'x' }, 'admin'],
  ];
  for (const [who, name, args, scope] of cases) {
    const session = await server.handshake(REVISION, bearer(tokens[who]));
    for (const answer of [await server.call(session, name, args), await server.alone('tools/call', { name, arguments: args }, bearer(tokens[who]))]) {
      assert.equal(answer.status, 403, answer.text);
      assert.match(answer.headers['www-authenticate'], new RegExp(`error="insufficient_scope", scope="${scope}"`));
    }
  }
  const read = await server.alone('resources/read', { uri: 'sandbox://default/workspace/x' }, bearer(tokens.run));
  assert.equal(read.status, 403);
  await server.close();
});

test('a server that others could use without authentication does not start', () => {
  const run = (...args) => spawnSync(BELLJAR, ['serve', ...args], { encoding: 'utf8', env: serverEnv(), input: '' });
  for (const args of [['--http', '0.0.0.0:0'], ['--http', ':0'], ['--http', '[::]:0'], ['--sse', '--host', '0.0.0.0', '--port', '0'], ['--http', '127.0.0.1:0,0.0.0.0:0']]) {
    const { status, stdout, stderr } = run(...args);
    assert.equal(status, 1, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /other machines reach .* use --auth token .*--allow-unauthenticated-network/s);
  }
  assert.match(run('--http', '0.0.0.0:0', '--auth', 'token', '--token-file', '/nonexistent/tokens').stderr, /the token file '\/nonexistent\/tokens' does not exist; 'belljar token add USER' makes it/);
  assert.match(run('--http', '127.0.0.1:99999').stderr, /http: /);
});
