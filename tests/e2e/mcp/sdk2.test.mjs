// The official TypeScript client 2.x over stdio, in each of its ways to negotiate a revision.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS } from '../lib/fixture.mjs';
import { features } from '../lib/features.mjs';
import { belljarFeatures } from '../lib/features-belljar.mjs';
import { dataFeatures } from '../lib/features-data.mjs';
import { legacyFeatures } from '../lib/features-legacy.mjs';
import { modernFeatures } from '../lib/features-modern.mjs';
import { LAST_HANDSHAKE, MODERN } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { connectV2 } from '../lib/sdk.mjs';

const both = { ...features, ...dataFeatures };
const modes = [
  { name: 'default', revision: LAST_HANDSHAKE, era: 'legacy', more: legacyFeatures },
  { name: 'legacy', mode: 'legacy', revision: LAST_HANDSHAKE, era: 'legacy', more: legacyFeatures },
  { name: 'auto', mode: 'auto', revision: MODERN, era: 'modern', more: modernFeatures },
  { name: 'pinned', mode: { pin: MODERN }, revision: MODERN, era: 'modern', more: modernFeatures },
];

for (const { name, mode, revision, era, more } of modes)
  test(`negotiation: ${name}`, async (t) => {
    const check = async (program, what, feature) =>
      t.test(what, async (t) => {
        const session = await connectV2(t, { program, mode });
        assert.equal(session.client.getProtocolEra(), era);
        assert.equal(session.client.getNegotiatedProtocolVersion(), revision);
        await feature(session);
        const stderr = await session.close();
        if (program === FIXTURE) assert.match(stderr, /^fixture: \d+ cancelled$/m);
      });
    for (const [what, feature] of Object.entries({ ...both, ...more }))
      await check(FIXTURE, `fixture: ${what}`, feature);
    for (const [what, feature] of Object.entries(belljarFeatures))
      await check(BELLJAR, `belljar: ${what}`, feature);
  });

for (const { name, mode } of modes) {
  test(`cancelling is seen by the tool (${name})`, async (t) => {
    const session = await connectV2(t, { mode });
    const { call } = session;
    const abort = new AbortController();
    const running = call(
      { name: 'test_slow', arguments: { ms: 60000 } },
      { signal: abort.signal },
    );
    await call({ name: 'test_simple_text' });
    abort.abort(new Error('enough'));
    await assert.rejects(running, /enough/);
    const count = await call({ name: 'test_cancelled_count' });
    assert.equal(count.content[0].text, '1');
    assert.match(await session.close(), /^fixture: 1 cancelled$/m);
  });

  test(`lists in pages of three (${name})`, async (t) => {
    const session = await connectV2(t, { mode, env: { FIXTURE_PAGE_SIZE: '3' } });
    const { tools } = await session.client.listTools(); // the client follows nextCursor
    assert.equal(new Set(tools.map((tool) => tool.name)).size, FIXTURE_TOOLS);
    const { prompts } = await session.client.listPrompts();
    assert.equal(prompts.length, 5);
    await session.close();
  });
}

test('a pin to a revision that is not offered fails loudly', async (t) => {
  await assert.rejects(connectV2(t, { mode: { pin: '2027-01-01' } }), (error) => {
    assert.match(String(error.message), /2027-01-01/);
    return true;
  });
});

test('listChanged handlers open a listen by themselves', async (t) => {
  let heard;
  const changed = new Promise((resolve) => (heard = resolve));
  const session = await connectV2(t, {
    mode: 'auto',
    options: { listChanged: { tools: { onChanged: (error, tools) => heard({ error, tools }) } } },
  });
  assert.deepEqual(session.client.autoOpenedSubscription.honoredFilter, { toolsListChanged: true });
  await session.call({ name: 'test_trigger_tool_change' });
  const { error, tools } = await changed;
  assert.equal(error, null);
  assert.equal(tools.length, FIXTURE_TOOLS);
  await session.close();
});

test('belljar has nothing to listen for, and says so', async (t) => {
  const session = await connectV2(t, { program: BELLJAR, mode: 'auto' });
  const subscription = await session.client.listen({ toolsListChanged: true });
  assert.deepEqual(subscription.honoredFilter, {});
  assert.equal(await subscription.closed, 'graceful');
  await session.close();
});
