// host.mjs - files of the host, for tests of copies, and the verbs of the command line.
//
//   const host = hostDirs('copy', ['allowed', 'other']);  // removed after the tests of the file
//   host.put({ 'a/b.txt': 'text' });                      // below the first directory
//   const verb = verbsOf({ state: join(host.top, 'state') });
//   verb('exec', ['true']).status;
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { BELLJAR, complaint, PATIENCE_MS, serverEnv } from './programs.mjs';

/** Makes a directory with these directories in it. Functions without `under` use the first of them. */
export function hostDirs(name, names) {
  const top = mkdtempSync(join(tmpdir(), `belljar-${name}-`));
  const dirs = names.map((each) => join(top, each));
  chmodSync(top, 0o755);
  for (const dir of dirs) mkdirSync(dir);
  after(() => rmSync(top, { recursive: true, force: true }));
  return {
    top,
    dirs,
    /** Writes files, creating the directories on the way. */
    put(files, under = dirs[0]) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(under, file)), { recursive: true });
        writeFileSync(join(under, file), text);
      }
    },
    get: (file) => readFileSync(join(dirs[0], file), 'utf8'),
  };
}

/** Verbs as one function: (name, arguments, input) => the result of spawnSync(). */
export function verbsOf({ state, env, ...options }) {
  return (name, args = [], input = '') => {
    const result = spawnSync(BELLJAR, [name, '--state-dir', state, ...args], {
      env: serverEnv({ ASAN_OPTIONS: 'detect_leaks=0', ...env }), input, encoding: 'utf8', timeout: PATIENCE_MS, maxBuffer: 2 ** 26, ...options,
    });
    assert.equal(complaint(result.stderr), null);
    return result;
  };
}
