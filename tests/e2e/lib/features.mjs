// features.mjs - checks of the fixture that every official client runs, in either era.
// Each export is one test: a function of a connected Session.
import assert from 'node:assert/strict';
import { TOOLS, withoutTasks } from './fixture.mjs';
import { VERSION } from './programs.mjs';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const isPng = (base64) => Buffer.from(base64, 'base64').subarray(0, 8).equals(PNG);

export const features = {
  async 'who the server is'({ client }) {
    const info = client.getServerVersion();
    assert.equal(info.name, 'belljar-fixture');
    assert.equal(info.title, 'Conformance fixture');
    assert.equal(info.version, VERSION);
    assert.equal(client.getInstructions(), 'For tests only.');
    assert.deepEqual(withoutTasks(client.getServerCapabilities(), assert), {
      logging: {},
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
    });
  },

  async 'the list of tools'({ client }) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
    const simple = tools[0];
    assert.deepEqual(simple.inputSchema, {
      type: 'object',
      properties: {},
    });
    assert.equal(simple.outputSchema, undefined);
    assert.equal(simple.title, 'Answers with a line of text.');
    assert.deepEqual(simple.icons, [
      { src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] },
    ]);
    assert.deepEqual(simple.annotations, { readOnlyHint: true, openWorldHint: false });
    for (const tool of tools) assert.ok(tool.description, tool.name);
  },

  async 'the schemas of a tool'({ client }) {
    const { tools } = await client.listTools();
    const { inputSchema, outputSchema, annotations } = tools.at(-1);
    assert.deepEqual(inputSchema.required, ['text']);
    const { text, choice, integer, number, flag, strings, records } = inputSchema.properties;
    assert.deepEqual(text, { type: 'string', description: 'Text without NUL.' });
    assert.deepEqual(choice.enum, ['red', 'green', 'blue']);
    assert.equal(choice.default, 'green');
    assert.deepEqual(integer, {
      type: 'integer',
      minimum: -5,
      maximum: 600,
      default: 3,
      description: 'A whole number.',
    });
    assert.equal(number.default, 0.5);
    assert.equal(flag.default, true);
    assert.deepEqual(strings.items, { type: 'string' });
    assert.deepEqual(records.items.required, ['key']);
    assert.equal(outputSchema.type, 'object');
    assert.deepEqual(outputSchema.required, ['text_bytes', 'raw_bytes', 'choice', 'integer']);
    assert.deepEqual(annotations, {}); // destructive and open, the defaults
  },

  async 'text, picture and sound'({ call }) {
    assert.deepEqual((await call({ name: 'test_simple_text' })).content, [
      { type: 'text', text: 'This is a simple text response for testing.' },
    ]);
    const [image] = (await call({ name: 'test_image_content', arguments: {} })).content;
    assert.equal(image.mimeType, 'image/png');
    assert.ok(isPng(image.data));
    const [audio] = (await call({ name: 'test_audio_content' })).content;
    assert.equal(audio.type, 'audio');
    assert.equal(audio.mimeType, 'audio/wav');
    assert.equal(Buffer.from(audio.data, 'base64').toString('latin1', 0, 4), 'RIFF');
  },

  async 'resources inside a result'({ call }) {
    assert.deepEqual((await call({ name: 'test_embedded_resource' })).content, [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ]);
    const mixed = (await call({ name: 'test_multiple_content_types' })).content;
    assert.deepEqual(mixed.map((block) => block.type), ['text', 'image', 'resource', 'resource_link']);
    assert.equal(mixed[2].resource.uri, 'test://mixed-content-resource');
    assert.deepEqual(mixed[3], {
      type: 'resource_link',
      uri: 'test://static-text',
      name: 'static-text',
      mimeType: 'text/plain',
    });
  },

  async 'a tool that fails'({ call }) {
    const result = await call({ name: 'test_error_handling' });
    assert.equal(result.isError, true);
    assert.deepEqual(result.content, [
      { type: 'text', text: 'This tool intentionally returns an error for testing' },
    ]);
  },

  async 'structured content, as the client checks it'({ client, call }) {
    await client.listTools(); // from now on the client validates against outputSchema
    const args = { text: 'grün', raw: 'a\0b', choice: 'red', integer: -5, map: { a: 'b' } };
    const { content, structuredContent } = await call({ name: 'test_echo', arguments: args });
    assert.deepEqual(structuredContent, {
      text_bytes: 5,
      raw_bytes: 3,
      choice: 'red',
      fallback: 'left',
      integer: -5,
      number: 0.5,
      flag: true,
      strings: [],
      map: { a: 'b' },
      record: { number: 0 },
      records: [],
      anything: null,
    });
    assert.deepEqual(JSON.parse(content[0].text), structuredContent);
  },

  async 'a wrong argument is for the model to read'({ client, call }) {
    await client.listTools();
    const result = await call({ name: 'test_echo', arguments: { text: 'x', integer: 601 } });
    assert.equal(result.isError, true);
    assert.equal(
      result.content[0].text,
      "argument 'integer': expected an integer from -5 to 600, got the number 601",
    );
  },

  async 'an unknown tool'({ call }) {
    await assert.rejects(call({ name: 'test_sloow' }), (error) => {
      assert.equal(error.code, -32602);
      assert.match(error.message, /unknown tool 'test_sloow'; did you mean 'test_slow'\?/);
      return true;
    });
  },

  async 'progress'({ call }) {
    const seen = [];
    const onprogress = (step) => seen.push(step);
    const result = await call({ name: 'test_tool_with_progress' }, { onprogress });
    assert.equal(result.content[0].text, 'progressed');
    const steps = [0, 50, 100].map((progress, i) => ({ progress, total: 100, message: `step ${i}` }));
    // A client drops a progress notification that it reads together with the response.
    assert.ok(seen.length >= 2, JSON.stringify(seen));
    assert.deepEqual(seen, steps.slice(0, seen.length));
  },

  async 'a hundred calls at once'({ call }) {
    const calls = Array.from({ length: 100 }, (_, i) =>
      i % 2
        ? call({ name: 'test_slow', arguments: { ms: 100 - i } })
        : call({ name: 'test_echo', arguments: { text: 'x'.repeat(i + 1) } }),
    );
    const results = await Promise.all(calls);
    results.forEach((result, i) => {
      if (i % 2) assert.equal(result.content[0].text, 'slept');
      else assert.equal(result.structuredContent.text_bytes, i + 1);
    });
  },
};
