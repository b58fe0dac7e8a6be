// doc/profiles.md has a row for each tool of each profile, and the tests that it names exist.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { walks } from '../lib/profile_walks.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { stateDir } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const tested = /## What is tested\n([^]*?)\n## /.exec(read('doc/profiles.md'))[1];
const rows = [...tested.matchAll(/^\| `([a-z-]+)` \| `([a-z_]+)` \| A \| B C \| B \| (.*) \|$/gm)];

/** The titles of the tests of a file, as patterns: a part that the file computes fits any text. */
const titlesOf = (file) =>
  [...read(`tests/e2e/profiles/${file}`).matchAll(/\btest\(\s*(['`])((?:\\.|(?!\1).)*)\1/g)].map(
    ([, , title]) => new RegExp(`^${title.split(/\$\{[^}]*\}/).map((part) => part.replace(/[^\w ]/g, '\\$&')).join('.*')}$`),
  );

/** The pairs of file and title that a text names: `profile_x.test.mjs` `title`, `title`. */
function namedIn(text, profile) {
  const named = [];
  let file;
  for (const [, word] of text.matchAll(/`([^`]+)`/g))
    if (word.endsWith('.test.mjs')) file = word.replace(/.*\//, '');
    else if (file !== undefined) named.push([file, word.replace(/^NAME/, profile)]);
  return named;
}

const others = [...tested.matchAll(/^\| [^`|][^|]* \| (`profile_.*) \|$/gm)].map(([, cell]) => namedIn(cell, 'code-executor'));
const letters = [...tested.matchAll(/^- [ABC]: (.*)$/gm)].map(([, cell]) => cell);

test('the document has a row for each tool of each profile', async (t) => {
  for (const name of Object.keys(walks)) {
    const session = await connectV1(t, { program: BELLJAR, args: ['serve', '--profile', name], env: { BELLJAR_STATE_DIR: stateDir(t) } });
    const { tools } = await session.client.listTools();
    assert.deepEqual(rows.filter(([, profile]) => profile === name).map(([, , tool]) => tool), tools.map((tool) => tool.name));
    await session.close();
  }
});

test('the walk of a profile calls each of its tools', () => {
  for (const [, profile, tool] of rows) assert.match(String(walks[profile]), new RegExp(`\\.${tool}\\(`));
});

test('the tests that the document names exist', () => {
  assert.equal(letters.length, 3);
  assert.ok(others.length > 5);
  const named = [
    ...Object.keys(walks).flatMap((name) => letters.flatMap((cell) => namedIn(`\`profile_walks.test.mjs\` ${cell}`, name))),
    ...rows.flatMap(([, profile, , cell]) => namedIn(cell, profile)),
    ...others.flat(),
  ];
  for (const [file, title] of named)
    assert.ok(titlesOf(file).some((pattern) => pattern.test(title)), `${file} has no test '${title}'`);
});

test('the files that the document names run on Docker too, and the walks on Podman', () => {
  const shared = (engine) => read(`tests/docker/shared-${engine}.txt`).split('\n').map((line) => line.split(' ')[0]);
  for (const [, file] of tested.matchAll(/`(?:tests\/e2e\/profiles\/)?(\w+)\.test\.mjs`/g)) assert.ok(shared('docker').includes(file), file);
  assert.ok(shared('podman').includes('profile_walks'));
});
