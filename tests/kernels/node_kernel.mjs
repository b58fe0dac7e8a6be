// node_kernel.mjs - the server's side of sandbox/interpreter/kernel_wire.h, for tests of the Node kernel. Node is
// started as the server starts it, with the loader and the text that belljar carries.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const folder = new URL('../../src/kernels/', import.meta.url);
export const read = (name) => fs.readFileSync(new URL(name, folder), 'utf8');
const unquote = (text) => JSON.parse(`"${text}"`);

// The text that the assembler makes of node_image.S.
export const text = [...read('node_image.S').matchAll(/\.(ascii|incbin) "(.*)"/g)]
  .map(([, what, of]) => (what === 'ascii' ? unquote(of) : fs.readFileSync(new URL(`../../${of}`, import.meta.url), 'utf8'))).join('');
const c = read('kernel_node.c');
export const loader = [...c.match(/loader\[\] =([^;]|;[^\n])*;\n/)[0].matchAll(/"(.*)"/g)].map((m) => unquote(m[1])).join('');
export const prefix = (language) => unquote(c.match(new RegExp(`session_prefix = "(.*'${language}'.*)"`))[1]);

function frame(type, body) {
  const header = Buffer.alloc(5);
  header[0] = type.charCodeAt(0);
  header.writeUInt32LE(body.length, 1);
  return Buffer.concat([header, body]);
}

function field(value) {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function fields(body) {
  const all = [];
  for (let at = 0; at < body.length;) {
    const length = body.readUInt32LE(at);
    all.push(body.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
  return all;
}

const BEGUN = 'the cell has begun'; // printed by a cell that is to be interrupted
const NAMES = { r: 'ready', v: 'shown', e: 'error', x: 'ended' };

export class Kernel {
  constructor(node, { session = true, language = 'javascript', env = {} } = {}) {
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'knode-'));
    this.workspace = path.join(this.directory, 'workspace');
    fs.mkdirSync(this.workspace);
    this.child = spawn(node, ['-e', loader], {
      cwd: this.workspace, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH, ...env },
    });
    this.stdout = '';
    this.stderr = '';
    this.frames = [];
    this.wakers = [];
    let rest = Buffer.alloc(0);
    this.child.stdout.setEncoding('utf8').on('data', (data) => { this.stdout += data; this.wake(); });
    this.child.stderr.setEncoding('utf8').on('data', (data) => { this.stderr += data; this.wake(); });
    this.channel = this.child.stdio[3];
    this.channel.on('error', () => {});
    this.channel.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32LE(1)) {
        const size = 5 + rest.readUInt32LE(1);
        this.frames.push([NAMES[String.fromCharCode(rest[0])], ...fields(rest.subarray(5, size))]);
        rest = rest.subarray(size);
      }
      this.wake();
    });
    this.exit = new Promise((resolve) => this.child.on('close', (code, signal) => {
      this.ended = { code, signal };
      this.wake();
      resolve(this.ended);
    }));
    this.channel.write(frame('B', Buffer.from((session ? prefix(language) : '') + text)));
  }

  wake() {
    this.wakers.splice(0).forEach((each) => each());
  }

  async until(test, what) {
    const end = Date.now() + 120000;
    for (;;) {
      const result = test();
      if (result)
        return result;
      if (Date.now() > end || this.ended)
        throw new Error(`no ${what}; ended ${JSON.stringify(this.ended)}; stderr: ${this.stderr}; frames ${JSON.stringify(this.frames)}`);
      await new Promise((resolve) => { this.wakers.push(resolve); setTimeout(resolve, 500); });
    }
  }

  async exited() {
    await this.until(() => this.ended, 'exit');
    return this.ended;
  }

  send_run(kind, name, code, { cwd = '', stdin, pixels = 0, bytes = 0, args = [], env = [] } = {}) {
    const parts = [kind, name, cwd, code, stdin === undefined ? 0 : 1, stdin ?? '', pixels, bytes,
      args.length, ...args, env.length, ...env];
    this.channel.write(frame('R', Buffer.concat(parts.map(field))));
  }

  mark(nonce) {
    this.channel.write(frame('M', Buffer.from(nonce)));
  }

  signal(name) {
    this.child.kill(name);
  }

  // Until ENDED: { shown, error, ended, out } of this cell.
  async cell(code, options = {}) {
    const from = this.frames.length;
    const out_from = this.stdout.length;
    if (options.is_interrupted)
      code = `console.log(${JSON.stringify(BEGUN)});\n${code}`;
    this.send_run('cell', options.name ?? 'cell-1', code, options);
    if (options.is_interrupted) {
      await this.until(() => this.stdout.includes(BEGUN, out_from), 'begin of the cell');
      // A signal while Node enters or leaves the cell can be lost: the cell is to compute or wait by now.
      await new Promise((resolve) => setTimeout(resolve, 200));
      this.signal('SIGINT');
    }
    return this.result(from, out_from);
  }

  async result(from, out_from) {
    const is_end = () => this.frames.slice(from).find(([type]) => type === 'ended');
    const ended = await this.until(is_end, 'ENDED');
    if (ended[3] === '0') {
      const nonce = `mark-${String(Math.random()).slice(2).padEnd(19, '0').slice(0, 19)}`;
      this.mark(nonce);
      await this.until(() => this.stdout.includes(nonce) && this.stderr.includes(nonce), 'mark');
      this.stdout = this.stdout.replace(nonce, '');
      this.stderr = this.stderr.replace(nonce, '');
    } else {
      await this.exited();
    }
    const said = this.frames.slice(from);
    const error = said.find(([type]) => type === 'error');
    return {
      shown: said.filter(([type]) => type === 'shown').map(([, mime, data, file]) => ({ mime, text: data, path: file })),
      error: error && { name: error[1], message: error[2], traceback: error[3] },
      ended: ended.slice(1).map(Number),
      out: this.stdout.slice(out_from),
    };
  }

  async fresh(code, options = {}) {
    await this.until(() => this.frames.length, 'READY');
    this.send_run('fresh', options.name ?? path.join(this.directory, 'run'), code, { cwd: this.workspace, ...options });
    const ended = await this.exited();
    const shown = this.frames.filter(([type]) => type === 'shown').map(([, , data]) => data);
    return { ...ended, shown, out: this.stdout, err: this.stderr };
  }

  async close() {
    this.channel.destroy();
    if (!this.ended)
      this.child.kill('SIGKILL');
    await this.exit;
    fs.rmSync(this.directory, { recursive: true, force: true });
  }
}
