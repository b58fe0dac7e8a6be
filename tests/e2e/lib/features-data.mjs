// features-data.mjs - the second part of features.mjs: resources, prompts, completion.
import assert from 'node:assert/strict';

export const dataFeatures = {
  async 'the list of resources'({ client }) {
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((r) => r.uri), [
      'test://static-text',
      'test://static-binary',
      'test://watched-resource',
      'test://broken',
    ]);
    assert.deepEqual(resources[0], {
      uri: 'test://static-text',
      name: 'static-text',
      title: 'Text',
      description: 'Static text.',
      mimeType: 'text/plain',
    });
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(resourceTemplates, [
      {
        uriTemplate: 'test://template/{id}/data',
        name: 'template',
        title: 'Template',
        description: 'Data by id.',
        mimeType: 'application/json',
      },
    ]);
  },

  async 'reading text, bytes and a template'({ client }) {
    const text = await client.readResource({ uri: 'test://static-text' });
    assert.deepEqual(text.contents, [
      {
        uri: 'test://static-text',
        mimeType: 'text/plain',
        text: 'This is the content of the static text resource.',
      },
    ]);
    const [blob] = (await client.readResource({ uri: 'test://static-binary' })).contents;
    assert.equal(blob.mimeType, 'image/png');
    assert.equal(Buffer.from(blob.blob, 'base64').toString('latin1', 1, 4), 'PNG');
    const uri = 'test://template/a%20b/data';
    const [data] = (await client.readResource({ uri })).contents;
    assert.equal(data.uri, uri);
    assert.deepEqual(JSON.parse(data.text), {
      id: 'a b',
      templateTest: true,
      data: 'Data for ID: a b',
    });
  },

  async 'a resource that cannot be read'({ client }) {
    await assert.rejects(client.readResource({ uri: 'test://broken' }), (error) => {
      assert.equal(error.code, -32603);
      assert.match(error.message, /the disk is on fire/);
      return true;
    });
  },

  async 'the list of prompts'({ client }) {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((p) => p.name), [
      'test_simple_prompt',
      'test_prompt_with_arguments',
      'test_prompt_with_embedded_resource',
      'test_prompt_with_image',
      'test_input_required_result_prompt',
    ]);
    assert.deepEqual(prompts[1], {
      name: 'test_prompt_with_arguments',
      title: 'Arguments',
      description: 'Two arguments.',
      arguments: [
        { name: 'arg1', description: 'The first.', required: true },
        { name: 'arg2', description: 'The second.', required: true },
      ],
    });
  },

  async 'getting each prompt'({ client }) {
    const get = async (name, args) => {
      const result = await client.getPrompt({ name, arguments: args });
      assert.equal(result.description, 'A prompt for tests');
      assert.equal(result.messages.length, 1);
      assert.equal(result.messages[0].role, 'user');
      return result.messages[0].content;
    };
    assert.equal((await get('test_simple_prompt')).text, 'This is a simple prompt for testing.');
    assert.equal(
      (await get('test_prompt_with_arguments', { arg1: 'one', arg2: 'two' })).text,
      "Prompt with arguments: arg1='one', arg2='two'",
    );
    const uri = 'test://example';
    const embedded = await get('test_prompt_with_embedded_resource', { resourceUri: uri });
    assert.equal(embedded.type, 'resource');
    assert.equal(embedded.resource.uri, uri);
    const image = await get('test_prompt_with_image');
    assert.equal(image.type, 'image');
    assert.equal(image.mimeType, 'image/png');
  },

  async 'a prompt that lacks an argument, or does not exist'({ client }) {
    const cases = [
      ['test_prompt_with_arguments', { arg1: 'x' }, /argument 'arg2' is missing/],
      ['test_simple_prompt', { arg1: 'x' }, /argument 'arg1' is not known/],
      ['nonesuch', {}, /unknown prompt 'nonesuch'/],
    ];
    for (const [name, args, message] of cases)
      await assert.rejects(client.getPrompt({ name, arguments: args }), (error) => {
        assert.equal(error.code, -32602);
        assert.match(error.message, message);
        return true;
      });
  },

  async 'completion'({ client }) {
    const complete = async (ref, name, value) =>
      (await client.complete({ ref, argument: { name, value } })).completion;
    const template = { type: 'ref/resource', uri: 'test://template/{id}/data' };
    const prompt = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    assert.deepEqual(await complete(template, 'id', '12'), {
      values: ['123', '124'],
      total: 2,
      hasMore: false,
    });
    assert.deepEqual((await complete(template, 'id', '')).values, ['123', '124', '200']);
    assert.deepEqual((await complete(prompt, 'arg1', 'test')).values, []);
    await assert.rejects(complete(prompt, 'arg9', ''), { code: -32602 });
    await assert.rejects(complete({ type: 'ref/prompt', name: 'x' }, 'y', ''), { code: -32602 });
  },
};
