// docker_bench.mjs - the docker engine beside docker exec and docker run, on one daemon and one image. The
// shell script docker_bench.sh starts the daemon. Asserts nothing.
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, structuredOf, toolsOf } from '../e2e/lib/sandboxed.mjs';

const RUNS = Number(process.env.BENCH_RUNS ?? 50);
const AWAKE = Number(process.env.BENCH_AWAKE ?? 50);
const image = process.env.E2E_BELLJAR_IMAGE;
const cleanups = [];
const t = { after: (fn) => cleanups.push(fn) };

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

const TURN = 5;
const PAUSE_MS = 300;

/** The medians of two acts. A few of each are done by turns, so that other load on the machine meets both. A turn
 * begins with a pause and an act that does not count: what the daemon does after a docker exec would be counted
 * for the other act. */
async function measure(acts, runs = RUNS) {
  const times = acts.map(() => []);
  for (let done = 0; done < runs; done += TURN)
    for (const [k, act] of acts.entries()) {
      await sleep(PAUSE_MS);
      for (let i = -1; i < TURN; i++) {
        const began = performance.now();
        await act();
        if (i >= 0) times[k].push(performance.now() - began);
      }
    }
  return times.map(median);
}

function docker(...args) {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

function row(what, [ours, theirs], beside) {
  console.log(`${what.padEnd(34)} ${ours.toFixed(2).padStart(9)} ms  ${theirs.toFixed(1).padStart(8)} ms  ${(ours / theirs).toFixed(3).padStart(7)} x  ${beside}`);
}

const session = await open(t, {});
const tools = toolsOf(() => session);
const sandbox = structuredOf(await tools.create_sandbox({ name: 'bench' })).id;
const other = docker('run', '-d', '--network', 'none', '--cap-drop', 'ALL', image, 'sleep', '100000');

console.log(`the docker engine, medians of ${RUNS}`);
row('run_command true', await measure([() => tools.run_command({ sandbox, command: 'true' }), () => docker('exec', other, 'true')]), 'docker exec true');
row('run_code print(1)', await measure([() => tools.run_code({ sandbox, code: 'print(1)' }), () => docker('exec', other, 'python3', '-c', 'print(1)')]), 'docker exec python3 -c');
const made = [];
row(
  'create_sandbox',
  await measure(
    [
      async () => made.push(structuredOf(await tools.create_sandbox({ memory_mb: 64 })).id),
      () => made.push(docker('run', '-d', '--network', 'none', image, 'sleep', '100000')),
    ],
    10,
  ),
  'docker run -d',
);
for (const id of made) await (id.startsWith('sb_') ? tools.delete_sandbox({ sandbox: id }) : docker('rm', '-f', id));
const began = performance.now();
const many = await Promise.all(Array.from({ length: AWAKE }, () => tools.create_sandbox({ memory_mb: 64 })));
const answers = await Promise.all(many.map((result) => tools.run_command({ sandbox: structuredOf(result).id, command: 'echo up' })));
const up = answers.filter((result) => structuredOf(result).stdout === 'up\n').length;
console.log(`${AWAKE} sandboxes created at once, ${up} answer, after ${((performance.now() - began) / 1000).toFixed(1)} s`);
docker('rm', '-f', other);
await session.close();
for (const fn of cleanups) await fn();
