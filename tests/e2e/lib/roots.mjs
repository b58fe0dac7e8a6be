// roots.mjs - a client that declares roots.
//
//   const session = await openWithRoots(t, [dir], { ROOTS: 'no' });   // 'yes' unless it is said
//   await session.change([other]);                    // the server requests them again
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { pathToFileURL } from 'node:url';
import { BELLJAR, complaint, PATIENCE_MS, serverEnv } from './programs.mjs';
import { sleep, stateDir } from './sandboxed.mjs';

const toRoot = (root) => ({ uri: root.includes('://') ? root : pathToFileURL(root).href });

/** `asked` counts the requests of the server. */
export async function openWithRoots(t, roots, settings = {}) {
  const session = { roots, asked: 0, stderr: '' };
  t.after(() => session.close()); // before the state directory goes
  const env = Object.fromEntries(Object.entries({ ROOTS: 'yes', ...settings }).map(([k, v]) => [`BELLJAR_${k}`, String(v)]));
  const transport = new StdioClientTransport({
    command: BELLJAR,
    env: serverEnv({ BELLJAR_STATE_DIR: stateDir(t), ...env }),
    stderr: 'pipe',
  });
  const client = new Client(
    { name: 'belljar-e2e', version: '1.0.0' },
    { capabilities: { roots: { listChanged: true } } },
  );
  const wait = async (count) => {
    const deadline = Date.now() + PATIENCE_MS;
    while (session.asked < count) {
      assert.ok(Date.now() < deadline, 'the server does not ask for the roots');
      await sleep(5);
    }
  };

  client.setRequestHandler(ListRootsRequestSchema, async () => {
    session.asked++;
    return { roots: session.roots.map(toRoot) };
  });
  transport.stderr.on('data', (text) => (session.stderr += text));
  session.close = async () => {
    await client.close();
    assert.equal(complaint(session.stderr), null);
  };
  session.call = (params, options) => client.callTool(params, undefined, { timeout: PATIENCE_MS, ...options });
  session.change = async (to) => {
    const count = session.asked;
    session.roots = to;
    await client.sendRootsListChanged();
    await wait(count + 1);
  };
  await client.connect(transport);
  const choice = settings.ROOTS ?? 'yes';
  const isOn = choice === 'yes' || (choice === 'auto' && process.getuid() !== 0);
  if (isOn && settings.NO_ROOTS === undefined) await wait(1);
  return session;
}
