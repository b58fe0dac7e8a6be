// packages_node.js ACTION REGISTRY - NAME... - installs, removes and lists packages of npm below ~/.local, where
// require() finds them. The action `need` installs what package.json of the working directory lists, as npm does in a
// project, if that has the package; else the package itself. `project` installs what package.json lists, if a part of that
// is not there in a suitable version. The result is one JSON object on stdout, like that of packages_python.py.
const { spawnSync } = require('child_process');
const fs = require('fs');
const { createRequire } = require('module');
const path = require('path');

const [action, registry, , ...given] = process.argv.slice(1);
const prefix = process.env.NPM_CONFIG_PREFIX || path.join(process.env.HOME, '.local');

function ownPackages(top) {
  const found = {};
  const read = (dir) => {
    for (const name of fs.existsSync(dir) ? fs.readdirSync(dir) : []) {
      if (name.startsWith('@')) read(path.join(dir, name));
      try {
        const { name: own, version } = JSON.parse(fs.readFileSync(path.join(dir, name, 'package.json'), 'utf8'));
        found[own] = `${own}@${version}`;
      } catch {
        // not a package
      }
    }
  };
  read(top);
  return found;
}

function run(args) {
  const { status, error, stderr } = spawnSync('npm', args, { stdio: ['ignore', 2, 'pipe'], encoding: 'utf8' });
  if (error && error.code === 'ENOENT') return { missing: true };
  process.stderr.write(stderr || '');
  const lines = (stderr || '').split('\n').filter((line) => /^npm (error|ERR!)/.test(line) && !/A complete log|debug-0|\d+\s*$|you can also install from|tarball, folder/.test(line));
  return { status, lines: lines.slice(0, 12).map((line) => line.slice(0, 300)) };
}

// The registry's own words about why it cannot be used; npm prints only the status.
function askRegistry(lines) {
  const url = /\b50\d .* - GET (http:\S+)/.exec(lines.join('\n'))?.[1];
  const ask = `
    const proxy = new URL(process.env.http_proxy);
    const headers = { Host: new URL(process.argv[1]).host, 'Proxy-Authorization': 'Basic ' + Buffer.from(proxy.username + ':' + proxy.password).toString('base64') };
    require('http').get({ host: proxy.hostname, port: proxy.port, path: process.argv[1], headers, timeout: 20000 }, (answer) => {
      if (answer.statusCode >= 500) answer.once('data', (text) => { process.stdout.write(text.subarray(0, 300)); process.exit(); });
    }).on('error', () => {});`;
  const text = url && process.env.http_proxy ? spawnSync(process.execPath, ['-e', ask, '--', url], { encoding: 'utf8', timeout: 30000 }).stdout : '';
  return text ? [text.trim()] : [];
}

// What package.json lists, as name and range: {} if there is no project, or the file is malformed.
function listed() {
  try {
    const { dependencies, devDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
    const all = Object.entries({ ...dependencies, ...devDependencies });
    return Object.fromEntries(all.filter(([name, range]) => /^(@[\w.~-]+\/)?[\w.~-]+$/.test(name) && typeof range === 'string'));
  } catch {
    return {};
  }
}

// npm's own module for ranges; null: not found.
function findSemver() {
  try {
    const npm = (process.env.PATH || '').split(':').map((dir) => path.join(dir, 'npm')).find((file) => fs.existsSync(file));
    return createRequire(fs.realpathSync(npm))('semver');
  } catch {
    return null;
  }
}

// Whether a package is there, in a version of the range as far as that can be told.
function isThere(name, range, semver) {
  const places = [];
  for (let dir = process.cwd(); !places.includes(path.join(dir, 'node_modules')); dir = path.dirname(dir)) places.push(path.join(dir, 'node_modules'));
  for (const place of [...places, path.join(prefix, 'lib', 'node_modules')]) {
    try {
      const { version } = JSON.parse(fs.readFileSync(path.join(place, name, 'package.json'), 'utf8'));
      return !semver || !semver.validRange(range) || semver.satisfies(version, range, { includePrerelease: true });
    } catch {
      // not here
    }
  }
  return false;
}

// How npm is to install the project. One that lists URLs or repositories, which cannot be reached, would fail as a whole:
// its other packages are installed beside those of the sandbox. npm ci removes what is there, so it is for a new project.
function projectArgs(list, common, refused) {
  const bad = Object.entries(list).filter(([, range]) => /^[a-z+]+:|\//i.test(range) && !/^(npm|file|link|workspace):/.test(range));
  if (bad.length) {
    refused.push(...bad.map(([name, range]) => `${name}: ${range.slice(0, 60)} (a URL or a repository)`));
    const good = Object.entries(list).filter(([, range]) => /^[\w.^~<>=|*+ -]*$/.test(range) && !/^[-.]/.test(range));
    return good.length ? ['install', '--global', ...common, '--', ...good.map(([name, range]) => `${name}@${range || '*'}`)] : null;
  }
  if (!fs.existsSync('package-lock.json')) return ['install', '--no-package-lock', ...common];
  return fs.existsSync('node_modules') ? ['install', '--no-save', ...common] : ['ci', ...common];
}

// The packages whose installation scripts were left out.
function leftScripts() {
  try {
    const { packages } = JSON.parse(fs.readFileSync('node_modules/.package-lock.json', 'utf8'));
    const names = Object.keys(packages).filter((key) => packages[key].hasInstallScript).map((key) => key.split('node_modules/').pop());
    return names.map((name) => `the installation script of ${name} (npm rebuild ${name} runs it)`);
  } catch {
    return [];
  }
}

// Only the first ones have a text, because the server takes no more of this output than of any other.
const shorten = (list) => list.slice(0, 2000).map((text, i) => (i < 12 ? text : ''));

function main() {
  const list = /^(need|project)$/.test(action) ? listed() : {};
  const semver = findSemver();
  if (action === 'project' && Object.entries(list).every(([name, range]) => isThere(name, range, semver))) return { ok: true };
  const common = ['--no-audit', '--no-fund', '--loglevel=error', ...(registry ? [`--registry=${registry}`] : [])];
  if (/^(need|project)$/.test(action)) common.push('--ignore-scripts'); // nobody has asked for these packages by name
  const refused = [];
  const project = action === 'project' || (action === 'need' && Object.hasOwn(list, given[0])) ? projectArgs(list, common, refused) : undefined;
  if (project === null) return { ok: true, refused: shorten(refused) };
  const top = project && !project.includes('--global') ? 'node_modules' : path.join(prefix, 'lib', 'node_modules');
  const before = ownPackages(top);
  const sorted = (names) => [...names].sort();
  if (action === 'list') return { ok: true, packages: sorted(Object.values(before)) };
  const names = action === 'reset' ? Object.keys(before) : given;
  if (names.length === 0 && !project) return { ok: true, installed: [], removed: [] };
  const args = project || [/^(install|need)$/.test(action) ? 'install' : 'uninstall', '--global', ...common, '--', ...names];
  const { missing, status, lines } = run(args);
  if (missing) return { ok: false, no_installer: true, refused: shorten(refused) };
  const after = ownPackages(top);
  const was = new Set(Object.values(before));
  const result = {
    ok: status === 0,
    installed: sorted(Object.values(after).filter((text) => !was.has(text))),
    removed: sorted(Object.keys(before).filter((name) => !after[name]).map((name) => before[name])),
    refused: shorten([...refused, ...(top === 'node_modules' && status === 0 ? leftScripts() : [])]),
  };
  if (status !== 0) result.lines = [...askRegistry(lines), ...lines];
  return result;
}

console.log(JSON.stringify(main()));
