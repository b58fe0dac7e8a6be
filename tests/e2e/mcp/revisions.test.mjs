// One test per protocol revision: which fields its clients get.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskCapability } from '../lib/fixture.mjs';
import { HANDSHAKES, LAST_HANDSHAKE, MODERN, SERVER_INFO_KEY, modern } from '../lib/modern.mjs';
import { FIXTURE, VERSION } from '../lib/programs.mjs';
import { assertError, start, textOf } from '../lib/raw.mjs';

// Fields by the first revision that has them.
const since = (revision, first) => revision >= first;
const ICONS = [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }];

const expectedServer = (revision) => ({
  name: 'belljar-fixture',
  version: VERSION,
  ...(since(revision, '2025-06-18') && { title: 'Conformance fixture' }),
  ...(since(revision, '2025-11-25') && {
    description: 'Test tools of the conformance suite',
    websiteUrl: 'https://example.com/',
  }),
});

const expectedCapabilities = (revision) => ({
  logging: {},
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  ...(since(revision, '2025-03-26') && { completions: {} }),
  ...taskCapability(revision),
});

const expectedTool = (revision) => ({
  name: 'test_simple_text',
  ...(since(revision, '2025-06-18') && { title: 'Answers with a line of text.' }),
  description: 'Answers with a line of text.',
  ...(since(revision, '2025-11-25') && { icons: ICONS }),
  inputSchema: { type: 'object', properties: {} },
  ...(since(revision, '2025-03-26') && {
    annotations: {
      ...(!since(revision, '2025-06-18') && { title: 'Answers with a line of text.' }),
      readOnlyHint: true,
      openWorldHint: false,
    },
  }),
});

/** A connection of one revision: the stateless one has an envelope instead of a handshake. */
async function speak(t, revision) {
  const server = start(t, FIXTURE);
  const wrap = revision === MODERN ? modern : (params) => params;
  if (revision !== MODERN) {
    const result = await server.handshake(revision);
    assert.deepEqual(result, {
      protocolVersion: revision,
      capabilities: expectedCapabilities(revision),
      serverInfo: expectedServer(revision),
      instructions: 'For tests only.',
    });
  }
  const ask = async (method, params = {}) => {
    const { result, error } = await server.request(method, wrap(params));
    assert.equal(error, undefined);
    if (revision !== MODERN) return result;
    const { resultType, _meta, ...rest } = result;
    assert.equal(resultType, 'complete');
    assert.deepEqual(_meta, {
      [SERVER_INFO_KEY]: { name: 'belljar-fixture', version: VERSION, title: 'Conformance fixture' },
    });
    return rest;
  };
  return { server, ask };
}

const hints = (revision, ttlMs = 1000) =>
  revision === MODERN ? { ttlMs, cacheScope: 'private' } : {};

async function checkTools(ask, revision) {
  const { tools, ...rest } = await ask('tools/list');
  assert.deepEqual(rest, hints(revision));
  assert.deepEqual(tools[0], expectedTool(revision));
  assert.equal('outputSchema' in tools.at(-1), since(revision, '2025-06-18'));
}

async function checkLists(ask, revision) {
  const { prompts, ...rest } = await ask('prompts/list');
  assert.deepEqual(rest, hints(revision));
  assert.equal('title' in prompts[0], since(revision, '2025-06-18'));
  assert.equal(prompts[0].description, 'No arguments.');
  assert.equal(prompts[1].arguments[0].required, true);
  const { resources, ...more } = await ask('resources/list');
  assert.deepEqual(more, hints(revision));
  assert.equal('title' in resources[0], since(revision, '2025-06-18'));
  const templates = await ask('resources/templates/list');
  assert.equal('title' in templates.resourceTemplates[0], since(revision, '2025-06-18'));
  const { contents, ...read } = await ask('resources/read', { uri: 'test://static-text' });
  assert.deepEqual(read, hints(revision, 0));
  assert.equal(contents.length, 1);
}

async function checkResults(ask, revision) {
  const call = async (name, args) => ask('tools/call', { name, arguments: args });
  const echo = await call('test_echo', { text: 'abc' });
  assert.equal('structuredContent' in echo, since(revision, '2025-06-18'));
  assert.equal(JSON.parse(echo.content[0].text).text_bytes, 3);
  const [audio] = (await call('test_audio_content')).content;
  if (since(revision, '2025-03-26')) assert.equal(audio.type, 'audio');
  else assert.equal(audio.text, '[audio/wav audio: this protocol revision cannot carry it]');
  const link = (await call('test_multiple_content_types')).content[3];
  if (since(revision, '2025-06-18')) assert.equal(link.type, 'resource_link');
  else assert.deepEqual(link, { type: 'text', text: 'static-text: test://static-text' });
  const wrong = await call('test_echo', {});
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /^argument 'text' is missing/);
}

async function checkProgress(server, ask, revision) {
  const _meta = { progressToken: 'p-1' };
  const wrapped = revision === MODERN ? modern({}, _meta) : { _meta };
  server.ask('tools/call', { name: 'test_tool_with_progress', ...wrapped }, 'with progress');
  for (const [i, progress] of [0, 50, 100].entries())
    assert.deepEqual((await server.notification('notifications/progress')).params, {
      progressToken: 'p-1',
      progress,
      total: 100,
      ...(since(revision, '2025-03-26') && { message: `step ${i}` }),
    });
  assert.equal(textOf(await server.answer('with progress')), 'progressed');
}

for (const revision of [...HANDSHAKES, MODERN])
  test(revision, async (t) => {
    const { server, ask } = await speak(t, revision);
    await checkTools(ask, revision);
    await checkLists(ask, revision);
    await checkResults(ask, revision);
    await checkProgress(server, ask, revision);
    const { completion } = await ask('completion/complete', {
      ref: { type: 'ref/resource', uri: 'test://template/{id}/data' },
      argument: { name: 'id', value: '2' },
      context: { arguments: {} },
    });
    assert.deepEqual(completion.values, ['200']);
    await server.close();
  });

for (const revision of HANDSHAKES)
  test(`${revision}: ping and logging/setLevel answer with exactly {}`, async (t) => {
    const server = start(t, FIXTURE);
    await server.handshake(revision);
    assert.deepEqual(await server.request('ping', undefined, 'a'), {
      jsonrpc: '2.0',
      id: 'a',
      result: {},
    });
    const { result } = await server.request('logging/setLevel', { level: 'alert' });
    assert.deepEqual(result, {});
    await server.close();
  });

test('logging/setLevel takes the eight levels and nothing else', async (t) => {
  const server = start(t, FIXTURE);
  await server.handshake('2025-11-25');
  const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
  for (const level of levels)
    assert.deepEqual((await server.request('logging/setLevel', { level })).result, {});
  for (const level of ['loud', 'INFO', '', 3, null, undefined, 'info\0'])
    assertError(await server.request('logging/setLevel', { level }), -32602, /'level' must be one of debug,/);
  await server.close();
});

test('the newest handshake is what a client of an unknown revision is offered', async (t) => {
  const asked = ['2024-10-07', '1999-01-01', '2025-12-31', MODERN, '2030-01-01', '', 'latest', 5, null];
  const server = start(t, FIXTURE);
  for (const protocolVersion of asked) {
    const { result } = await server.initialize(protocolVersion);
    assert.equal(result.protocolVersion, LAST_HANDSHAKE, String(protocolVersion));
  }
  const { result } = await server.request('initialize'); // not even params
  assert.equal(result.protocolVersion, LAST_HANDSHAKE);
  await server.close();
});
