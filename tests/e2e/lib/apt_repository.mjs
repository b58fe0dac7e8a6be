// apt_repository.mjs - a repository for apt on loopback with one package, `python3`, for images whose Python the
// test has moved to /opt/python.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Makes the package; `postinst` runs as root when it is installed. */
function makePackage(postinst) {
  const dir = mkdtempSync(join(tmpdir(), 'deb-'));
  const control = 'Package: python3\nVersion: 3.99\nArchitecture: all\nMaintainer: Tests <tests@example.org>\nDescription: Python\n';
  mkdirSync(join(dir, 'root/DEBIAN'), { recursive: true });
  mkdirSync(join(dir, 'root/usr/bin'), { recursive: true });
  symlinkSync('/opt/python', join(dir, 'root/usr/bin/python3'));
  writeFileSync(join(dir, 'root/DEBIAN/control'), control);
  writeFileSync(join(dir, 'root/DEBIAN/postinst'), `#!/bin/sh\n${postinst}\n`, { mode: 0o755 });
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', join(dir, 'root'), join(dir, 'python3.deb')], { stdio: 'ignore' });
  const bytes = readFileSync(join(dir, 'python3.deb'));
  rmSync(dir, { recursive: true });
  return { bytes, packages: `${control}Filename: ./python3.deb\nSize: ${bytes.length}\nSHA256: ${sha256(bytes)}\n` };
}

/**
 * Serves the repository until the test ends. `asked` counts requests for the package; `hold()` makes the next ones
 * wait for ever, `lose()` makes them fail.
 */
export async function serveRepository(t, postinst) {
  const { bytes, packages } = makePackage(postinst);
  const release = `Suite: test\nDate: ${new Date(0).toUTCString().replace('GMT', 'UTC')}\nSHA256:\n ${sha256(packages)} ${packages.length} Packages\n`;
  const files = { '/Release': release, '/Packages': packages, '/python3.deb': bytes };
  const state = { asked: 0, mode: 'serve' };
  const server = createServer((request, response) => {
    const path = request.url.replace('/./', '/');
    if (path === '/python3.deb') {
      state.asked++;
      if (state.mode === 'hold') return;
    }
    if (files[path] === undefined || (path === '/python3.deb' && state.mode === 'lose')) response.writeHead(404).end();
    else response.end(files[path]);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${server.address().port}`;
  return {
    host,
    /** For /etc/apt/sources.list. */
    source: `deb [trusted=yes] http://${host} ./`,
    get asked() {
      return state.asked;
    },
    hold: () => (state.mode = 'hold'),
    lose: () => (state.mode = 'lose'),
  };
}
