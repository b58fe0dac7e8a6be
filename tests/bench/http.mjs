// http.mjs - belljar's HTTP side beside a minimal server on the official SDK: empty tool calls over
// connections that are kept alive, and open event streams. The two servers alternate, so that load on the
// machine affects both. BENCH_HTTP_SECONDS, BENCH_HTTP_CONNECTIONS and BENCH_HTTP_STREAMS set how much.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SECONDS = Number(process.env.BENCH_HTTP_SECONDS ?? 5);
const CONNECTIONS = Number(process.env.BENCH_HTTP_CONNECTIONS ?? 32);
const STREAMS = Number(process.env.BENCH_HTTP_STREAMS ?? 5000);
const ROUNDS = 3;

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const loader = path('../../build/http_load');
const scratch = mkdtempSync(join(tmpdir(), 'belljar-http-bench-'));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** A server process, ready to answer at its port. */
class Subject {
  async start(command, port) {
    this.port = port;
    this.child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
    for (let tries = 0; ; tries++)
      try {
        await fetch(`http://127.0.0.1:${port}/`);
        return this;
      } catch (why) {
        if (tries === 200 || this.child.exitCode !== null) throw why;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
  }

  memory() {
    return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${this.child.pid}/status`, 'latin1'))[1]) * 1024;
  }

  async post(message, headers = {}) {
    return fetch(`http://127.0.0.1:${this.port}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  }

  /** Begins a session and returns the request of one empty tool call in it. */
  async handshake(version) {
    const answer = await this.post({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
    });
    await answer.text();
    const session = { 'mcp-session-id': answer.headers.get('mcp-session-id'), 'mcp-protocol-version': version };
    await this.post({ method: 'notifications/initialized' }, session);
    const body = '{"jsonrpc":"2.0","id":1@@@@@@,"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}';
    return this.request(body, session);
  }

  request(body, headers, target = 'POST /mcp') {
    const lines = [
      `${target} HTTP/1.1`, `Host: 127.0.0.1:${this.port}`, 'Accept: application/json, text/event-stream',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(body === null ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]), '', body ?? '',
    ];
    return lines.join('\r\n');
  }

  /** Resolves to what the load generator counted, and the server's memory shortly before the end. */
  async load(mode, request, connections, seconds) {
    const file = join(scratch, 'request');
    writeFileSync(file, request);
    const child = spawn(loader, [mode, `127.0.0.1:${this.port}`, file, String(connections), String(seconds)]);
    let text = '', memory = 0;
    const timer = setTimeout(() => (memory = this.memory()), seconds * 900);
    child.stdout.setEncoding('utf8').on('data', (part) => (text += part));
    child.stderr.pipe(process.stderr);
    await once(child, 'close');
    clearTimeout(timer);
    return { ...JSON.parse(text), memory };
  }

  async stop() {
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null) await once(this.child, 'close');
  }
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const mib = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function report(name, rounds, memory) {
  const rate = median(rounds.map((r) => r.responses / r.seconds));
  const errors = rounds.reduce((sum, r) => sum + r.errors, 0);
  console.log(`  ${name.padEnd(12)} ${rate.toFixed(0).padStart(7)} requests/s   p50 ${median(rounds.map((r) => r.p50_us))} us` +
    `   p99 ${median(rounds.map((r) => r.p99_us))} us   ${errors} errors   ${mib(memory)}`);
  return rate;
}

const ours = await new Subject().start(
  ...(await freePort().then((port) => [[path('../../build/conformance-fixture'), '--http', `127.0.0.1:${port}`], port])));
const theirs = await new Subject().start(
  ...(await freePort().then((port) => [[process.execPath, path('sdk-http-server.mjs'), String(port)], port])));
const requests = { ours: await ours.handshake('2025-06-18'), theirs: await theirs.handshake('2025-06-18') };
const rounds = { ours: [], theirs: [] };
for (let i = 0; i < ROUNDS; i++) {
  rounds.ours.push(await ours.load('calls', requests.ours, CONNECTIONS, SECONDS));
  rounds.theirs.push(await theirs.load('calls', requests.theirs, CONNECTIONS, SECONDS));
}
console.log(`empty tool calls over ${CONNECTIONS} kept connections, medians of ${ROUNDS} rounds of ${SECONDS} s`);
const rate = report('belljar', rounds.ours, ours.memory());
const theirRate = report('official SDK', rounds.theirs, theirs.memory());
console.log(`  ${rate >= 20 * theirRate ? 'met   ' : 'MISSED'}  at least 20 times the requests per second: ${(rate / theirRate).toFixed(1)} times`);

const before = ours.memory();
const streams = await ours.load('streams', ours.request(null, { 'MCP-Protocol-Version': '2025-06-18' }, 'GET /sse'), STREAMS, SECONDS);
console.log(`${STREAMS} event streams: ${streams.open} open after ${SECONDS} s, ${streams.errors} errors,` +
  ` ${((streams.memory - before) / STREAMS / 1024).toFixed(1)} KiB of the server for each`);
await ours.stop();
await theirs.stop();
rmSync(scratch, { recursive: true });
