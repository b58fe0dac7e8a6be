// fake_daemon.mjs - a Docker daemon without containers, whose answers a test can spoil.
//
// It answers what the broker asks, and "runs" a container by starting the agent on this machine behind the
// multiplexed stream. `spoil(method, path)` may return an answer to give instead: { status, body },
// 'truncated', 'oversized', 'hangs', 'closes', or for an attach 'cut', 'foreign' and 'refused'.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const AGENT = new URL('../../build/agent/belljar-agent', import.meta.url).pathname;

export function fakeDaemon(t, { arch = 'amd64', info = {} } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'belljar-fake-'));
  const daemon = { calls: [], headers: [], spoil: () => undefined, images: new Set(['img:1']), volumes: new Map(), containers: new Map(), agents: new Set(), pull: [], host: `unix://${dir}/s` };
  let last = 0;
  const sockets = new Set();

  const routes = [
    ['GET', /^\/version$/, () => ({ ApiVersion: '1.41', MinAPIVersion: '1.12', Version: 'fake', Arch: arch })],
    ['GET', /^\/info$/, () => ({ MemoryLimit: true, SwapLimit: true, CpuCfsQuota: true, PidsLimit: true, CgroupVersion: '2', Driver: 'fake', IndexServerAddress: 'usual', Runtimes: { runc: {} }, ...info })],
    ['GET', /^\/containers\/json/, () => [...daemon.containers.values()].map((c) => ({ Id: c.Id, Labels: c.Config.Labels }))],
    ['GET', /^\/images\/json/, () => []],
    ['GET', /^\/images\/(.+)\/json$/, (m) => (daemon.images.has(m[1]) || m[1].startsWith('belljar-prepared') ? { Id: 'sha256:0123456789abcdef', Os: 'linux', Architecture: arch, Config: { Env: ['PATH=/usr/bin:/bin'] } } : 404)],
    ['POST', /^\/images\/create\?fromImage=([^&]+)/, (m) => (daemon.pull.some((line) => line.includes('"error"')) || daemon.images.add(decodeURIComponent(m[1])), daemon.pull)],
    ['POST', /^\/volumes\/create/, (m, body) => (body.DriverOpts?.size !== undefined ? 500 : (daemon.volumes.set(body.Name, body.Labels), { Name: body.Name, Labels: body.Labels }))],
    ['GET', /^\/volumes\/(.+)$/, (m) => (daemon.volumes.has(m[1]) ? { Name: m[1] } : 404)],
    ['DELETE', /^\/volumes\/(.+)$/, (m) => (daemon.volumes.delete(m[1]) ? 204 : 404)],
    ['GET', /^\/volumes/, () => ({ Volumes: [...daemon.volumes].map(([Name, Labels]) => ({ Name, Labels })) })],
    ['POST', /^\/containers\/create\?name=(.+)$/, (m, body) => {
      const Id = `c${++last}`;
      daemon.containers.set(Id, { Id, Name: m[1], Config: body, State: { Running: false, Pid: 0, ExitCode: 0 } });
      return { Id };
    }],
    ['POST', /^\/containers\/(\w+)\/start$/, (m) => (daemon.containers.get(m[1])?.run?.(), 204)],
    ['POST', /^\/containers\/(\w+)\/update$/, () => ({ Warnings: [] })],
    ['GET', /^\/containers\/(.+)\/json$/, (m) => [...daemon.containers.values()].find((c) => c.Id === m[1] || c.Name === m[1]) ?? 404],
    ['DELETE', /^\/containers\/(\w+)\?/, (m) => {
      const container = daemon.containers.get(m[1]);
      container?.agent?.kill('SIGKILL');
      container?.socket?.destroy();
      return daemon.containers.delete(m[1]) ? 204 : 404;
    }],
  ];

  function answer(res, result) {
    if (typeof result === 'number') return res.writeHead(result).end(result >= 400 ? JSON.stringify({ message: `fake says ${result}` }) : '');
    if (Array.isArray(result) && result.every((line) => typeof line === 'string')) return res.writeHead(200).end(result.join('\r\n'));
    return res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(result));
  }

  function spoiled(res, how) {
    if (how === 'truncated') return res.writeHead(200, { 'Content-Length': 100 }).end('{"Id":"abc');
    if (how === 'half') return res.writeHead(200).end('{"Id":"abc');
    if (how === 'oversized') return res.writeHead(200).end(`{"Id":"${'x'.repeat(6 * 2 ** 20)}"}`);
    if (how === 'closes') return res.socket.destroy();
    if (how === 'hangs') return undefined;
    return res.writeHead(how.status).end(how.body ?? '');
  }

  const server = createServer((req, res) => {
    const path = req.url.replace(/^\/v1\.\d+/, '');
    let text = '';
    req.on('data', (chunk) => (text += chunk.toString('latin1')));
    req.on('end', () => {
      daemon.calls.push(`${req.method} ${path}`);
      daemon.headers.push(req.headers);
      const how = daemon.spoil(req.method, path);
      if (how !== undefined) return spoiled(res, how);
      for (const [method, pattern, route] of routes) {
        const match = req.method === method && pattern.exec(path);
        if (match) return answer(res, route(match, req.headers['content-type'] === 'application/json' ? JSON.parse(text) : undefined));
      }
      return answer(res, 404);
    });
  });

  const frame = (kind, bytes) => {
    const head = Buffer.alloc(8);
    head[0] = kind;
    head.writeUInt32BE(bytes.length, 4);
    return Buffer.concat([head, bytes]);
  };

  server.on('upgrade', (req, socket) => {
    const path = req.url.replace(/^\/v1\.\d+/, '');
    const container = daemon.containers.get(/containers\/(\w+)\//.exec(path)[1]);
    const how = daemon.spoil('ATTACH', path);
    socket.on('error', () => {});
    if (container === undefined) return socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    if (how === 'refused') return socket.end('HTTP/1.1 409 Conflict\r\nContent-Length: 7\r\n\r\nrefused');
    if (how === 'hangs') return undefined;
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    container.socket = socket;
    container.run = () => {
      const agent = spawn(AGENT, ['stdio'], { stdio: 'pipe', cwd: '/' });
      container.agent = agent;
      daemon.agents.add(agent);
      container.State.Running = true;
      agent.on('exit', (code) => {
        daemon.agents.delete(agent);
        container.State = { Running: false, Pid: 0, ExitCode: code ?? 137 };
        socket.end();
      });
      agent.stdin.on('error', () => {});
      let frames = 0;
      agent.stdout.on('data', (bytes) => {
        if (how === 'foreign' && ++frames > 1) return socket.write('HTTP/1.1 200 OK\r\n');
        if (how === 'cut' && ++frames > 1) return socket.end(frame(1, bytes).subarray(0, 9));
        return socket.write(frame(1, bytes));
      });
      agent.stderr.on('data', (bytes) => socket.write(frame(2, bytes)));
      socket.on('data', (bytes) => agent.stdin.write(bytes));
      socket.on('close', () => agent.kill('SIGKILL'));
    };
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  /** Ends all connections, as a daemon does that is killed. */
  daemon.kill = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    daemon.kill();
    for (const agent of daemon.agents) agent.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  });
  return new Promise((resolve) => server.listen(`${dir}/s`, () => resolve(daemon)));
}
