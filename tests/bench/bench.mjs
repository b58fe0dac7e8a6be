// bench.mjs - belljar beside a minimal server on the official SDK: start-up to the first answer, one
// empty tool call, memory. Medians; the two alternate, so that load on the machine affects both.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, DISCOVER, INITIALIZE, call } from './client.mjs';

const STARTS = Number(process.env.BENCH_STARTS ?? 60);
const CALLS = Number(process.env.BENCH_CALLS ?? 2000);
const WARM_UP = 200;

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const fixture = [process.env.FIXTURE ?? path('../../build/fixture')];
const belljar = [process.env.BELLJAR ?? path('../../build/belljar')];
const sdk = [process.execPath, path('sdk-server.mjs')];
const program = existsSync(belljar[0]) ? belljar : fixture;
const ownTool = program === belljar ? 'server_info' : 'test_simple_text';

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const medians = (values) => Object.fromEntries(Object.entries(values).map(([k, v]) => [k, median(v)]));

async function timed(work) {
  const from = process.hrtime.bigint();
  const answer = await work();
  const ms = Number(process.hrtime.bigint() - from) / 1e6;
  const { result, error } = JSON.parse(answer);
  assert.ok(result && !result.isError, JSON.stringify(error ?? result));
  return ms;
}

/** Milliseconds from the spawning of the server to its first answer. */
async function timeStart(command, first) {
  let client;
  const ms = await timed(() => {
    client = new Client(command);
    return client.ask(first);
  });
  await client.close();
  return ms;
}

async function measureStarts() {
  const ms = { initialize: [], discover: [], sdk: [] };
  for (let i = 0; i < STARTS; i++) {
    ms.initialize.push(await timeStart(program, INITIALIZE));
    ms.sdk.push(await timeStart(sdk, INITIALIZE));
    ms.discover.push(await timeStart(program, DISCOVER));
  }
  return medians(ms);
}

/** All servers run at once and get one call each in turn; then their memory is read. */
async function measureCalls() {
  const subjects = {
    fixture: { client: new Client(fixture), line: call('test_simple_text') },
    own: { client: new Client(program), line: call(ownTool) },
    sdk: { client: new Client(sdk), line: call('test_simple_text') },
  };
  const ms = { fixture: [], own: [], sdk: [] };
  for (const { client } of Object.values(subjects)) await client.ask(INITIALIZE);
  for (let i = 0; i < WARM_UP + CALLS; i++)
    for (const [name, { client, line }] of Object.entries(subjects)) {
      const one = await timed(() => client.ask(line));
      if (i >= WARM_UP) ms[name].push(one);
    }
  const memory = {};
  for (const [name, { client }] of Object.entries(subjects)) {
    memory[name] = client.memory();
    await client.close();
  }
  return { ms: medians(ms), memory };
}

const inMs = (ms) => `${ms.toFixed(ms < 1 ? 3 : 1)} ms`;
const inMib = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function table(rows) {
  const all = [['what', 'belljar', 'official SDK', 'ratio'], ...rows];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  for (const [i, row] of all.entries()) {
    const cells = row.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]) : cell.padStart(widths[c])));
    console.log(`  ${cells.join('  |  ')}`);
    if (i === 0) console.log(`  ${widths.map((width) => '-'.repeat(width)).join('--|--')}`);
  }
}

const row = (what, show, ours, theirs) =>
  [what, show(ours), theirs ? show(theirs) : '-', theirs ? `${(theirs / ours).toFixed(1)}x` : '-'];

const starts = await measureStarts();
const { ms, memory } = await measureCalls();

console.log(`medians of ${STARTS} starts and ${CALLS} calls; node ${process.version}`);
table([
  row('start-up to initialize answered', inMs, starts.initialize, starts.sdk),
  row('start-up to server/discover answered', inMs, starts.discover),
  row('one empty tool call (fixture)', inMs, ms.fixture, ms.sdk),
  row(`one call of ${ownTool}`, inMs, ms.own, ms.sdk),
  row(`memory after ${CALLS} calls, resident`, inMib, memory.own.rss, memory.sdk.rss),
  ...(memory.own.pss
    ? [row(`memory after ${CALLS} calls, proportional`, inMib, memory.own.pss, memory.sdk.pss)]
    : []),
]);

const budgets = [
  ['starts at least 10 times quicker', starts.sdk >= 10 * starts.initialize],
  ['starts within 50 ms', Math.max(starts.initialize, starts.discover) <= 50],
  ['takes less than a tenth of the memory', memory.own.rss < memory.sdk.rss / 10],
];
for (const [what, met] of budgets) console.log(`  ${met ? 'met   ' : 'MISSED'}  ${what}`);
