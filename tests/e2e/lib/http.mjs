// http.mjs - a server over HTTP, requests to it with any headers, and the official clients.
//
//   const server = await startHttp(t, FIXTURE);
//   const answer = await server.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': id });
//   const session = await connectHttp(t, server, { version: 2, mode: 'auto' });
//   await server.close();          // SIGTERM: exit 0, no sanitizer report
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as StreamableV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as StreamableV2,
} from '@modelcontextprotocol/client';
import { MODERN, envelope } from './modern.mjs';
import { PATIENCE_MS, complaint, serverEnv } from './programs.mjs';
import { INFO, Session } from './sdk.mjs';

const BOTH = 'application/json, text/event-stream';

/** One response, whose body may still be coming: an event stream is read event by event. */
class Answer {
  events = [];
  text = '';
  ended = false;
  #wake = () => {};

  constructor(request, response) {
    this.request = request;
    this.status = response.statusCode;
    this.headers = response.headers;
    response.setEncoding('utf8').on('data', (part) => this.#feed(part));
    const end = () => {
      this.ended = true;
      this.#wake();
    };
    response.on('end', end).on('close', end).on('error', end);
  }

  #feed(part) {
    this.text += part;
    if (/^text\/event-stream/.test(this.headers['content-type'])) {
      const blocks = this.text.split('\n\n');
      this.text = blocks.pop();
      for (const block of blocks) if (!block.startsWith(':')) this.events.push(parseEvent(block));
    }
    this.#wake();
  }

  /** Waits until fits(this) is true. */
  async until(fits, what = String(fits)) {
    const deadline = Date.now() + PATIENCE_MS;
    while (!fits(this)) {
      assert.ok(Date.now() < deadline && !(this.ended && !fits(this)), `no sign of ${what}: ${this.text} ${JSON.stringify(this.events)}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, 1000);
        this.#wake = () => (clearTimeout(timer), resolve());
      });
    }
    return this;
  }

  /** Takes the first event that fits. */
  async event(fits = () => true) {
    await this.until((a) => a.events.some(fits), `event ${fits}`);
    return this.events.splice(this.events.findIndex(fits), 1)[0];
  }

  end() {
    return this.until((a) => a.ended, 'the end');
  }

  get json() {
    return JSON.parse(this.text);
  }

  /** Closes the connection. */
  cut() {
    this.request.destroy();
  }
}

function parseEvent(block) {
  const event = { data: undefined };
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line);
    event[name] = value;
  }
  if (event.data && event.event !== 'endpoint') event.message = JSON.parse(event.data);
  return event;
}

class HttpServer {
  stderr = '';

  constructor(program, { env = {}, args = ['--http', '127.0.0.1:0'] } = {}) {
    this.child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: serverEnv(env) });
    this.exited = once(this.child, 'close');
    this.exited.catch(() => {});
    this.child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 100 });
  }

  async listening() {
    const [line] = await Promise.race([
      once(createInterface(this.child.stdout), 'line'),
      this.exited.then(() => assert.fail(`the server ended: ${this.stderr}`)),
    ]);
    // The fixture prints 127.0.0.1:PORT, belljar http://127.0.0.1:PORT/mcp.
    this.port = Number(/:(\d+)(\/\S*)?$/.exec(line)?.[1]);
    this.url = `http://127.0.0.1:${this.port}`;
    this.line = line;
    return this;
  }

  get pid() {
    return this.child.pid;
  }

  /** Sends a request and returns its Answer as soon as the head of the response is there. */
  async request(method, path, headers = {}, body) {
    const request = http.request(`${this.url}${path}`, { method, headers, agent: this.agent });
    request.on('error', () => {});
    request.end(body);
    const [response] = await once(request, 'response');
    const answer = new Answer(request, response);
    const isStream = /^text\/event-stream/.test(answer.headers['content-type']);
    return isStream ? answer : answer.end();
  }

  post(message, headers = {}, path = '/mcp') {
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    return this.request('POST', path, { 'content-type': 'application/json', accept: BOTH, ...headers }, body);
  }

  get(headers = {}, path = '/mcp') {
    return this.request('GET', path, { accept: 'text/event-stream', ...headers });
  }

  delete(headers = {}) {
    return this.request('DELETE', '/mcp', headers);
  }

  /** Starts a session and returns the headers that its requests need. */
  async initialize(protocolVersion, headers = {}) {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const answer = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.result.protocolVersion, protocolVersion);
    return { ...headers, 'mcp-session-id': answer.headers['mcp-session-id'], 'mcp-protocol-version': protocolVersion };
  }

  /** The same, and tells the server that the client is ready. */
  async handshake(protocolVersion, headers = {}) {
    const own = await this.initialize(protocolVersion, headers);
    const accepted = await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, own);
    assert.equal(accepted.status, 202);
    assert.equal(accepted.text, '');
    return own;
  }

  /** tools/call in a session. */
  call(session, name, args = {}, id = 1, meta) {
    const params = { name, arguments: args, ...(meta && { _meta: meta }) };
    return this.post({ jsonrpc: '2.0', id, method: 'tools/call', params }, session);
  }

  /** A stateless request with the headers that it needs. */
  alone(method, params = {}, headers = {}, meta = {}) {
    const name = params.name ?? params.uri;
    return this.post(
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope(meta) } },
      { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(name && { 'mcp-name': name }), ...headers },
    );
  }

  async close(signal = 'SIGTERM') {
    this.agent.destroy();
    this.child.kill(signal);
    return this.ended();
  }

  async ended() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`did not end; ${this.stderr.slice(-2000)}`)), PATIENCE_MS);
    });
    const [code, signal] = await Promise.race([this.exited, late]).finally(() => clearTimeout(timer));
    assert.equal(complaint(this.stderr), null);
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, this.stderr);
    return this.stderr;
  }

  kill() {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
  }
}

/** Starts a server for one test, which is killed at the end of the test. */
export function startHttp(t, program, options) {
  const server = new HttpServer(program, options);
  t.after(() => server.kill());
  return server.listening();
}

const TRANSPORTS = {
  1: { Client: ClientV1, streamable: StreamableV1, sse: SseV1 },
  2: { Client: ClientV2, streamable: StreamableV2, sse: SseV2 },
};

/** version: 1 or 2, of the official client. kind: 'streamable' or 'sse'. mode: as of connectV2. */
export async function connectHttp(t, server, { version = 2, kind = 'streamable', mode, options, headers, path } = {}) {
  const { Client, [kind]: Transport } = TRANSPORTS[version];
  const client = new Client(INFO, { ...options, ...(mode && { versionNegotiation: { mode } }) });
  const url = new URL(path ?? (kind === 'sse' ? '/sse' : '/mcp'), server.url);
  const transport = new Transport(url, { requestInit: { headers }, eventSourceInit: undefined });
  const call = (params, more) => {
    const callOptions = { timeout: PATIENCE_MS, ...more };
    return version === 1 ? client.callTool(params, undefined, callOptions) : client.callTool(params, callOptions);
  };
  transport.pid = server.pid;
  const session = new Session(client, transport, call);
  t.after(() => client.close());
  await client.connect(transport);
  return session;
}
