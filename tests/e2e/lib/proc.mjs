// proc.mjs - readings of a running server from /proc.
import { readFileSync } from 'node:fs';

export const MIB = 1024 * 1024;

/** A size of /proc/PID/status in bytes, such as VmRSS (now) or VmHWM (peak). */
export function memory(pid, what) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${what}:\\s*(\\d+) kB`, 'm').exec(status)[1]) * 1024;
}

/** Ticks of processor time used so far. */
function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** The spawner of a server of the native engine. */
export const spawnerOf = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .trim()
    .split(' ')
    .map(Number)
    .find((child) => readFileSync(`/proc/${child}/comm`, 'latin1').startsWith('belljar-spawner'));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the server is idle: its processor time stays the same in several readings in a row. */
export async function quiet(pid) {
  let last = -1;
  for (let same = 0; same < 5; ) {
    await sleep(50);
    const now = ticks(pid);
    same = now === last ? same + 1 : 0;
    last = now;
  }
}
