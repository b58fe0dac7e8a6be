// docker_api.mjs - the daemon's API for tests, to look at what belljar made and to disturb it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const usual = (process.env.DOCKER_HOST ?? '').replace(/^unix:\/\//, '');

/** One call: the decoded answer, with its status as `status` if it is an object. */
export function docker(method, path, { body, type = 'application/json', headers = {}, socketPath = usual } = {}) {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const req = request({ socketPath, method, path: `/v1.41${path}`, headers: { ...(bytes ? { 'Content-Type': type, 'Content-Length': Buffer.byteLength(bytes) } : {}), ...headers } }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk));
      res.on('end', () => {
        let json;
        try {
          json = JSON.parse(text);
        } catch {
          json = text;
        }
        resolve({ status: res.statusCode, json });
      });
    });
    req.on('error', reject);
    req.end(bytes);
  });
}

export const inspect = async (id) => (await docker('GET', `/containers/belljar-${id}/json`)).json;

const labelled = (label) => encodeURIComponent(JSON.stringify({ label: [label] }));

/** The containers and volumes of one state directory. */
export async function made(stateDir) {
  const state = readFileSync(`${stateDir}/docker-id`, 'utf8');
  const containers = (await docker('GET', `/containers/json?all=1&filters=${labelled(`belljar.state=${state}`)}`)).json;
  const volumes = (await docker('GET', `/volumes?filters=${labelled(`belljar.state=${state}`)}`)).json.Volumes ?? [];
  return { containers: containers.map((c) => c.Names[0]), volumes: volumes.map((v) => v.Name) };
}

/** Generous: it only bounds how long a failing test takes. */
export async function until(condition, what, seconds = 240) {
  for (let i = 0; i < seconds * 10; i++) {
    if (await condition()) return;
    await sleep(100);
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

/** Kills the private daemon and starts it again. */
export async function restartDaemon() {
  const dir = process.env.E2E_DOCKER_DIR;
  const pid = Number(readFileSync(`${dir}/pid`, 'utf8'));
  process.kill(pid, 'SIGKILL');
  await until(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }, 'the daemon exits');
  spawn(`${dir}/start`, { detached: true, stdio: 'ignore' }).unref();
  await until(async () => (await docker('GET', '/version').catch(() => ({}))).status === 200, 'the daemon answers');
}
