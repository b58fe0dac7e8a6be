// Questions of tools to the client: forms, pages, sampling, roots; as requests and in rounds.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES_KEY, callParams } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';
import { refused, stateDir, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';
import { connectV1, connectV2 } from '../lib/sdk.mjs';

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const SAMPLE = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } };
const ROOTS = { roots: [{ uri: 'file:///one' }] };
const SCHEMAS = { 'elicitation/create': ElicitRequestSchema, 'sampling/createMessage': CreateMessageRequestSchema, 'roots/list': ListRootsRequestSchema };

/** The same client three times: each SDK with its usual handshake, and the second without one. */
const CLIENTS = {
  'SDK 1, 2025-11-25': async (t, answer, options) => {
    const session = await connectV1(t, { ...options, options: { capabilities: CAPABILITIES } });
    for (const [method, schema] of Object.entries(SCHEMAS))
      session.client.setRequestHandler(schema, async ({ params }) => answer(method, params));
    return session;
  },
  'SDK 2, 2025-11-25': async (t, answer, options) => {
    const session = await connectV2(t, { ...options, mode: 'legacy', options: { capabilities: CAPABILITIES } });
    for (const method of Object.keys(SCHEMAS)) session.client.setRequestHandler(method, async ({ params }) => answer(method, params));
    return session;
  },
  'SDK 2, 2026-07-28': async (t, answer, options) => {
    const session = await connectV2(t, { ...options, mode: { pin: '2026-07-28' }, options: { capabilities: CAPABILITIES } });
    for (const method of Object.keys(SCHEMAS)) session.client.setRequestHandler(method, async ({ params }) => answer(method, params));
    return session;
  },
};

