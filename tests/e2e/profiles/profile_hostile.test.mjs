// What servers of this kind get wrong, tried on every profile: contents, paths, programs and output
// without end, clients that vanish, many sandboxes and many clients at once. The engine is that of
// BELLJAR_ENGINE. doc/profiles.md names these tests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connectHttp, startHttp } from '../lib/http.mjs';
import { AWKWARD, idsOnDisk, jsonOf, profile, textsOf } from '../lib/profile.mjs';
import { places } from '../lib/profile_places.mjs';
import { BELLJAR } from '../lib/programs.mjs';
import { sleep, stateDir, toolsOf } from '../lib/sandboxed.mjs';

const names = Object.keys(places);
const withFiles = ['code-executor', 'code-sandbox', 'execution-client'];
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const MIB5 = 5 * 1024 * 1024;

const partsOf = (session) => {
  const tools = toolsOf(async () => session);
  return { tools, json: jsonOf(tools), text: textsOf(tools) };
};
const start = (t, args = [], env = {}) =>
  startHttp(t, BELLJAR, { args: ['serve', '--http', '127.0.0.1:0', ...args], env: { BELLJAR_STATE_DIR: stateDir(t), ...env } });
const connect = async (t, server, name, kind = 'streamable') =>
  partsOf(await connectHttp(t, server, { version: 1, kind, path: `/p/${name}/${kind === 'sse' ? 'sse' : 'mcp'}` }));

