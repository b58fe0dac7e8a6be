// features-belljar.mjs - checks of the real program that every official client runs.
import assert from 'node:assert/strict';
import { withoutTasks } from './fixture.mjs';
import { VERSION } from './programs.mjs';

export const belljarFeatures = {
  async 'who it is'({ client }) {
    const info = client.getServerVersion();
    assert.equal(info.name, 'belljar');
    assert.equal(info.title, 'Belljar');
    assert.equal(info.version, VERSION);
    assert.match(client.getInstructions(), /run_code and run_command work as the first call/);
    assert.deepEqual(withoutTasks(client.getServerCapabilities(), assert), {
      logging: {},
      tools: {},
      prompts: {},
      resources: { subscribe: true },
      completions: {},
    });
  },

  async 'its tools'({ client, call }) {
    const { tools } = await client.listTools();
    assert.ok(tools.length <= 22);
    assert.deepEqual(tools.slice(0, 2).map((tool) => tool.name), ['run_code', 'run_command']);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      assert.ok(title && description && description.length <= 2000, name);
      assert.equal(inputSchema.type, 'object');
      // Tools whose results may have pictures declare no output schema: see run_code.
      if (!['run_code', 'read_file'].includes(name)) assert.equal(outputSchema.type, 'object', name);
      assert.equal(annotations.openWorldHint, false);
    }
    const brief = (await call({ name: 'server_info' })).structuredContent;
    assert.equal(brief.version, VERSION);
    assert.equal(brief.limits, undefined);
    assert.deepEqual(brief.revisions, ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']);
    const full = await call({ name: 'server_info', arguments: { detail: 'full' } });
    const limits = Object.fromEntries(
      full.structuredContent.limits.map(({ name, value }) => [name, value]),
    );
    assert.equal(limits.max_line, 10 * 1024 * 1024);
    assert.equal(limits.max_depth, 64);
    assert.equal(limits.max_batch, 100);
  },

  async 'a command that takes a while, with progress'({ client, call }) {
    await client.listTools();
    const seen = [];
    const result = await call(
      { name: 'run_command', arguments: { command: 'echo begun; sleep 2.5; echo done' } },
      { onprogress: (step) => seen.push(step) },
    );
    assert.equal(result.structuredContent.stdout, 'begun\ndone\n');
    assert.equal(result.structuredContent.exit_code, 0);
    // The first messages may come while the sandbox is being made.
    for (const { message } of seen) assert.match(message, /^\d+ s/);
    assert.ok(seen.some(({ message }) => /begun/.test(message)), JSON.stringify(seen));
  },

  async 'code that takes a while, with its new lines as progress'({ call }) {
    const seen = [];
    const code = "import time\nfor i in range(30):\n  print('line', i)\n  time.sleep(0.1)";
    await call({ name: 'run_code', arguments: { code } }, { onprogress: (step) => seen.push(step) });
    const lines = seen.flatMap(({ message }) => message.match(/line \d+/g) ?? []);
    assert.ok(seen.length >= 1);
    assert.ok(lines.length > seen.length, JSON.stringify(seen));
  },

  async 'a command, cancelled'({ call }) {
    const abort = new AbortController();
    const options = { signal: abort.signal };
    const waiting = call({ name: 'run_command', arguments: { command: 'sleep 300' } }, options);
    await call({ name: 'run_command', arguments: { command: 'true' } });
    abort.abort('enough');
    await assert.rejects(waiting, /enough/);
    await call({ name: 'server_info' });
  },

  async 'a wrong argument'({ call }) {
    const result = await call({ name: 'server_info', arguments: { detail: 'huge' } });
    assert.equal(result.isError, true);
    assert.equal(
      result.content[0].text,
      'argument \'detail\': expected one of "brief", "full", got the string "huge"',
    );
  },

  async 'its resources'({ client }) {
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((r) => r.uri), ['belljar://server-info']);
    const [info] = (await client.readResource({ uri: 'belljar://server-info' })).contents;
    assert.equal(info.mimeType, 'application/json');
    assert.equal(JSON.parse(info.text).version, VERSION);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate), [
      'sandbox://{id}/{+path}',
      'skill://{name}',
      'belljar://tools/{name}',
    ]);
  },

  async 'the manual of each tool'({ client }) {
    for (const { name, description, outputSchema } of (await client.listTools()).tools) {
      const uri = `belljar://tools/${name}`;
      const [manual] = (await client.readResource({ uri })).contents;
      assert.equal(manual.uri, uri);
      assert.equal(manual.mimeType, 'text/markdown');
      assert.ok(manual.text.startsWith(`# ${name}\n\n${description}`));
      assert.match(manual.text, /\n## Arguments\n/);
      if (outputSchema) assert.match(manual.text, /\n## Answer\n/);
    }
    await assert.rejects(client.readResource({ uri: 'belljar://tools/nonesuch' }), (error) => {
      assert.match(error.message, /there is no tool 'nonesuch'/);
      assert.deepEqual(error.data, { uri: 'belljar://tools/nonesuch' });
      return true;
    });
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'belljar://tools/{name}' },
      argument: { name: 'name', value: 'run_' },
    });
    assert.deepEqual(completion.values, ['run_code', 'run_command']);
  },

  async 'its prompt'({ client }) {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((p) => p.name), ['getting_started', 'use_skill']);
    const text = async (args) =>
      (await client.getPrompt({ name: 'getting_started', arguments: args })).messages[0].content
        .text;
    assert.match(await text(), /^You are connected to Belljar, .*in force\.$/s);
    assert.match(await text({ task: 'Sort my files.' }), /in force\.\n\nThe task: Sort my files\.$/);
  },
};