for (const [name, connect] of Object.entries(CLIENTS))
  describe(name, () => {
    test('each kind of question is asked and answered', async (t) => {
      const asked = [];
      const session = await connect(t, (method, params) => {
        asked.push([method, params]);
        if (method === 'sampling/createMessage') return SAMPLE;
        if (method === 'roots/list') return ROOTS;
        return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { username: 'u', email: 'e@x.org', name: 'Ann', color: 'red', context: 'here' } };
      });
      const call = async (tool, args = {}) => textOf(await session.call({ name: tool, arguments: args }));
      assert.equal(await call('test_sampling', { prompt: 'What?' }), 'LLM response: Paris');
      assert.match(await call('test_elicitation', { message: 'Who?' }), /^User response: .*"username":"u"/);
      assert.equal(asked[1][1].message, 'Who?');
      assert.deepEqual(asked[1][1].requestedSchema.required, ['username', 'email']);
      assert.equal(await call('test_elicitation_url'), 'opened');
      assert.equal(asked[2][1].url, 'https://example.com/login');
      assert.equal(await call('test_input_required_result_list_roots'), 'Roots: file:///one');
      assert.equal(await call('test_input_required_result_multiple_inputs'), 'Paris, Ann: file:///one');
      assert.equal(await call('test_input_required_result_multi_round'), 'Ann likes red');
      assert.deepEqual(asked.slice(-2).map(([, { message }]) => message), ['Step 1: What is your name?', 'Step 2: What is your favorite color?']);
      const prompt = await session.client.getPrompt({ name: 'test_input_required_result_prompt', arguments: {} });
      assert.equal(prompt.messages[0].content.text, 'Context: here');
      await session.close();
    });

    test('deleting a sandbox with files asks first', async (t) => {
      let action = 'decline';
      const asked = [];
      const session = await connect(t, (method, params) => (asked.push(params.message), { action, content: {} }), { program: BELLJAR, env: { BELLJAR_STATE_DIR: stateDir(t) } });
      const tools = toolsOf(async () => session);
      await tools.create_sandbox({ name: 'full' });
      await tools.create_sandbox({ name: 'empty' });
      await tools.write_file({ path: 'f', content: 'x', sandbox: 'full' });
      assert.match(textOf(await tools.delete_sandbox({ sandbox: 'full' })), /^full: not deleted: the user declined, and all files are kept$/);
      assert.match(asked[0], /^Delete the sandbox 'full' with all its files\? They cannot be restored\.$/);
      action = 'cancel';
      assert.match(textOf(await tools.delete_sandbox({ sandbox: 'full' })), /not deleted/);
      assert.equal(structuredOf(await tools.read_file({ path: 'f', sandbox: 'full' })).text, 'x');
      action = 'accept';
      assert.match(textOf(await tools.delete_sandbox({ sandbox: 'full' })), /: deleted, with all its files$/);
      assert.equal(asked.length, 3);
      assert.match(textOf(await tools.delete_sandbox({ sandbox: 'empty' })), /: deleted, with all its files$/);
      assert.equal(asked.length, 3, 'without files nobody is asked');
      refused(await tools.read_file({ path: 'f', sandbox: 'full' }), /there is no sandbox/);
      await session.close();
    });

    test('a copy outside the allowed directories asks first', async (t) => {
      const top = mkdtempSync(join(tmpdir(), 'belljar-ask-'));
      after(() => rmSync(top, { recursive: true, force: true }));
      for (const dir of ['allowed', 'other']) {
        mkdirSync(join(top, dir));
        writeFileSync(join(top, dir, 'f'), dir);
      }
      let action = 'decline';
      const asked = [];
      const answer = (method, params) => (method === 'roots/list' ? { roots: [] } : (asked.push(params.message), { action, content: {} }));
      const session = await connect(t, answer, { program: BELLJAR, env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ROOTS: 'yes', BELLJAR_ALLOW_PATH: join(top, 'allowed') } });
      const tools = toolsOf(async () => session);
      structuredOf(await tools.copy_in({ source: 'f' }));
      assert.equal(asked.length, 0);
      refused(await tools.copy_in({ source: join(top, 'other/f') }), /^source: the user did not allow copies between sandboxes and '.*other'; nothing was copied$/);
      assert.match(asked[0], /^Allow copies between sandboxes and the directory '.*other' of this machine, until Belljar exits\?$/);
      action = 'accept';
      assert.equal(structuredOf(await tools.copy_in({ source: join(top, 'other/f'), path: 'g' })).source, join(top, 'other/f'));
      structuredOf(await tools.copy_out({ path: 'g', target: join(top, 'other/h') }));
      assert.equal(asked.length, 2, 'a directory is asked for once');
      refused(await tools.copy_in({ source: '/etc/passwd' }), /is not below an allowed directory/);
      assert.equal(asked.length, 2, 'directories of the system are never asked for');
      await session.close();
    });
  });

test('a client that cannot be asked is not blocked', async (t) => {
  const session = await connectV1(t, { program: BELLJAR, env: { BELLJAR_STATE_DIR: stateDir(t) } });
  const tools = toolsOf(async () => session);
  await tools.create_sandbox({ name: 'full' });
  await tools.write_file({ path: 'f', content: 'x', sandbox: 'full' });
  assert.match(textOf(await tools.delete_sandbox({ sandbox: 'full' })), /: deleted, with all its files$/);
  await session.close();
  const other = await connectV1(t);
  refused(await other.call({ name: 'test_sampling', arguments: { prompt: 'x' } }), /^this needs a client with the capabilities {"sampling":{}}$/);
  await other.close();
});

test('2025-11-25: a page that must be completed first is the error -32042, and the call is made again', async (t) => {
  const session = await CLIENTS['SDK 1, 2025-11-25'](t, () => assert.fail('the client was asked'));
  const call = () => session.call({ name: 'test_elicitation_url_required', arguments: {} });
  await assert.rejects(call(), (error) => {
    assert.ok(error instanceof UrlElicitationRequiredError, String(error));
    const [{ elicitationId, ...page }, ...more] = error.elicitations;
    assert.deepEqual(page, { mode: 'url', message: 'Please connect your account.', url: 'https://example.com/connect' });
    assert.ok(elicitationId && more.length === 0);
    return error.code === -32042;
  });
  assert.equal(textOf(await call()), 'connected');
  await session.close();
  const other = await connectV1(t, { options: { capabilities: { elicitation: { form: {} } } } });
  refused(await other.call({ name: 'test_elicitation_url_required', arguments: {} }), /^this needs a client with the capabilities {"elicitation":{"url":{}}}$/);
  await other.close();
});

