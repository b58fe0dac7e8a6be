// sandboxed.mjs - a server with a state directory of its own.
//
//   const tools = sandboxed();                       // one for all tests of a file
//   const result = await tools.run_code({ code: 'print(1)' });
//   textOf(result); structuredOf(result); refused(result, /why/);
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { BELLJAR } from './programs.mjs';
import { connectV1 } from './sdk.mjs';

/** A state directory that is removed after the test. */
export function stateDir(t) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-e2e-'));
  chmodSync(dir, 0o711);
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  return dir;
}

/** A session of the official client. `settings` are environment variables without BELLJAR_, `options` those of the
 * client. */
export async function open(t, settings = {}, options) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-e2e-'));
  chmodSync(dir, 0o711);
  const env = Object.fromEntries(Object.entries(settings).map(([k, v]) => [`BELLJAR_${k}`, String(v)]));
  try {
    const session = await connectV1(t, { program: BELLJAR, env: { BELLJAR_STATE_DIR: dir, ...env }, options });
    await session.client.listTools(); // from now on the client checks structured content
    return session;
  } finally {
    t.after(() => rmSync(dir, { recursive: true, force: true }));
  }
}

/** Tools as functions: (arguments, options of the client's call) => result. */
export function toolsOf(session) {
  return new Proxy(
    {},
    {
      get: (_, name) => async (args = {}, options) =>
        (await session()).call({ name, arguments: args }, options),
    },
  );
}

export function sandboxed(settings) {
  const cleanups = [];
  const t = { after: (fn) => cleanups.push(fn) };
  let session;
  after(async () => {
    const opened = await session?.catch(() => {});
    await opened?.close();
    for (const fn of cleanups) await fn();
  });
  return toolsOf(() => (session ??= open(t, settings)));
}

export const textOf = ({ content }) => content[0].text;

/** All text blocks, each from the beginning of a line. */
export const allTextOf = ({ content }) =>
  content.reduce(
    (all, { type, text }) => (type !== 'text' ? all : all + (/[^\n]$/.test(all) ? '\n' : '') + text),
    '',
  );

/** The structured content of a result that is not an error. */
export function structuredOf(result) {
  assert.ok(!result.isError, textOf(result));
  assert.ok(result.structuredContent, JSON.stringify(result).slice(0, 500));
  return result.structuredContent;
}

/** Shell commands that must succeed, by run_command: (command) => its text. */
export const shellOf = (run_command) => async (command) => {
  const result = await run_command({ command });
  assert.equal(structuredOf(result).exit_code, 0, textOf(result));
  return textOf(result);
};

/** Asserts that the tool failed with a matching message. */
export function refused(result, why) {
  assert.equal(result.isError, true, JSON.stringify(result).slice(0, 500));
  assert.match(textOf(result), why);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