for (const name of names)
  describe(name, () => {
    const { tools } = profile(name, { RUN_TIMEOUT: 10 });
    const parts = { tools, json: jsonOf(tools), text: textsOf(tools) };
    const place = (options) => places[name](parts, options);

    test(`${name}: quotes, line ends, $(), NUL and 5 MiB arrive as they were sent`, async () => {
      const { run, write } = await place();
      const texts = [AWKWARD, '', '\n', `'"$(id)\`id\`\\\n\u0000`.repeat(MIB5 / 16), 'x'.repeat(MIB5)];
      if (write !== undefined)
        for (const text of texts) {
          await write(`a 'b' "c" $(d)/e *.txt`, text);
          assert.match(await run(`sha256sum -- "a 'b' \\"c\\" \\$(d)/e *.txt"`), new RegExp(`^\\\\?${sha256(text)} `), `${text.length} characters`);
        }
      // A program text has the same bytes, apart from NUL, which no shell and no Python accepts.
      const code = AWKWARD.replaceAll('\u0000', '').replaceAll('\r', '');
      assert.match(await run(`sha256sum <<'END OF IT'\n${code}\nEND OF IT\n`), new RegExp(`^${sha256(`${code}\n`)} `));
    });

    test(`${name}: a program text of 5 MiB runs`, { skip: !['code-executor', 'sandbox-interpreter', 'python-executor'].includes(name) }, async () => {
      const code = `x = '''${'0123456789abcde\n'.repeat(MIB5 / 16)}'''\nprint(len(x))\n`;
      const output = {
        'code-executor': async () => (await parts.json.execute_code({ executor_id: (await place()).id, code })).output,
        'sandbox-interpreter': async () => (await place(), parts.text.execute_code({ code })),
        'python-executor': async () => (await parts.json.execute_python({ code })).stdout,
      };
      assert.equal(await output[name](), `${MIB5}\n`);
    });

    test(`${name}: paths with .., absolute ones and links stay in the sandbox`, { skip: !withFiles.includes(name) }, async () => {
      const { run, write } = await place();
      for (const path of name === 'execution-client' ? ['/../x', '/workspace/../../x'] : ['../x', 'a/../../x', '/../x', '../../../../etc/passwd'])
        await assert.rejects(write(path, 'x'), /leads out of/, path);
      await write('sp ace/b', 'spaces');
      await write('sp ace/../c', 'inside');
      assert.equal(await run('cat "sp ace/b" c'), 'spacesinside');
      const secret = join('/tmp', `belljar-secret-${process.pid}-${name}`);
      await run(`ln -s / root; ln -s ../../../../../../../../tmp up; ln -s ${secret} file`);
      // Links are resolved in the sandbox: its own /tmp gets the files, and that of this machine does not.
      await write('file', 'by a link');
      await write(`root${secret}2`, 'by another');
      assert.equal(await run(`cat ${secret} ${secret}2`), 'by a linkby another');
      assert.deepEqual(readdirSync('/tmp').filter((file) => join('/tmp', file).startsWith(secret)), []);
      await assert.rejects(write('/etc/passwd', 'x'), /etc\/passwd/);
      await assert.rejects(write('root/etc/passwd', 'x'), /etc\/passwd/);
    });

    test(`${name}: a program that never ends is ended with all its children`, async () => {
      const { run } = await place({ timeout: 2 });
      const mark = `9${process.pid}.${names.indexOf(name)}1`;
      assert.match(await run(`sleep ${mark} & setsid sleep ${mark} & sleep ${mark}`), /timed out|ended after/);
      assert.deepEqual(sleepers(mark), []);
      assert.match(await run('echo still here'), /still here/);
    });

    test(`${name}: output that never ends is cut`, async () => {
      const { run } = await place();
      const output = await run('timeout 2 yes belljar || true');
      assert.match(output, /bytes left out/);
      assert.ok(output.length < 2 * 1024 * 1024);
      assert.match(await run('echo still here'), /still here/);
    });

    test(`${name}: two clients of one server at once`, async (t) => {
      const server = await start(t);
      const clients = await Promise.all(['streamable', 'sse'].map((kind) => connect(t, server, name, kind)));
      // Clients of one caller share the sandbox of the caller, where a profile has only one.
      const first = await places[name](clients[0]);
      const second = name === 'sandbox-interpreter' ? { run: (code) => clients[1].text.execute_code({ code, language: 'bash' }) } : await places[name](clients[1]);
      await Promise.all(
        [first, second].map(async ({ run }, i) => {
          for (let n = 0; n < 5; n++) assert.equal(await run(`echo ${i}-${n}`), `${i}-${n}\n`);
        }),
      );
      await server.close();
    });

    test(`${name}: of a client that vanishes, nothing runs after the idle time-out`, async (t) => {
      const mark = `9${process.pid}.${names.indexOf(name)}2`;
      const state = stateDir(t);
      const server = await start(t, ['--idle', '1', '--run-timeout', '2'], { BELLJAR_STATE_DIR: state });
      const tools = await connect(t, server, name);
      const { id, run } = await places[name](tools, { timeout: 2, use_persistent: false });
      run(`sleep ${mark}; sleep ${mark}`).catch(() => {});
      while (sleepers(mark).length === 0) await sleep(50);
      const session = await connectHttp(t, server, { version: 1, path: '/p/default/mcp' });
      const own = async () =>
        (await session.call({ name: 'list_sandboxes', arguments: {} })).structuredContent.sandboxes.map((each) => [each.id, each.state]);
      assert.equal((await own()).length, 1);
      server.agent.destroy();
      // Executors and other temporary sandboxes are deleted, those that stay go to sleep.
      const isOver = (all) => (id === undefined ? all.every(([, state]) => state === 'asleep') : all.length === 0);
      while (!isOver(await own())) await sleep(200);
      assert.deepEqual(sleepers(mark), []);
      if (id !== undefined) assert.deepEqual(await idsOnDisk(state), []);
      await server.close();
    });
  });

for (const name of ['code-executor', 'code-sandbox', 'execution-client'])
  test(`${name}: 20 sandboxes at once`, async (t) => {
    const server = await start(t);
    const tools = await connect(t, server, name);
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const { run, write } = await places[name](tools, { user_id: `user${i}` });
        await write('mine', `${i}\n`);
        assert.equal(await run('ls; cat mine'), `mine\n${i}\n`);
      }),
    );
    await server.close();
  });

/** The ids of processes whose command is `sleep MARK`, also of those in sandboxes. */
function sleepers(mark) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${mark}\0`;
    } catch {
      return false; // it has exited meanwhile
    }
  });
}
