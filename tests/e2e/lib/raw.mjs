// raw.mjs - a client that sends and receives lines of JSON and does not know MCP.
//
//   const server = start(t, FIXTURE);
//   const answer = await server.request('ping');
//   await server.close();          // exit 0, nothing unread, no sanitizer report
//
// Other messages wait in the inbox: take them with next() or until(). A message that is left there when
// the server is closed fails the test.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PATIENCE_MS, complaint, serverEnv } from './programs.mjs';

class Raw {
  inbox = [];
  lines = [];
  stderr = '';
  #rest = [];
  #waiting = new Set();
  #stdoutEnded = false;
  #lastId = 0;

  constructor(program, { env = {}, args = [], stdin = 'pipe', stdout = 'pipe', reading = true } = {}) {
    this.child = spawn(program, args, {
      stdio: [stdin, stdout, 'pipe'],
      env: serverEnv(env),
    });
    this.exited = once(this.child, 'close');
    this.exited.catch(() => {});
    this.child.stdin?.on('error', () => {}); // the server may leave first
    this.child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
    if (reading) this.read();
  }

  /** Starts reading; with start({ reading: false }) the test calls it. */
  read() {
    this.child.stdout?.on('data', (bytes) => this.#feed(bytes));
    this.child.stdout?.on('end', () => {
      this.#stdoutEnded = true;
      this.#wakeAll();
    });
  }

  get pid() {
    return this.child.pid;
  }

  #feed(bytes) {
    let start = 0;
    for (let end; (end = bytes.indexOf(10, start)) >= 0; start = end + 1) {
      this.#rest.push(bytes.subarray(start, end));
      this.#line(Buffer.concat(this.#rest).toString());
      this.#rest = [];
    }
    if (start < bytes.length) this.#rest.push(bytes.subarray(start));
    this.#wakeAll();
  }

  #line(text) {
    this.lines.push(text);
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      message = { notJson: text };
    }
    this.inbox.push(message);
  }

  /** An object or array as one line; a string as a line; bytes as they are. */
  send(what) {
    const isRaw = Buffer.isBuffer(what);
    const text = isRaw || typeof what === 'string' ? what : JSON.stringify(what);
    this.child.stdin.write(isRaw ? text : `${text}\n`);
    return this;
  }

  notify(method, params) {
    return this.send({ jsonrpc: '2.0', method, params });
  }

  /** Sends a request without waiting; returns its id. */
  ask(method, params, id = ++this.#lastId) {
    this.send({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  async request(method, params, id) {
    return this.answer(this.ask(method, params, id));
  }

  answer(id) {
    return this.until((m) => m.method === undefined && m.id === id, `the answer to ${id}`);
  }

  next() {
    return this.until(() => true, 'a message');
  }

  notification(method) {
    return this.until((m) => m.method === method, method);
  }

  /** Takes the first message that fits out of the inbox, and waits for it if need be. */
  async until(fits, what = String(fits)) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const at = this.inbox.findIndex(fits);
      if (at >= 0) return this.inbox.splice(at, 1)[0];
      if (this.#stdoutEnded) this.#miss(`the server ended before ${what}`);
      if (Date.now() >= deadline) this.#miss(`no sign of ${what}`);
      await this.#arrival(deadline);
    }
  }

  #miss(what) {
    const unread = JSON.stringify(this.inbox).slice(0, 2000);
    assert.fail(`${what}; unread ${unread}; stderr ${this.stderr.slice(-2000)}`);
  }

  #arrival(deadline) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(deadline - Date.now(), 1));
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wakeAll() {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Waits for a round trip, after which all earlier messages of the server have arrived. */
  async settle(params) {
    const id = `settle-${++this.#lastId}`;
    return this.request('tools/list', params, id);
  }

  initialize(protocolVersion, params = {}) {
    return this.request('initialize', {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
      ...params,
    });
  }

  async handshake(protocolVersion) {
    const answer = await this.initialize(protocolVersion);
    assert.equal(answer.result.protocolVersion, protocolVersion);
    this.notify('notifications/initialized');
    return answer.result;
  }

  call(name, args, meta) {
    return this.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) });
  }

  /** Closes the input, or sends `signal`, and checks the exit status. */
  async close({ signal, rest = [] } = {}) {
    if (signal) this.child.kill(signal);
    else this.child.stdin?.end();
    await this.ended();
    assert.deepEqual(this.inbox, rest, 'nothing is left unread');
    return this.stderr;
  }

  async ended() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`did not end; ${this.stderr.slice(-2000)}`)), PATIENCE_MS);
    });
    const [code, signal] = await Promise.race([this.exited, late]).finally(() =>
      clearTimeout(timer),
    );
    assert.equal(complaint(this.stderr), null);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, this.stderr);
    assert.equal(Buffer.concat(this.#rest).toString(), '', 'the last line is whole');
    for (const m of this.inbox) assert.ok(!('notJson' in m), `not JSON: ${m.notJson}`);
  }

  kill() {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
  }
}

/** Starts a server for one test, which is killed at the end of the test. */
export function start(t, program, options) {
  const raw = new Raw(program, options);
  t.after(() => raw.kill());
  return raw;
}

/** Asserts that the response is an error with this code and a matching message. */
export function assertError(answer, code, pattern, id) {
  assert.equal(answer.error?.code, code, JSON.stringify(answer).slice(0, 500));
  if (pattern) assert.match(answer.error.message, pattern);
  if (id !== undefined) assert.deepEqual(answer.id, id);
  assert.equal(answer.result, undefined);
  assert.equal(answer.jsonrpc, '2.0');
}

export const textOf = (answer) => answer.result.content[0].text;
