// Files of sandboxes and skills as resources, prompts of skills, and notifications of changes.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { open, sleep, structuredOf, toolsOf } from '../lib/sandboxed.mjs';

const cleanups = [];
const t = { after: (fn) => cleanups.push(fn) };
let session;
let client;
let id;
const tools = toolsOf(() => session);

before(async () => {
  const skills = mkdtempSync(join(tmpdir(), 'belljar-skills-'));
  cleanups.push(() => rmSync(skills, { recursive: true, force: true }));
  chmodSync(skills, 0o755);
  const put = (name, file, text) => {
    mkdirSync(join(skills, name));
    writeFileSync(join(skills, name, file), text);
  };
  put('charts', 'SKILL.md', '---\nname: Charts\ndescription: >\n  Draw charts\n  well.\n---\nUse colours.\n');
  put('plain', 'Skill.md', 'Just text.\n');
  put('nothing', 'README.md', '');
  session = await open(t, { SKILLS_DIR: skills });
  client = session.client;
  structuredOf(await tools.write_file({ path: 'a b.txt', content: 'grün\n' }));
  id = structuredOf(await tools.list_sandboxes()).sandboxes[0].id;
});

after(async () => {
  await session?.close();
  for (const fn of cleanups) await fn();
});

const read = async (uri) => (await client.readResource({ uri })).contents[0];

test('a file of a sandbox is read as text or as bytes', async () => {
  const uri = `sandbox://${id}/workspace/a%20b.txt`;
  assert.deepEqual(await read(uri), { uri, mimeType: 'text/plain', text: 'grün\n' });
  await tools.write_file({ path: 'x.json', content: '{}' });
  assert.equal((await read(`sandbox://${id}/workspace/x.json`)).mimeType, 'application/json');
  await tools.write_file({ path: 'bytes', content: 'AP8=', encoding: 'base64' });
  const bytes = await read(`sandbox://${id}/workspace/bytes`);
  assert.deepEqual([bytes.mimeType, bytes.blob], ['application/octet-stream', 'AP8=']);
  await tools.write_file({ path: 'none', content: '' });
  assert.equal((await read(`sandbox://${id}/workspace/none`)).text, '');
});

test('a read that fails says why', async () => {
  await tools.run_command({ command: 'truncate -s 2M two; truncate -s 1M one' });
  await assert.rejects(read(`sandbox://${id}/workspace/two`), /has 2097152 bytes, and a resource at most 1048576: use the tool read_file/);
  assert.equal((await read(`sandbox://${id}/workspace/one`)).blob.length, Math.ceil(1048576 / 3) * 4);
  await assert.rejects(read(`sandbox://${id}/workspace/nope`), /'\/workspace\/nope' does not exist; its directory has: /);
  await assert.rejects(read(`sandbox://${id}`), /not found/);
});

test('unknown sandboxes get identical errors', async () => {
  const why = async (name) => {
    try {
      await read(`sandbox://${name}/workspace/a`);
    } catch (error) {
      return error.message.replaceAll(name, 'NAME');
    }
    throw new Error('it was read');
  };
  const other = id.slice(0, -1) + (id.endsWith('a') ? 'b' : 'a');
  assert.equal(await why(other), await why('nonesuch'));
});

test('the template completes sandboxes', async () => {
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some((r) => r.uriTemplate === 'sandbox://{id}/{+path}'));
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: 'sandbox://{id}/{+path}' }, argument: { name: 'id', value: '' },
  });
  assert.equal(completion.values.length, 1);
});

test('subscribers are notified of changes', async () => {
  const uri = `sandbox://${id}/workspace/watched%20file`;
  await client.subscribeResource({ uri });
  const heard = async (change) => {
    structuredOf(await change);
    const note = await session.note('notifications/resources/updated');
    assert.equal(note.params.uri, uri);
  };
  await heard(tools.write_file({ path: 'watched file', content: 'one' }));
  await heard(tools.edit_file({ path: '/workspace/watched file', edits: [{ old: 'one', new: 'two' }] }));
  await heard(tools.delete_path({ path: './watched file' }));
  await tools.write_file({ path: 'another', content: '' });
  assert.equal(session.notes.filter((n) => n.method === 'notifications/resources/updated').length, 0);
});

test('subscribers to a directory are told what changed in it', async () => {
  const uri = `sandbox://${id}/workspace/inbox`;
  const sh = async (command, more) => structuredOf(await tools.run_command({ command, ...more }));
  const updated = (changed) => (n) => n.method === 'notifications/resources/updated' && n.params.uri === changed;
  const heard = async (changed) => {
    for (let i = 0; i < 300 && !session.notes.some(updated(changed)); i++) await sleep(100);
    assert.ok(session.notes.some(updated(changed)), `no notification for ${changed}`);
    assert.ok(!session.notes.some((n) => n.params?.uri?.includes('outbox')), 'another directory');
    session.notes.length = 0;
  };
  await sh('mkdir -p inbox outbox; sleep 0.05');
  await client.subscribeResource({ uri });
  await tools.write_file({ path: 'inbox/by tool', content: 'x' });
  await heard(`${uri}/by%20tool`);
  await sh('echo 1 > outbox/no; mkdir -p inbox/deep; echo 1 > inbox/deep/by-run');
  await heard(`${uri}/deep/by-run`);
  await sh('sleep 1; echo 1 > inbox/later; sleep 3; rm inbox/later; sleep 60', { background: true });
  await heard(`${uri}/later`); // while the program runs
  await heard(uri); // an entry was removed
  await client.unsubscribeResource({ uri });
  await tools.delete_path({ path: 'inbox', recursive: true });
});

