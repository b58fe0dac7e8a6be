// client.mjs - sends one request after the other over a pipe. The same client measures both servers,
// and does as little work as possible itself.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

export class Client {
  #answered = () => {};
  #text = '';
  stderr = '';

  constructor([command, ...args]) {
    this.child = spawn(command, args, { stdio: 'pipe' });
    this.exited = once(this.child, 'close');
    this.child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      this.#text += text;
      if (!text.endsWith('\n')) return;
      this.#answered(this.#text);
      this.#text = '';
    });
  }

  /** Sends a line and resolves to the line that answers it. */
  ask(line) {
    const answer = new Promise((resolve) => (this.#answered = resolve));
    this.child.stdin.write(line);
    return answer;
  }

  /** Bytes of resident memory, and of the proportional share (0 if the kernel does not report it). */
  memory() {
    const of = (file, key) => {
      const text = readFileSync(`/proc/${this.child.pid}/${file}`, 'latin1');
      return Number(new RegExp(`^${key}:\\s*(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
    };
    let pss = 0;
    try {
      pss = of('smaps_rollup', 'Pss');
    } catch {
      // an older kernel, or no permission
    }
    return { rss: of('status', 'VmRSS'), pss };
  }

  async close() {
    this.child.stdin.end();
    const [code] = await this.exited;
    if (code !== 0) throw new Error(`${this.child.spawnfile} ended with ${code}: ${this.stderr}`);
  }
}

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })}\n`;

export const INITIALIZE = line({
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
});
export const DISCOVER = line({
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});
export const call = (name, args = {}) => line({ method: 'tools/call', params: { name, arguments: args } });
