// packages_node.js ACTION REGISTRY - NAME... - installs, removes and lists packages of npm below ~/.local, where
// require() finds them. The action `need` installs what package.json of the working directory lists, as npm does in a
// project, if that has the package; else the package itself. The result is one JSON object on stdout, like that of
// packages_python.py.
const { spawnSync } = require('child_process');
const fs = require('fs');
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
  const lines = (stderr || '').split('\n').filter((line) => /^npm (error|ERR!)/.test(line) && !/A complete log|debug-0/.test(line));
  return { status, lines: lines.slice(0, 12).map((line) => line.slice(0, 300)) };
}

function isListed(name) {
  try {
    const { dependencies, devDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
    return Object.hasOwn({ ...dependencies, ...devDependencies }, name);
  } catch {
    return false; // no project, or a malformed file
  }
}

function main() {
  const project = action === 'need' && isListed(given[0]);
  const top = project ? 'node_modules' : path.join(prefix, 'lib', 'node_modules');
  const before = ownPackages(top);
  const sorted = (list) => [...list].sort();
  if (action === 'list') return { ok: true, packages: sorted(Object.values(before)) };
  const names = action === 'reset' ? Object.keys(before) : given;
  if (names.length === 0) return { ok: true, installed: [], removed: [] };
  const common = ['--no-audit', '--no-fund', '--loglevel=error', ...(registry ? [`--registry=${registry}`] : [])];
  if (action === 'need') common.push('--ignore-scripts'); // an error message has chosen the package
  let args = [/^(install|need)$/.test(action) ? 'install' : 'uninstall', '--global', ...common, '--', ...names];
  if (project) args = fs.existsSync('package-lock.json') ? ['ci', ...common] : ['install', '--no-package-lock', ...common];
  const { missing, status, lines } = run(args);
  if (missing) return { ok: false, no_installer: true };
  const after = ownPackages(top);
  const was = new Set(Object.values(before));
  const result = {
    ok: status === 0,
    installed: sorted(Object.values(after).filter((text) => !was.has(text))),
    removed: sorted(Object.keys(before).filter((name) => !after[name]).map((name) => before[name])),
  };
  if (status !== 0) result.lines = lines;
  return result;
}

console.log(JSON.stringify(main()));