test('2026-07-28: a page that must be completed first is a round', async (t) => {
  const session = await CLIENTS['SDK 2, 2026-07-28'](t, (method, { mode, url }) => {
    assert.deepEqual([method, mode, url], ['elicitation/create', 'url', 'https://example.com/connect']);
    return { action: 'accept' };
  });
  assert.equal(textOf(await session.call({ name: 'test_elicitation_url_required', arguments: {} })), 'connected');
  await session.close();
});

test('a client that does not know its own capability is not blocked', async (t) => {
  const server = start(t, BELLJAR, { env: { BELLJAR_STATE_DIR: stateDir(t) } });
  await server.initialize('2025-11-25', { capabilities: { elicitation: {} } });
  const call = (name, args) => server.request('tools/call', { name, arguments: args });
  await call('create_sandbox', { name: 'full' });
  await call('write_file', { path: 'f', content: 'x', sandbox: 'full' });
  const deleted = call('delete_sandbox', { sandbox: 'full' });
  const question = await server.notification('elicitation/create');
  server.send({ jsonrpc: '2.0', id: question.id, error: { code: -32601, message: 'Method not found' } });
  assert.match((await deleted).result.content[0].text, /deleted, with all its files/);
  await server.close();
});

test('2026-07-28: what a client cannot do is an error with the capability', async (t) => {
  const server = start(t, FIXTURE);
  const { error } = await server.request('tools/call', callParams('test_missing_capability'));
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { sampling: {} } });
  await server.close();
});

test('2026-07-28: a state of another call is refused, and answers that do not fit are asked for again', async (t) => {
  const server = start(t, FIXTURE);
  const meta = { [CAPABILITIES_KEY]: { elicitation: {} } };
  const call = (name, more = {}, args = {}) => server.request('tools/call', { ...callParams(name, args, meta), ...more });
  const { result } = await call('test_input_required_result_request_state');
  assert.equal(result.resultType, 'input_required');
  const { requestState } = result;
  const inputResponses = { confirm: { action: 'accept', content: { ok: true } } };
  for (const state of [`${requestState}-TAMPERED`, `x${requestState}`, requestState.split('.')[0], '.', '', 'a.b', 7, {}])
    assertError(await call('test_input_required_result_request_state', { inputResponses, requestState: state }), -32602, /^'requestState' is not valid for this call/);
  assertError(await call('test_input_required_result_tampered_state', { inputResponses, requestState }), -32602, /requestState/);
  assertError(await call('test_input_required_result_request_state', { inputResponses, requestState }, { other: 1 }), -32602, /requestState/);
  for (const wrong of [{ other: inputResponses.confirm }, { confirm: 12345 }, { confirm: null }, null, [], { confirm: { action: 'accept', content: { ok: 'yes' } } }, { confirm: { action: 'accept' } }, { confirm: { action: 'maybe' } }]) {
    const again = (await call('test_input_required_result_request_state', { inputResponses: wrong, requestState })).result;
    assert.equal(again.resultType, 'input_required', JSON.stringify(wrong));
    assert.notEqual(again.requestState, requestState);
  }
  const done = await call('test_input_required_result_request_state', { inputResponses: { ...inputResponses, extra: 1 }, requestState });
  assert.equal(textOf(done.result), 'state-ok');
  await server.close();
});

test('a cancelled call cancels its question', async (t) => {
  const server = start(t, FIXTURE);
  await server.initialize('2025-11-25', { capabilities: { elicitation: {} } });
  server.send({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'test_elicitation', arguments: { message: 'Who?' } } });
  const question = await server.notification('elicitation/create');
  server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
  const cancelled = await server.notification('notifications/cancelled');
  assert.equal(cancelled.params.requestId, question.id);
  server.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { username: 'late', email: 'late' } } });
  assert.deepEqual((await server.request('ping')).result, {});
  await server.close();
});
