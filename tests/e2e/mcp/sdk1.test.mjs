// The official TypeScript SDK 1.x as client: the handshake era as most clients speak it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE_TOOLS } from '../lib/fixture.mjs';
import { features } from '../lib/features.mjs';
import { dataFeatures } from '../lib/features-data.mjs';
import { legacyFeatures } from '../lib/features-legacy.mjs';
import { belljarFeatures } from '../lib/features-belljar.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { connectV1 } from '../lib/sdk.mjs';

for (const [name, check] of Object.entries({ ...features, ...dataFeatures, ...legacyFeatures }))
  test(`fixture: ${name}`, async (t) => {
    const session = await connectV1(t);
    await check(session);
    assert.match(await session.close(), /^fixture: \d+ cancelled$/m);
  });

for (const [name, check] of Object.entries(belljarFeatures))
  test(`belljar: ${name}`, async (t) => {
    const session = await connectV1(t, { program: BELLJAR });
    await check(session);
    await session.close();
  });

test('lists in pages of three', async (t) => {
  const session = await connectV1(t, { env: { FIXTURE_PAGE_SIZE: '3' } });
  const names = [];
  let cursor, pages = 0;
  do {
    const page = await session.client.listTools(cursor === undefined ? {} : { cursor });
    assert.equal(page.tools.length, Math.min(3, FIXTURE_TOOLS - names.length));
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
    pages++;
  } while (cursor !== undefined);
  assert.equal(pages, Math.ceil(FIXTURE_TOOLS / 3));
  assert.equal(new Set(names).size, FIXTURE_TOOLS);
  const prompts = await session.client.listPrompts();
  assert.equal(prompts.prompts.length, 3);
  const rest = await session.client.listPrompts({ cursor: prompts.nextCursor });
  assert.equal(rest.prompts.length, 2);
  assert.equal(rest.nextCursor, undefined);
  await assert.rejects(session.client.listTools({ cursor: prompts.nextCursor }), { code: -32602 });
  await session.close();
});

test('a cancelled call is seen by the tool', async (t) => {
  const session = await connectV1(t);
  const { call } = session;
  const abort = new AbortController();
  const running = [1, 2, 3].map(() =>
    call({ name: 'test_slow', arguments: { ms: 60000 } }, { signal: abort.signal }),
  );
  const others = call({ name: 'test_slow', arguments: { ms: 50 } });
  await call({ name: 'test_simple_text' });
  abort.abort('enough');
  for (const one of running) await assert.rejects(one, /enough/);
  const count = await call({ name: 'test_cancelled_count' });
  assert.equal(count.content[0].text, '3');
  assert.equal((await others).content[0].text, 'slept');
  assert.match(await session.close(), /^fixture: 3 cancelled$/m);
});

test('disconnecting cancels running calls', async (t) => {
  const session = await connectV1(t);
  const running = session.call({ name: 'test_slow', arguments: { ms: 60000 } });
  running.catch(() => {});
  await session.client.ping();
  assert.match(await session.close(), /^fixture: 1 cancelled$/m);
  await assert.rejects(running);
});
