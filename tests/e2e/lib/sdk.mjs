// sdk.mjs - one interface for both official clients, so that the same checks run on each.
//
// connectV1 and connectV2 start a server, connect to it and return a Session: `client` is the
// SDK's own object, `call` its callTool, `notes` collects notifications no handler took.
import assert from 'node:assert/strict';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { FIXTURE, PATIENCE_MS, complaint, serverEnv } from './programs.mjs';

export const INFO = { name: 'belljar-e2e', version: '1.0.0' };

export class Session {
  notes = [];
  errors = [];
  stderr = '';
  #waiting = [];

  constructor(client, transport, call) {
    this.client = client;
    this.transport = transport;
    this.call = call;
    // A client that reads the last progress together with the response has forgotten its token by then.
    const isLateProgress = (error) => /progress notification for an unknown token/.test(error.message);
    client.onerror = (error) => isLateProgress(error) || this.errors.push(error);
    client.fallbackNotificationHandler = async (note) => {
      this.notes.push(note);
      for (const wake of this.#waiting.splice(0)) wake();
    };
    // Over HTTP the server is not the client's child, and has no stderr here.
    this.stderrEnded = transport.stderr && new Promise((resolve) => transport.stderr.on('end', resolve));
    transport.stderr?.on('data', (text) => (this.stderr += text));
  }

  /** Waits for the first notification of this method and removes it. */
  async note(method) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const at = this.notes.findIndex((note) => note.method === method);
      if (at >= 0) return this.notes.splice(at, 1)[0];
      assert.ok(Date.now() < deadline, `no ${method}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, 1000);
        this.#waiting.push(() => (clearTimeout(timer), resolve()));
      });
    }
  }

  /** Disconnects, checks the exit status and returns the server's stderr. */
  async close() {
    await this.client.close();
    await this.stderrEnded;
    assert.equal(complaint(this.stderr), null);
    // The SDKs read a progress notification after the response that arrived together with it, and then
    // do not know its token. On a busy machine the two arrive together.
    const late = /^Received a progress notification for an unknown token/;
    assert.deepEqual(this.errors.filter(({ message }) => !late.test(message)), []);
    return this.stderr;
  }
}

async function open(t, session) {
  t.after(() => session.client.close());
  await session.client.connect(session.transport);
  return session;
}

const parameters = (program, env, args) => ({
  command: program,
  args,
  env: serverEnv(env),
  stderr: 'pipe',
});

export function connectV1(t, { program = FIXTURE, env, args, options } = {}) {
  const client = new ClientV1(INFO, options);
  const transport = new StdioV1(parameters(program, env, args));
  const call = (params, options) => client.callTool(params, undefined, { timeout: PATIENCE_MS, ...options });
  return open(t, new Session(client, transport, call));
}

/** mode: 'legacy', 'auto' or { pin: revision }; undefined: the client's default. */
export function connectV2(t, { program = FIXTURE, env, mode, options } = {}) {
  const client = new ClientV2(INFO, {
    ...options,
    ...(mode && { versionNegotiation: { mode } }),
  });
  const transport = new StdioV2(parameters(program, env));
  const call = (params, callOptions) => client.callTool(params, { timeout: PATIENCE_MS, ...callOptions });
  return open(t, new Session(client, transport, call));
}