test('what does not exist cannot be subscribed to, except a file that may come', async () => {
  const refused = (uri) => client.subscribeResource({ uri }).then(() => assert.fail(uri), ({ code, message, data }) => ({ code, message, data }));
  for (const [uri, why] of [
    ['sandbox://nowhere/workspace/a', /there is no sandbox 'nowhere'; list_sandboxes lists yours/],
    ['belljar://tools/run_cod', /there is no tool 'run_cod'; tools\/list shows all/],
    ['skill://none', /there are no skills here|there is no skill 'none'/],
    ['process://p9', /resource 'process:\/\/p9' not found/],
  ]) {
    const { code, message, data } = await refused(uri);
    assert.deepEqual([code, data], [-32002, { uri }]);
    assert.match(message, why);
  }
  await client.subscribeResource({ uri: `sandbox://${id}/workspace/to-come` });
  await client.unsubscribeResource({ uri: `sandbox://${id}/workspace/to-come` });
});

test('a change that several subscriptions cover is notified once', async () => {
  const uris = ['', '/twice', '/twice/a'].map((path) => `sandbox://${id}/workspace${path}`);
  await tools.run_command({ command: 'mkdir -p twice; sleep 0.05' });
  for (const uri of uris) await client.subscribeResource({ uri });
  session.notes.length = 0;
  await tools.write_file({ path: 'twice/a', content: 'x' });
  await tools.write_file({ path: 'last', content: 'x' });
  const about = (uri) => session.notes.filter((n) => n.params?.uri === uri).length;
  for (let i = 0; i < 300 && about(`${uris[0]}/last`) === 0; i++) await sleep(100);
  assert.equal(about(uris[2]), 1);
  for (const uri of uris) await client.unsubscribeResource({ uri });
});

test('more sandboxes than a few are watched', async () => {
  const ids = [];
  for (let i = 0; i < 18; i++) {
    ids.push(structuredOf(await tools.create_sandbox({ memory_mb: 64 })).id);
    await client.subscribeResource({ uri: `sandbox://${ids[i]}/workspace` });
  }
  await tools.run_command({ sandbox: ids[17], command: 'sleep 1.5; echo 1 > seen; sleep 100', background: true });
  const uri = `sandbox://${ids[17]}/workspace/seen`;
  for (let i = 0; i < 300 && !session.notes.some((n) => n.params?.uri === uri); i++) await sleep(100);
  assert.ok(session.notes.some((n) => n.params?.uri === uri));
  for (const sandbox of ids) {
    await client.unsubscribeResource({ uri: `sandbox://${sandbox}/workspace` });
    await tools.delete_sandbox({ sandbox });
  }
});

test('a directory is read as the names in it', async () => {
  await tools.run_command({ command: 'mkdir -p shelf/sub; touch shelf/b shelf/a' });
  const { text, mimeType } = await read(`sandbox://${id}/workspace/shelf/`);
  assert.deepEqual([text, mimeType], ['a\nb\nsub/\n', 'text/plain']);
  assert.match((await read(`sandbox://${id}/`)).text, /^usr\/$/m);
  await tools.run_command({ command: 'mkfifo shelf/fifo' });
  await assert.rejects(read(`sandbox://${id}/workspace/shelf/fifo`), /is a FIFO, not a regular file/);
});

test('skills are resources', async () => {
  const { resources } = await client.listResources();
  const skills = resources.filter((r) => r.uri.startsWith('skill://'));
  assert.deepEqual(skills.map(({ uri, title, description }) => [uri, title, description]), [
    ['skill://charts', 'Charts', 'Draw charts well.'],
    ['skill://plain', 'plain', 'The skill plain.'],
  ]);
  assert.deepEqual(await read('skill://plain'), { uri: 'skill://plain', mimeType: 'text/markdown', text: 'Just text.\n' });
  assert.match((await read('skill://charts')).text, /Use colours\.\n$/);
  await assert.rejects(read('skill://nope'), /there is no skill 'nope'; there are: charts, plain/);
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: 'skill://{name}' }, argument: { name: 'name', value: 'ch' },
  });
  assert.deepEqual(completion.values, ['charts']);
});

test('skills are prompts, one each, and one for all', async () => {
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((p) => p.name), ['getting_started', 'use_skill', 'skill_charts', 'skill_plain']);
  const text = async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text;
  const charts = await text('skill_charts', { task: 'Plot it.' });
  assert.match(charts, /^Follow the skill 'charts' below\. Its files are in \/skills\/charts in every sandbox/);
  assert.match(charts, /Use colours\.\n\n\nThe task: Plot it\.$/);
  assert.equal(await text('use_skill', { name: 'charts', task: 'Plot it.' }), charts);
  assert.match(await text('skill_plain'), /Just text\.\n$/);
  await assert.rejects(text('use_skill', { name: 'nope' }), /there is no skill 'nope'/);
  await assert.rejects(text('use_skill', {}), /'name' is missing/);
});

test('getting_started describes how to use the tools', async () => {
  const { messages } = await client.getPrompt({ name: 'getting_started', arguments: { task: 'Sort.' } });
  assert.match(messages[0].content.text, /run_code.*session/s);
  assert.match(messages[0].content.text, /Skills, which say/);
  assert.match(messages[0].content.text, /\n\nThe task: Sort\.$/);
});

test('the manual of a tool has the limits of this server', async () => {
  const { tools: listed } = await client.listTools();
  const { default: usual, maximum } = listed.find(({ name }) => name === 'run_code').inputSchema.properties.timeout_s;
  const { text } = await read('belljar://tools/run_code');
  assert.match(text, new RegExp(`^- \`timeout_s\` \\(a number .*; on this server at most ${maximum}, default ${usual}\\): `, 'm'));
  assert.match(await read('belljar://tools/create_sandbox').then((manual) => manual.text), /^- `memory_mb` \(.*; on this server at most \d+/m);
});
