// The official clients over HTTP: every feature that they have over stdio, on each transport.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { dataFeatures } from '../lib/features-data.mjs';
import { legacyFeatures } from '../lib/features-legacy.mjs';
import { modernFeatures } from '../lib/features-modern.mjs';
import { features } from '../lib/features.mjs';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { LAST_HANDSHAKE, MODERN } from '../lib/modern.mjs';
import { FIXTURE } from '../lib/programs.mjs';

const both = { ...features, ...dataFeatures };
const QUESTIONS = {
  'elicitation/create': [ElicitRequestSchema, { action: 'accept', content: { username: 'u', email: 'e@x.org', name: 'Ann', color: 'red' } }],
  'sampling/createMessage': [CreateMessageRequestSchema, { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } }],
  'roots/list': [ListRootsRequestSchema, { roots: [{ uri: 'file:///one' }] }],
};
const ways = [
  { name: 'client 1, streamable', version: 1, more: legacyFeatures },
  { name: 'client 1, SSE', version: 1, kind: 'sse', more: legacyFeatures },
  { name: 'client 2, default', version: 2, revision: LAST_HANDSHAKE, more: legacyFeatures },
  { name: 'client 2, SSE', version: 2, kind: 'sse', revision: LAST_HANDSHAKE, more: legacyFeatures },
  { name: 'client 2, auto', version: 2, mode: 'auto', revision: MODERN, more: modernFeatures },
  { name: 'client 2, pinned', version: 2, mode: { pin: MODERN }, revision: MODERN, more: modernFeatures },
];

for (const { name, more, revision, ...way } of ways) {
  test(name, async (t) => {
    for (const [what, check] of Object.entries({ ...both, ...more }))
      await t.test(what, async (t) => {
        const server = await startHttp(t, FIXTURE);
        const session = await connectHttp(t, server, way);
        if (revision) assert.equal(session.client.getNegotiatedProtocolVersion(), revision);
        await check(session);
        await session.client.close();
        // The check of that feature has sent SIGTERM already; a second one may kill a server that is about to exit.
        await (what === 'a listen the server ends' ? server.ended() : server.close());
      });
  });

  test(`${name}: two clients with equal ids do not meet`, async (t) => {
    const server = await startHttp(t, FIXTURE);
    const [ann, bob] = [await connectHttp(t, server, way), await connectHttp(t, server, way)];
    const slow = ann.call({ name: 'test_slow', arguments: { ms: 300 } });
    const texts = await Promise.all(
      Array.from({ length: 20 }, (_, i) => [ann, bob][i % 2].call({ name: 'test_echo', arguments: { text: 'x'.repeat(i + 1) } })),
    );
    texts.forEach((result, i) => assert.equal(result.structuredContent.text_bytes, i + 1));
    assert.equal((await slow).content[0].text, 'slept');
    await ann.client.close();
    await bob.client.close();
    await server.close();
  });

  test(`${name}: questions of a tool are asked and answered`, async (t) => {
    const server = await startHttp(t, FIXTURE);
    const options = { capabilities: { elicitation: {}, sampling: {}, roots: {} } };
    const { call, client } = await connectHttp(t, server, { ...way, options });
    for (const [method, [schema, answer]] of Object.entries(QUESTIONS))
      client.setRequestHandler(way.version === 1 ? schema : method, async () => answer);
    const ask = async (tool, args = {}) => (await call({ name: tool, arguments: args })).content[0].text;
    assert.equal(await ask('test_sampling', { prompt: 'What?' }), 'LLM response: Paris');
    assert.match(await ask('test_elicitation', { message: 'Who?' }), /"username":"u"/);
    assert.equal(await ask('test_input_required_result_multiple_inputs'), 'Paris, Ann: file:///one');
    assert.equal(await ask('test_input_required_result_multi_round'), 'Ann likes red');
    await client.close();
    await server.close();
  });

  test(`${name}: an aborted call is seen by the tool`, async (t) => {
    const server = await startHttp(t, FIXTURE);
    const { call, client } = await connectHttp(t, server, way);
    const abort = new AbortController();
    const running = call({ name: 'test_slow', arguments: { ms: 60000 } }, { signal: abort.signal });
    await call({ name: 'test_simple_text' });
    abort.abort(new Error('enough'));
    await assert.rejects(running, /enough/);
    for (;;) {
      const count = await call({ name: 'test_cancelled_count' });
      if (count.content[0].text === '1') break;
    }
    await client.close();
    assert.match(await server.close(), /^fixture: 1 cancelled$/m);
  });
}

test('a session is over after DELETE', async (t) => {
  const server = await startHttp(t, FIXTURE);
  const { client, transport } = await connectHttp(t, server, { version: 1 });
  const id = transport.sessionId;
  assert.match(id, /^[0-9a-f]{40}$/);
  await transport.terminateSession();
  const answer = await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': id });
  assert.equal(answer.status, 404);
  await client.close();
  await server.close();
});
