// Which directories of the host may be copied from and to: those of --allow-path, and the client's roots.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BELLJAR, complaint, PATIENCE_MS, serverEnv } from '../lib/programs.mjs';
import { openWithRoots } from '../lib/roots.mjs';
import { open, refused, stateDir, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';
import { connectV2 } from '../lib/sdk.mjs';

const isRoot = process.getuid() === 0;
const top = mkdtempSync(join(tmpdir(), 'belljar-roots-'));
chmodSync(top, 0o755);
after(() => rmSync(top, { recursive: true, force: true }));

function put(dir, text) {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'f'), text);
}

test('without allowed directories the error says how to allow one', async (t) => {
  const own = await open(t);
  t.after(() => own.close());
  const mine = toolsOf(async () => own);
  const how = isRoot
    ? /^source: no directory of the host is allowed: start belljar with --allow-path DIR, or with --roots yes to use the client's roots, which are off because belljar runs as root$/
    : /^source: no directory of the host is allowed: start belljar with --allow-path DIR, or use a client that declares roots in the handshake$/;
  refused(await mine.copy_in({ source: '/etc/passwd' }), how);
  refused(await mine.copy_in({ source: 'a' }), how);
  refused(await mine.copy_out({ path: 'a', target: 'b' }), /^target: no directory of the host is allowed: start belljar with --allow-path DIR/);
  assert.equal(structuredOf(await mine.list_sandboxes()).sandboxes.length, 0, 'no sandbox is made for it');
});

