// programs.mjs - which programs are tested. The environment names them; by default they are
// those that `make build/belljar build/fixture` leaves in the tree.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);
const built = (name) => fileURLToPath(new URL(`build/${name}`, root));

export const BELLJAR = process.env.BELLJAR ?? built('belljar');
export const FIXTURE = process.env.FIXTURE ?? built('fixture');
export const VERSION = /^VERSION\s*=\s*(\S+)/m.exec(
  readFileSync(new URL('Makefile', root), 'utf8'),
)[1];

/** The state directory that all servers of one test file share, removed after the tests. As root a
 * server runs under another uid, which must have access. */
let state;
function sharedStateDir() {
  if (state === undefined) {
    state = mkdtempSync(join(tmpdir(), 'belljar-e2e-'));
    chmodSync(state, 0o711);
    process.on('exit', () => rmSync(state, { recursive: true, force: true }));
  }
  return state;
}

/** The engine that the tests run on: tests/docker runs them on the docker engine, too. */
export const ENGINE = process.env.E2E_BELLJAR_ENGINE ?? 'native';

/** The options of a test that does not apply to an engine, or applies to one only. */
export const notOn = (engine, why) => ({ skip: ENGINE === engine ? `${engine}: ${why}` : false });

/** The environment of a server: that of the tests, without BELLJAR_ settings. A variable E2E_BELLJAR_X of
 * the tests is the setting BELLJAR_X of every server. */
export function serverEnv(extra) {
  const inherited = Object.entries(process.env)
    .filter(([name]) => !/^(BELLJAR|FIXTURE)_/.test(name))
    .map(([name, value]) => [name.replace(/^E2E_BELLJAR_/, 'BELLJAR_'), value]);
  return { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: '/nonexistent', BELLJAR_STATE_DIR: sharedStateDir(), ...extra };
}

/** Sanitizers multiply memory, so memory is not checked with them. */
export const isSanitized = (program) => readFileSync(program).includes('__asan_init');

/** Generous: it only bounds how long a failing test hangs. */
export const PATIENCE_MS = 300_000;

const SANITIZER = /ERROR: (Address|Leak)Sanitizer|runtime error:|AddressSanitizer:DEADLYSIGNAL/;

/** The report of a sanitizer, or null. */
export const complaint = (stderr) => (SANITIZER.test(stderr) ? stderr : null);
