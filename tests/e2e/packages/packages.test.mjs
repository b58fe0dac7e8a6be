// install_packages and list_packages, with an index of small packages on loopback (lib/package_index.py) that the
// operator has configured, and with the npm registry of this machine.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { npmRegistry } from '../lib/package_index.mjs';
import { notOn } from '../lib/programs.mjs';
import { open, refused, sleep, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-index-'));
const portFile = join(dir, 'port');
const cleanups = [];
let tools;
let index;
const requests = () => (existsSync(`${portFile}.log`) ? readFileSync(`${portFile}.log`, 'utf8') : '');

before(async () => {
  index = spawn('python3', [fileURLToPath(new URL('../lib/package_index.py', import.meta.url)), portFile], { stdio: 'inherit' });
  while (!existsSync(portFile)) await sleep(20);
  const session = open(
    { after: (fn) => cleanups.push(fn) },
    { PIP_INDEX: `http://127.0.0.1:${readFileSync(portFile)}/simple`, ANSWER_WITHIN: 120000 },
  );
  tools = toolsOf(() => session);
  cleanups.push(async () => (await session).close());
});
after(async () => {
  index.kill(); // first: a failing cleanup would leave it running, and this file would never end
  for (const fn of cleanups.reverse()) await fn();
  rmSync(dir, { recursive: true, force: true });
});

const install = (packages, more) => tools.install_packages({ packages, ...more }, { timeout: 180000 });
const python = async (code, more) => structuredOf(await tools.run_code({ code, ...more }));

test('a package is installed in a sandbox without a network, and running sessions see it', async () => {
  assert.match((await python('try:\n  import alpha\nexcept ImportError as e: print(e)', { session: 's' })).stdout, /No module named 'alpha'/);
  assert.deepEqual(structuredOf(await install(['alpha<2'])).installed, ['alpha==1.0']);
  assert.equal((await python('import alpha; print(alpha.VALUE)', { session: 's' })).stdout, '1\n');
  assert.equal((await python('import alpha; print(alpha.VALUE)')).stdout, '1\n');
  assert.equal(structuredOf(await tools.run_command({ command: 'python3 -c "import alpha; print(alpha.VALUE)"; env | grep -ic proxy' })).stdout, '1\n0\n');
  assert.equal(structuredOf(await tools.run_command({ command: 'env -i "$(readlink -f "$(command -v python3)")" -c "import alpha; print(alpha.VALUE)"' })).stdout, '1\n');
  assert.equal(structuredOf(await tools.sandbox_info()).network, 'none');
});

test('a run that lacks a package says how to get it', async () => {
  const { note } = structuredOf(await tools.run_command({ command: 'echo; python3 -c "import notinstalled"' })); // is not repeated
  assert.equal(note, 'packages that are missing can be installed with install_packages');
  assert.match((await python('import notinstalled')).note, /^the module 'notinstalled' is missing, and .* could not be installed: pip failed/);
  assert.match((await python('import notinstalled', { session: 'hint' })).note, /could not be installed a moment ago/);
});

test('packages of a sandbox of an earlier version, which are in ~/.local/lib, are seen', async () => {
  const at = { sandbox: structuredOf(await tools.create_sandbox({})).id };
  const earlier = `import os, sys
place = os.path.expanduser('~/.local/lib/python%d.%d/site-packages' % sys.version_info[:2])
os.makedirs(place + '/earlier-1.0.dist-info')
open(place + '/earlier-1.0.dist-info/METADATA', 'w').write('Metadata-Version: 2.1\\nName: earlier\\nVersion: 1.0\\n')
open(place + '/earlier.py', 'w').write('VALUE = 7')`;
  await python(earlier, at);
  assert.equal((await python('import earlier; print(earlier.VALUE)', at)).stdout, '7\n');
  await install(['alpha'], at);
  assert.equal(structuredOf(await tools.run_command({ command: 'python3 -c "import earlier; print(earlier.VALUE)"', ...at })).stdout, '7\n');
});

test('versions, extras and dependencies are resolved', async () => {
  await tools.create_sandbox({ name: 'versions' });
  const at = { sandbox: 'versions' };
  assert.deepEqual(structuredOf(await install(['gamma[more]==1.1'], at)).installed, ['alpha==1.0', 'beta==1.0', 'gamma==1.1']);
  assert.match(structuredOf(await install(['alpha'], at)).note, /there already/);
  assert.deepEqual(structuredOf(await tools.list_packages(at)).packages, ['alpha==1.0', 'beta==1.0', 'gamma==1.1']);
  assert.deepEqual(structuredOf(await install(['beta'], { ...at, action: 'uninstall' })).removed, ['beta==1.0']);
  assert.deepEqual(structuredOf(await tools.install_packages({ ...at, action: 'reset' })).removed, ['alpha==1.0', 'gamma==1.1']);
  assert.deepEqual(structuredOf(await tools.list_packages(at)).packages, []);
});

test('a package that cannot be installed is explained', async () => {
  refused(await install(['nothere']), /pip failed: .*No matching distribution found for nothere/);
  refused(await install(['clash']), /pip failed: .*conflicting dependencies/);
  for (const name of ['wrong-hash', 'dies'])
    refused(await install([name]), /^pip failed: ERROR: a file does not have the hash that the index or requirements\.txt names: its download was cut off, or it was changed$/);
  refused(await install(['-r requirements.txt']), /options of the installer/);
  refused(await install(['alpha @ http://127.0.0.1:1/x.whl']), /a URL cannot be installed/);
  refused(await install(['/workspace']), /path or URL/);
  refused(await install([]), /name at least one/);
});

test('a build can reach the index and nothing else, and the way there is closed afterwards', async () => {
  await tools.create_sandbox({ name: 'builds' });
  const at = { sandbox: 'builds' };
  assert.deepEqual(structuredOf(await install(['builds'], at)).installed, ['builds==1.0']);
  // Directly: refused. Another name, and another port of loopback, through the proxy: 403.
  const { stdout } = structuredOf(await tools.run_command({ ...at, command: 'cat ~/attempts' }));
  assert.equal(stdout, 'ConnectionRefusedError HTTPError HTTPError');
  const { connections } = structuredOf(await tools.sandbox_info(at));
  assert.deepEqual(connections.filter(({ allowed }) => !allowed).map(({ host }) => host).sort(), ['127.0.0.1:1', 'canary.example:80']);
  const listening = structuredOf(await tools.run_command({ ...at, command: 'cat /proc/net/tcp | tail -n +2 | grep -c " 0A "; true' }));
  assert.equal(listening.stdout, '0\n');
});

test('other programs cannot use the proxy of an installer', async () => {
  await tools.create_sandbox({ name: 'thief' });
  const at = { sandbox: 'thief' };
  const hanging = install(['hangs'], at); // holds its proxy open
  const code = `
import re, socket, time
ports = []
while not ports:
    ports = [int(line.split()[1].split(':')[1], 16) for line in open('/proc/net/tcp').read().splitlines()[1:] if line.split()[3] == '0A']
    time.sleep(0.05)
s = socket.create_connection(('127.0.0.1', ports[0]))
s.sendall(b'GET http://127.0.0.1:${readFileSync(portFile)}/simple/alpha/ HTTP/1.1\\r\\n\\r\\n')
print(s.recv(1000).split(b'\\r\\n')[0])
`;
  const { stdout } = await python(code, at);
  assert.equal(stdout, "b'HTTP/1.1 407 Proxy Authentication Required'\n");
  await tools.reset_sandbox(at); // ends the installer
  assert.equal((await hanging).isError, true);
});

const WHERE = 'import sys; print(sys.prefix, sys.base_prefix)';
const ENVIRONMENT = '/home/coderunner/.local/venv';

test('the environment is a virtual one, whose packages every Python of the sandbox sees', async () => {
  await tools.create_sandbox({ name: 'environment' });
  const at = { sandbox: 'environment' };
  const shell = async (command) => structuredOf(await tools.run_command({ ...at, command })).stdout;
  const [prefix, image] = (await shell(`python3 -c '${WHERE}'`)).split(/\s/);
  assert.equal(prefix, image);
  const own = (await shell('command -v python3')).trim();
  await install(['alpha<2'], at);
  for (const python of ['python3', 'python', `${ENVIRONMENT}/bin/python`]) assert.equal(await shell(`${python} -c '${WHERE}'`), `${ENVIRONMENT} ${image}\n`);
  assert.equal(await shell(`${own} -c 'import alpha; ${WHERE}'`), `${image} ${image}\n`);
  // Isolated from the user's site-packages too.
  assert.equal(await shell(`python3 -I -c 'import alpha; print(alpha.__file__.startswith("${ENVIRONMENT}/lib/"))'`), 'True\n');
  // An environment is not externally managed: pip works in it without the settings that sandboxes have.
  if (!(await shell(`${own} -m pip --version`))) return;
  assert.match(await shell('PIP_CONFIG_FILE=/dev/null python3 -m pip uninstall --yes alpha'), /Successfully uninstalled alpha-1.0/);
  assert.deepEqual(structuredOf(await tools.list_packages(at)).packages, []);
});

test("an image's Python that is that of a virtual environment keeps its packages", async () => {
  const PATH = `${ENVIRONMENT}/bin:/workspace/image/bin:/usr/local/bin:/usr/bin:/bin`;
  await tools.create_sandbox({ name: 'virtual', env: { PATH } });
  const at = { sandbox: 'virtual' };
  const made = await tools.run_command({
    ...at,
    command: `python3 -m venv --without-pip image && cd image/lib/python3*/site-packages && echo 'X = 5' > imaged.py &&
      mkdir linked && echo 'Y = 6' > linked/edited.py && echo "$PWD/linked" > edited.pth`,
  });
  assert.equal(structuredOf(made).exit_code, 0, textOf(made));
  structuredOf(await tools.sandbox_info({ ...at, detail: 'full' })); // looks up the programs of languages again
  assert.equal((await python('import imaged; print(imaged.X)', { ...at, session: 's' })).stdout, '5\n');
  assert.deepEqual(structuredOf(await install(['alpha==1.0'], at)).installed, ['alpha==1.0']);
  const code = 'import sys, imaged, edited, alpha; print(imaged.X, edited.Y, alpha.VALUE, sys.prefix)';
  assert.equal((await python(code, { ...at, session: 's' })).stdout, '5 6 1 /workspace/image\n');
  assert.equal(structuredOf(await tools.run_command({ ...at, command: `python3 -c '${code}'` })).stdout, `5 6 1 ${ENVIRONMENT}\n`);
});

test('pip comes from the index where the image has none', async () => {
  await tools.create_sandbox({ name: 'no-pip' });
  const at = { sandbox: 'no-pip' };
  // Without -S this Python would find the pip of the machine.
  const shim = 'mkdir -p ~/.local/bin && printf \'#!/bin/sh\\nexec "%s" -S "$@"\\n\' "$(command -v python3)" > ~/.local/bin/python3 && chmod +x ~/.local/bin/python3';
  assert.equal(structuredOf(await tools.run_command({ ...at, command: shim })).exit_code, 0);
  assert.deepEqual(structuredOf(await install(['alpha==2.0'], at)).installed, ['alpha==2.0']);
  assert.match(structuredOf(await tools.run_command({ ...at, command: 'ls ~/.cache/belljar' })).stdout, /pip\.whl/);
  assert.deepEqual(structuredOf(await install(['alpha'], { ...at, action: 'uninstall' })).removed, ['alpha==2.0']);
});

test('uv installs where there is no pip', async () => {
  await tools.create_sandbox({ name: 'uv' });
  const at = { sandbox: 'uv' };
  // A stand-in that passes what uv would get on to pip: its own options must be there, and are removed. Without -S the
  // installer's Python would find the pip of the machine.
  const uv = `#!/bin/sh
echo "$@" >> ~/uv.log
[ "$1 $2 $3" = "pip install --python" ] || exit 9
python=$4
shift 4
case "$*" in *--allow-insecure-host*) host=$4; index=$2; shift 4; set -- --index-url "$index" --trusted-host "$host" "$@" ;; esac
exec "$python" -m pip install "$@"
`;
  const python3 = '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n';
  for (const [name, content] of Object.entries({ uv, python3 })) await tools.write_file({ ...at, path: `/home/coderunner/.local/bin/${name}`, content });
  const { exit_code } = structuredOf(await tools.run_command({ ...at, command: 'chmod +x ~/.local/bin/*; test -x /usr/bin/python3 && /usr/bin/python3 -m pip --version' }));
  if (exit_code !== 0) return; // an image without pip, whose stand-in would have none either
  assert.deepEqual(structuredOf(await install(['alpha==1.0'], at)).installed, ['alpha==1.0']);
  assert.match(structuredOf(await tools.run_command({ ...at, command: 'cat ~/uv.log' })).stdout, /^pip install --python \/home\/coderunner\/\.local\/venv\/bin\/python --index-url http:\/\/pip\.belljar\.internal\/simple .*alpha==1\.0$/m);
});

test('packages of the system are explained', async (t) => {
  const { note, exit_code } = structuredOf(await tools.run_command({ command: 'apt-get install -y cowsay' }));
  if (exit_code === 127) return t.skip('no apt on this machine');
  assert.match(note, /packages of the system cannot be installed in a sandbox/);
});

test('an installer that takes long becomes a process', async (t) => {
  const session = open(t, { PIP_INDEX: `http://127.0.0.1:${readFileSync(portFile)}/simple`, ANSWER_WITHIN: 5000 });
  const own = toolsOf(() => session);
  const answer = structuredOf(await own.install_packages({ packages: ['endless'] }, { timeout: 60000 }));
  assert.match(answer.note, /the installer still runs: process_output/);
  structuredOf(await own.process_stop({ process: answer.process }));
  const { stdout } = structuredOf(await own.run_command({ command: 'cat /proc/net/tcp | tail -n +2 | grep -c " 0A "; true' }));
  assert.equal(stdout, '0\n');
  await (await session).close();
});

test('the index does not see the password of the proxy', () => {
  assert.match(requests(), /GET \/simple\/alpha\/ via=None/);
  assert.doesNotMatch(requests(), /via=Basic/);
});

test('a package of npm is installed', notOn('docker', 'the image has no npm'), async (t) => {
  const registry = npmRegistry();
  if (!registry) return t.skip('no npm registry on this machine');
  const session = open(t, { NPM_REGISTRY: registry, ANSWER_WITHIN: 120000 });
  const own = toolsOf(() => session);
  const language = 'javascript';
  const { installed } = structuredOf(await own.install_packages({ packages: ['is-number@7'], language }, { timeout: 180000 }));
  assert.match(installed[0], /^is-number@7/);
  assert.equal(structuredOf(await own.run_code({ language, code: 'console.log(require("is-number")(5))' })).stdout, 'true\n');
  assert.match(structuredOf(await own.list_packages({ language })).packages[0], /^is-number@7/);
  refused(await own.install_packages({ packages: ['./x'], language }), /expected a name/);
  assert.ok(textOf(await own.install_packages({ action: 'reset', language })));
  await (await session).close();
});