test('directories that cannot be allowed keep the server from starting', () => {
  const start = (path) => {
    const result = spawnSync(BELLJAR, ['serve', '--allow-path', path], { env: serverEnv(), input: '', encoding: 'utf8', timeout: PATIENCE_MS });
    assert.equal(complaint(result.stderr), null);
    assert.notEqual(result.status, 0, path);
    return result.stderr;
  };
  assert.match(start('/'), /'\/': the whole host cannot be allowed: name a directory/);
  assert.match(start('/proc/self'), /is an interface of the kernel, not a directory of files/);
  assert.match(start(join(top, 'nowhere')), /nowhere/);
  assert.match(start('relative'), /relative/);
  assert.match(start(dirname(serverEnv().BELLJAR_STATE_DIR)), /belljar's own state directory is '.*', which copies must not reach/);
});

describe('the client\'s roots', () => {
  const [roots, other] = [join(top, 'roots'), join(top, 'other')];
  const [one, two] = ['one', 'two with ü'].map((name) => join(roots, name));
  put(one, '1');
  put(two, '2');
  put(join(roots, 'configured'), 'c');
  put(other, 'not yours');
  const outside = /is not below an allowed directory of the host/;

  test('roots are used, changed and removed', async (t) => {
    const own = await openWithRoots(t, [one]);
    const mine = toolsOf(async () => own);
    const read = async (path) => textOf(await mine.run_command({ command: `cat ${path}` }));
    assert.equal(structuredOf(await mine.copy_in({ source: 'f' })).source, join(one, 'f'));
    assert.equal(await read('f'), '1');
    refused(await mine.copy_in({ source: join(two, 'f') }), outside);
    structuredOf(await mine.copy_out({ path: 'f', target: 'g' }));
    assert.equal(readFileSync(join(one, 'g'), 'utf8'), '1');

    await own.change([one, two]);
    structuredOf(await mine.copy_in({ source: join(two, 'f'), path: 'f2' }));
    assert.equal(await read('f2'), '2');

    await own.change([two]);
    refused(await mine.copy_in({ source: join(one, 'f') }), outside);
    assert.equal(structuredOf(await mine.copy_in({ source: 'f' })).source, join(two, 'f'));

    await own.change([]);
    refused(await mine.copy_in({ source: 'f' }), /^source: no directory of the host is allowed/);
    assert.equal(own.asked, 4);
  });

  test('roots come after the directories of --allow-path', async (t) => {
    const own = await openWithRoots(t, [one], { ALLOW_PATH: join(roots, 'configured') });
    const mine = toolsOf(async () => own);
    assert.equal(structuredOf(await mine.copy_in({ source: 'f' })).source, join(roots, 'configured/f'));
    assert.equal(structuredOf(await mine.copy_in({ source: join(one, 'f') })).source, join(one, 'f'));
    await own.change([]);
    structuredOf(await mine.copy_in({ source: 'f' }));
    refused(await mine.copy_in({ source: join(one, 'f') }), outside);
  });

  test('unusable roots are left out', async (t) => {
    const own = await openWithRoots(t, [
      'https://example.org/', 'file://elsewhere/tmp', 'file:///', 'file:///proc', `file://${roots}/../${other}`,
      join(roots, 'nowhere'), join(one, 'f'), 'file:///a%00b', one,
    ]);
    const mine = toolsOf(async () => own);
    structuredOf(await mine.copy_in({ source: join(one, 'f') }));
    for (const source of ['/etc/passwd', join(other, 'f'), '/proc/self/environ', '/tmp', '/a'])
      refused(await mine.copy_in({ source }), outside);
  });

  test('roots of a client of revision 2026-07-28 are used', async (t) => {
    let [roots, asked] = [[one], 0];
    const own = await connectV2(t, {
      program: BELLJAR, mode: { pin: '2026-07-28' }, options: { capabilities: { roots: {} } },
      env: { BELLJAR_ROOTS: 'yes', BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ALLOW_PATH: join(top, 'roots/configured') },
    });
    own.client.setRequestHandler('roots/list', async () => {
      asked++;
      return { roots: roots.map((root) => ({ uri: pathToFileURL(root).href })) };
    });
    const mine = toolsOf(async () => own);
    assert.equal(structuredOf(await mine.copy_in({ source: join(one, 'f') })).source, join(one, 'f'));
    assert.equal(asked, 1);
    structuredOf(await mine.copy_in({ source: 'f', path: 'configured' }));
    assert.equal(asked, 1, 'a path of --allow-path needs no roots');
    roots = [two];
    refused(await mine.copy_in({ source: join(one, 'f') }), outside);
    structuredOf(await mine.copy_in({ source: join(two, 'f'), path: 'f2' }));
    await own.close();
  });

  test('roots are off for root and on for other users', async (t) => {
    const own = await openWithRoots(t, [one], { ROOTS: 'auto' });
    const mine = toolsOf(async () => own);
    assert.equal(structuredOf(await mine.server_info()).client_roots, !isRoot);
    if (isRoot) {
      refused(await mine.copy_in({ source: join(one, 'f') }), /which are off because belljar runs as root$/);
      assert.equal(own.asked, 0);
    } else structuredOf(await mine.copy_in({ source: join(one, 'f') }));
  });

  test('directories of the system and of keys cannot be roots', async (t) => {
    const own = await openWithRoots(t, ['/etc', '/usr/lib', '/root']);
    const mine = toolsOf(async () => own);
    for (const source of ['/etc/passwd', '/usr/lib/os-release'])
      refused(await mine.copy_in({ source }), /no directory of the host is allowed|cannot be opened|is not below an allowed/);
    await own.change(['/etc', one]);
    structuredOf(await mine.copy_in({ source: join(one, 'f') }));
    refused(await mine.copy_in({ source: '/etc/passwd' }), outside);
  });

  test('--roots no is --no-roots', async (t) => {
    const own = await openWithRoots(t, [one], { ROOTS: 'no' });
    const mine = toolsOf(async () => own);
    refused(await mine.copy_in({ source: join(one, 'f') }),
      /^(source: )?no directory of the host is allowed: start belljar with --allow-path DIR$/);
    assert.equal(own.asked, 0);
  });

  test('--no-roots does not request roots', async (t) => {
    const own = await openWithRoots(t, [one], { NO_ROOTS: 'true' });
    const mine = toolsOf(async () => own);
    refused(await mine.copy_in({ source: join(one, 'f') }),
      /^(source: )?no directory of the host is allowed: start belljar with --allow-path DIR$/);
    assert.equal(own.asked, 0);
  });

  test('--no-roots with --allow-path uses only the latter', async (t) => {
    const own = await openWithRoots(t, [one], { NO_ROOTS: 'true', ALLOW_PATH: join(roots, 'configured') });
    const mine = toolsOf(async () => own);
    structuredOf(await mine.copy_in({ source: 'f' }));
    refused(await mine.copy_in({ source: join(one, 'f') }), outside);
    assert.equal(own.asked, 0);
  });
});
