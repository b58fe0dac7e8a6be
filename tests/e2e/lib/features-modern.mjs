// features-modern.mjs - features of the stateless revision, as the 2.x client offers them.
import assert from 'node:assert/strict';
import { LOG_LEVEL_KEY, SUBSCRIPTION_KEY } from './modern.mjs';

const idOf = (note) => note.params._meta[SUBSCRIPTION_KEY];

export const modernFeatures = {
  async discover({ client }) {
    const result = await client.discover();
    assert.deepEqual(result.supportedVersions, ['2026-07-28']);
    assert.equal(result.instructions, 'For tests only.');
    assert.deepEqual(result.capabilities, client.getServerCapabilities());
    assert.equal(result.ttlMs, 1000);
    assert.equal(result.cacheScope, 'private');
  },

  async 'lists are kept as long as the hint says'({ client }) {
    const first = await client.listTools();
    assert.equal(first.ttlMs, 1000);
    assert.equal(first.cacheScope, 'private');
    const read = await client.readResource({ uri: 'test://static-text' });
    assert.equal(read.ttlMs, 0);
  },

  async 'log messages of one request'(session) {
    const _meta = { [LOG_LEVEL_KEY]: 'info' };
    await session.call({ name: 'test_logging_tool', _meta });
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      const note = await session.note('notifications/message');
      assert.deepEqual(note.params, { level: 'info', logger: 'fixture', data });
    }
    await session.call({ name: 'test_logging_tool' });
    await session.call({ name: 'test_logging_tool', _meta: { [LOG_LEVEL_KEY]: 'error' } });
    assert.deepEqual(session.notes, []);
  },

  async 'a resource that does not exist'({ client }) {
    const uri = 'test://nonexistent';
    await assert.rejects(client.readResource({ uri }), (error) => {
      assert.equal(error.code, -32602);
      assert.match(error.message, /resource 'test:\/\/nonexistent' not found/);
      assert.deepEqual(error.data, { uri });
      return true;
    });
  },

  async 'listening for changes'(session) {
    const { client, call } = session;
    const watched = 'test://watched-resource';
    const lists = await client.listen({ toolsListChanged: true, promptsListChanged: false });
    const all = await client.listen({ promptsListChanged: true, resourceSubscriptions: [watched] });
    assert.deepEqual(lists.honoredFilter, { toolsListChanged: true });
    assert.deepEqual(all.honoredFilter, {
      promptsListChanged: true,
      resourceSubscriptions: [watched],
    });
    await call({ name: 'test_trigger_tool_change' });
    const tools = await session.note('notifications/tools/list_changed');
    await call({ name: 'test_trigger_prompt_change' });
    const prompts = await session.note('notifications/prompts/list_changed');
    await call({ name: 'test_trigger_resource_update' });
    const updated = await session.note('notifications/resources/updated');
    assert.equal(updated.params.uri, watched);
    assert.equal(idOf(updated), idOf(prompts));
    assert.notEqual(idOf(tools), idOf(prompts));
    await all.close();
    assert.equal(await all.closed, 'local');
    await call({ name: 'test_trigger_prompt_change' });
    await call({ name: 'test_trigger_tool_change' });
    assert.equal(idOf(await session.note('notifications/tools/list_changed')), idOf(tools));
    assert.deepEqual(session.notes, []);
  },

  async 'a listen the server ends'({ client, transport }) {
    const subscription = await client.listen({ toolsListChanged: true });
    process.kill(transport.pid, 'SIGTERM');
    assert.equal(await subscription.closed, 'graceful');
  },
};
