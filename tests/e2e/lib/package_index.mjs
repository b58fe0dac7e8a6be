// package_index.mjs - an index of small Python packages on loopback (package_index.py), and the npm registry
// of this machine.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from './sandboxed.mjs';

/** Starts the index, which writes its port to a file in `dir`; `url` is for --pip-index. */
export async function startIndex(dir) {
  const portFile = join(dir, 'port');
  const program = fileURLToPath(new URL('package_index.py', import.meta.url));
  const child = spawn('python3', [program, portFile], { stdio: 'inherit' });
  while (!existsSync(portFile)) await sleep(20);
  return { url: `http://127.0.0.1:${readFileSync(portFile)}/simple`, stop: () => child.kill() };
}

/** The address of the npm registry that this machine uses; undefined: npm is missing, or the registry does not answer. */
export function npmRegistry() {
  try {
    execFileSync('npm', ['view', 'is-number', 'version'], { stdio: 'ignore', timeout: 60000 });
    return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
