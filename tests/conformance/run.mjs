// run.mjs - runs the official MCP conformance suite against the fixture over HTTP and prints TAP.
//
//   node run.mjs PROGRAM       PROGRAM is started as `PROGRAM --http 127.0.0.1:0`
//
// Each scenario of each revision is one test. A scenario passes if every check of it succeeds: a
// warning is a failure here, and so is a scenario that checks nothing, unless the suite itself skips
// it. No failure is expected. The last lines are the totals.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SUITE = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
// How the scenarios of a revision are chosen, and how many of them count for it.
const RUNS = [
  { revision: '2026-07-28', choice: ['--requirements', '2026-07-28'], scored: 37 },
  { revision: '2025-11-25', choice: ['--requirements', '2025-11-25'], scored: 30 },
  { revision: '2025-06-18', choice: ['--spec-version', '2025-06-18'], suite: ['--suite', 'all'], scored: 27 },
  { revision: '2025-03-26', choice: ['--spec-version', '2025-03-26'], suite: ['--suite', 'all'], scored: 1 },
];

async function runSuite(args) {
  const child = spawn(process.execPath, [SUITE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part));
  child.stderr.setEncoding('utf8').on('data', (part) => (text += part));
  await once(child, 'close');
  return text;
}

/** The names of the scenarios that count for the revision, as the suite lists them. */
async function listScored(choice) {
  const lines = (await runSuite(['list', '--server', ...choice])).split('\n');
  const start = lines.findIndex((line) => line.startsWith('Server scenarios'));
  const names = [];
  for (const line of lines.slice(start + 1)) {
    const match = /^ {2}- (\S+)/.exec(line);
    if (!match) break;
    names.push(match[1]);
  }
  return names;
}

/** The checks of each scenario that was run, by name. */
function readResults(dir) {
  const results = new Map();
  for (const entry of readdirSync(dir).sort()) {
    const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    if (name) results.set(name, JSON.parse(readFileSync(join(dir, entry, 'checks.json'), 'utf8')));
  }
  return results;
}

function judge(checks) {
  const bad = checks.filter((check) => !['SUCCESS', 'INFO', 'SKIPPED'].includes(check.status));
  const good = checks.filter((check) => check.status === 'SUCCESS');
  if (bad.length === 0 && good.length === 0) {
    const skipped = checks.find((check) => check.status === 'SKIPPED');
    if (skipped) return { ok: true, skip: skipped.errorMessage ?? skipped.description };
    return { ok: false, why: ['no check of the scenario was made'] };
  }
  return { ok: bad.length === 0, count: good.length, why: bad.map(describe) };
}

const describe = (check) => `${check.status} ${check.id}: ${check.errorMessage ?? check.description}`;

let tests = 0;
let failures = 0;

function report(name, { ok, skip, count, why = [] }) {
  tests++;
  failures += ok ? 0 : 1;
  const note = skip ? ` # SKIP ${skip}` : count ? ` (${count} checks)` : '';
  console.log(`${ok ? '' : 'not '}ok ${tests} - ${name}${note}`.replaceAll('\n', ' '));
  for (const line of why) console.log(`#   ${line.replaceAll('\n', ' ')}`);
}

async function runRevision(url, dir, { revision, choice, suite = [], scored }) {
  const names = await listScored(choice);
  const out = join(dir, revision);
  const text = await runSuite(['server', '--url', url, ...choice, ...suite, '-o', out]);
  let results;
  try {
    results = readResults(out);
  } catch {
    results = new Map();
    console.log(text.replace(/^/gm, '# '));
  }
  if (names.length !== scored)
    report(`${revision} scenarios`, { ok: false, why: [`${names.length} are listed, not ${scored}`] });
  const passed = { scored: 0, others: 0 };
  for (const name of new Set([...names, ...results.keys()])) {
    const verdict = results.has(name)
      ? judge(results.get(name))
      : { ok: false, why: ['the scenario was not run'] };
    report(`${revision} ${name}`, verdict);
    if (verdict.ok && !verdict.skip) passed[names.includes(name) ? 'scored' : 'others']++;
  }
  return `${revision}: ${passed.scored} of ${names.length} scored scenarios passed, and ` +
    `${passed.others} of ${results.size - names.length} others`;
}

async function startServer(program) {
  const server = spawn(program, ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  server.stderr.setEncoding('utf8').on('data', (part) => (stderr += part));
  const ended = once(server, 'close').then(([code, signal]) => ({ code, signal, stderr }));
  const [address] = await Promise.race([
    once(createInterface(server.stdout), 'line'),
    ended.then(() => {
      throw new Error(`${program} ended: ${stderr}`);
    }),
  ]);
  return { url: `http://localhost:${address.split(':').pop()}/mcp`, server, ended };
}

const dir = mkdtempSync(join(tmpdir(), 'belljar-conformance-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const { url, server, ended } = await startServer(process.argv[2]);
process.on('exit', () => server.kill('SIGKILL'));
const totals = [];
for (const run of RUNS) totals.push(await runRevision(url, dir, run));
server.kill('SIGTERM');
const { code, signal, stderr } = await ended;
report('the server ends by itself and reports no error', {
  ok: code === 0 && signal === null && !/Sanitizer|runtime error/.test(stderr),
  why: code === 0 ? [] : [`exit status ${code}, signal ${signal}`, ...stderr.split('\n').slice(-20)],
});
console.log(`1..${tests}`);
for (const line of totals) console.log(`# ${line}`);
process.exit(failures > 0 ? 1 : 0);
