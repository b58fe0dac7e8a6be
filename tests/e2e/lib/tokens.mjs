// tokens.mjs - the token file of `belljar serve --auth token`, and certificates for TLS.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BELLJAR, serverEnv } from './programs.mjs';

/** A directory that is removed after the test. */
export function scratch(t) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-http-'));
  chmodSync(dir, 0o755);
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The seconds from now as the file has them. */
export const after = (seconds) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z/, 'Z');

/** Writes a token file. users: { alice: { scopes, expires } }. Returns the path and the tokens. */
export function tokenFile(t, users) {
  const path = join(scratch(t), 'tokens');
  const tokens = {};
  let text = '# made by a test\n';
  let n = 0;
  for (const [user, { scopes = 'run,files', expires } = {}] of Object.entries(users)) {
    tokens[user] = `bj_${randomBytes(20).toString('hex')}`;
    const hash = createHash('sha256').update(tokens[user]).digest('hex');
    const end = expires === undefined ? 'never' : after(expires);
    const id = `tk_aaaaaaa${'abcdefghijklmnop'[n++]}`;
    text += `${id} ${hash} ${user.replace(/_\d+$/, '')} ${scopes} 2026-01-01T00:00:00Z ${end}\n`;
  }
  writeFileSync(path, text, { mode: 0o600 });
  return { path, tokens };
}

export const bearer = (token) => ({ authorization: `Bearer ${token}` });

/** Runs `belljar token ...` and returns its standard output. */
export const token = (path, ...args) =>
  execFileSync(BELLJAR, ['token', ...args, '--token-file', path], { encoding: 'utf8', env: serverEnv(), stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** Makes a certificate for localhost and replaces both files as certificate tools do. */
export function certificate(dir, name) {
  const part = (what) => join(dir, `${what}.pem`);
  execFileSync('openssl', [
    ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' '),
    ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
    ...['-keyout', `${part('key')}.new`, '-out', `${part('cert')}.new`],
  ], { stdio: 'pipe' });
  for (const what of ['cert', 'key']) renameSync(`${part(what)}.new`, part(what));
  return { cert: part('cert'), key: part('key') };
}

/** Polls until fn() gives a true value: for effects that another process has. */
export async function eventually(fn, what) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await fn();
    if (value) return value;
    assert.ok(Date.now() < deadline, `not in time: ${what ?? fn}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
