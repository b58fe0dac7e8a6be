// packages_node.js ACTION REGISTRY - NAME... - installs, removes and lists packages of npm below ~/.local, where
// require() finds them. The result is one JSON object on stdout, like that of packages_python.py.
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');

const [action, registry, , ...given] = process.argv.slice(1);
const prefix = process.env.NPM_CONFIG_PREFIX || path.join(process.env.HOME, '.local');

function ownPackages() {
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
  read(path.join(prefix, 'lib', 'node_modules'));
  return found;
}

function run(args) {
  const { status, error, stderr } = spawnSync('npm', args, { stdio: ['ignore', 2, 'pipe'], encoding: 'utf8' });
  if (error && error.code === 'ENOENT') return { missing: true };
  process.stderr.write(stderr || '');
  const lines = (stderr || '').split('\n').filter((line) => /^npm (error|ERR!)/.test(line) && !/A complete log|debug-0/.test(line));
  return { status, lines: lines.slice(0, 12).map((line) => line.slice(0, 300)) };
}

function main() {
  const before = ownPackages();
  const sorted = (list) => [...list].sort();
  if (action === 'list') return { ok: true, packages: sorted(Object.values(before)) };
  const names = action === 'reset' ? Object.keys(before) : given;
  if (names.length === 0) return { ok: true, installed: [], removed: [] };
  const common = ['--global', '--no-audit', '--no-fund', '--loglevel=error', ...(registry ? [`--registry=${registry}`] : [])];
  const { missing, status, lines } = run([action === 'install' ? 'install' : 'uninstall', ...common, '--', ...names]);
  if (missing) return { ok: false, no_installer: true };
  const after = ownPackages();
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
