// features-legacy.mjs - features of revisions with a handshake.
import assert from 'node:assert/strict';

const tick = () => new Promise((resolve) => setImmediate(resolve));

export const legacyFeatures = {
  async ping({ client }) {
    assert.deepEqual(await client.ping(), {});
  },

  async 'log messages at the level that was set'(session) {
    const { client, call } = session;
    await client.setLoggingLevel('debug');
    await call({ name: 'test_tool_with_logging' });
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      const note = await session.note('notifications/message');
      assert.deepEqual(note.params, { level: 'info', logger: 'fixture', data });
    }
    await client.setLoggingLevel('error');
    await call({ name: 'test_tool_with_logging' });
    await tick();
    assert.deepEqual(session.notes, []);
  },

  async 'a resource that does not exist'({ client }) {
    const uri = 'test://nonexistent';
    await assert.rejects(client.readResource({ uri }), (error) => {
      assert.ok([-32002, -32602].includes(error.code)); // client 2.x renames it to the latter
      assert.match(error.message, /resource 'test:\/\/nonexistent' not found/);
      assert.deepEqual(error.data, { uri });
      return true;
    });
  },

  async 'subscribing to a resource'(session) {
    const { client, call } = session;
    const uri = 'test://watched-resource';
    await call({ name: 'test_trigger_resource_update' });
    assert.deepEqual(await client.subscribeResource({ uri }), {});
    await call({ name: 'test_trigger_resource_update' });
    const note = await session.note('notifications/resources/updated');
    assert.deepEqual(note.params, { uri });
    assert.deepEqual(await client.unsubscribeResource({ uri }), {});
    await call({ name: 'test_trigger_resource_update' });
    await client.ping();
    assert.deepEqual(session.notes, []);
  },

  async 'changed lists are announced'(session) {
    await session.call({ name: 'test_trigger_tool_change' });
    await session.note('notifications/tools/list_changed');
    await session.call({ name: 'test_trigger_prompt_change' });
    await session.note('notifications/prompts/list_changed');
    assert.deepEqual(session.notes, []);
  },
};
