// node_test.mjs - tests of the Node kernel (src/kernels/node/) over its protocol.
// KERNEL_NODES (separated by ":") are the programs to test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Kernel, read } from './node_kernel.mjs';

const PNG = '"89504e470d0a1a0a0000000d49484452"';

// Runs a session of steps [code, expected, options]. `expected` is the text that is shown, or an object
// of values that must be equal (a RegExp must match), of { shown, error, message, traceback, code, out, err }.
async function session(node, steps, options = {}) {
  const kernel = new Kernel(node, options);
  try {
    for (const [code, wanted, options] of steps) {
      kernel.stderr = '';
      const result = await kernel.cell(code, options);
      const got = {
        shown: result.shown.map((each) => each.text).join('|'), mimes: result.shown.map((each) => each.mime).join('|'),
        path: result.shown.map((each) => each.path).join('|').replaceAll(kernel.workspace, ''),
        error: result.error?.name, message: result.error?.message, traceback: result.error?.traceback,
        code: result.ended[0], is_exit: result.ended[2], out: result.out, err: kernel.stderr,
      };
      const want = typeof wanted === 'string' ? { shown: wanted, error: undefined, code: 0 } : wanted;
      for (const [key, value] of Object.entries(want)) {
        const where = `${key} of ${code} (${JSON.stringify(got)})`;
        if (value instanceof RegExp)
          assert.match(String(got[key]), value, where);
        else
          assert.equal(got[key], value, where);
      }
    }
    return kernel;
  } finally {
    await kernel.close();
  }
}

async function with_kernel(node, is_session, action) {
  const kernel = new Kernel(node, { session: is_session });
  try {
    await action(kernel);
  } finally {
    await kernel.close();
  }
}

function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  }
}

const FILES = {
  'helper.js': 'module.exports = "cjs helper"',
  'helper2.mjs': 'export default "esm helper"',
  'node_modules/pkg/package.json': '{"main":"index.js"}',
  'node_modules/pkg/index.js': 'module.exports = "package"',
};

// Packages in a directory of NODE_PATH, where install_packages puts them.
const SHARED = {
  'lib/node_modules/pkg/package.json': '{"main":"index.js"}',
  'lib/node_modules/pkg/index.js': 'module.exports = "not this one"',
  'lib/node_modules/far/package.json': '{"exports":{"import":"./far.mjs"}}',
  'lib/node_modules/far/far.mjs': 'import near from "@scope/near"; export default `far ${near}`',
  'lib/node_modules/@scope/near/package.json': '{"exports":"./near.mjs"}',
  'lib/node_modules/@scope/near/near.mjs': 'export default "near"',
};
const IMPORTS = 'import far from "far"; import near from "@scope/near"; import pkg from "pkg"; import os from "os"\n';

// Status, stdout and stderr must be those of `node main.js`, except for Node's own stack frames.
async function same_as_node(node, code, options = {}) {
  const kernel = new Kernel(node, { session: false });
  try {
    write(kernel.workspace, FILES);
    const got = await kernel.fresh(code, options);
    const run = path.join(kernel.directory, 'run');
    const file = path.join(run, fs.existsSync(path.join(run, 'main.mjs')) ? 'main.mjs' : 'main.js');
    assert.equal(fs.statSync(run).mode & 0o777, 0o700);
    fs.rmSync(run, { recursive: true });
    fs.mkdirSync(run);
    write(run, options.beside ?? {});
    fs.writeFileSync(file, code);
    const real = spawnSync(node, [file, ...options.args ?? []], {
      input: options.stdin ?? '', cwd: kernel.workspace, encoding: 'utf8',
      env: { PATH: process.env.PATH, ...Object.fromEntries((options.env ?? []).map((each) => each.split('='))) },
    });
    const plain = (said) => said.replace(/ {4}at .*(node:internal|\[?process).*\n/g, '').replace(/\(node:\d+\)/g, '');
    assert.deepEqual({ code: got.code, out: got.out, err: plain(got.err) },
      { code: real.status, out: real.stdout, err: plain(real.stderr) }, code);
    assert.doesNotMatch(got.err, /belljar|\[eval\]/);
    return got;
  } finally {
    await kernel.close();
  }
}

const FRESH = {
  'an exception': 'function f() { throw new Error("x") }\n\nf()',
  'a syntax error': 'let a = 1;\nlet b = ;\n',
  'a rejection nobody handles': 'Promise.reject(new TypeError("q"))',
  'exit handlers and the exit code': 'process.on("exit", (c) => console.log("exit", c)); process.exitCode = 4',
  'process.exit': 'process.exit(7)',
  'what a main module is': 'console.log(require.main === module, __filename, __dirname, module.id, process.execArgv, process.argv, process.mainModule === module)',
  'import': 'import fs from "fs";\nconsole.log(typeof fs.statSync, import.meta.url); await 1;',
  'await at the top level': 'const x = await Promise.resolve(3);\nconsole.log(x)',
  'a module that is wrong': 'import fs from "fs";\nlet b = ;',
  'await where it may not be': 'function f() { await 1 }\n',
  'a first line for the shell': '#!/usr/bin/env node\nconsole.log(1)',
  'the order of callbacks': 'setTimeout(() => console.log("t"), 5); process.nextTick(() => console.log("n")); Promise.resolve().then(() => console.log("p")); console.log("m")',
  'worker threads': 'const { Worker, isMainThread } = require("worker_threads"); if (isMainThread) new Worker(__filename); else console.log("worker", process.argv.length)',
  'fork': 'const cp = require("child_process"); if (process.argv[2] !== "c") cp.fork(__filename, ["c"]); else console.log("child", process.send !== undefined)',
  'cluster': 'const c = require("cluster"); if (c.isPrimary) c.fork().on("exit", (code) => process.exit(code)); else process.exit(5)',
  'the names that are global': 'console.log(Reflect.ownKeys(globalThis).map(String).sort().join())',
  'the properties of process': 'console.log(Reflect.ownKeys(process).map(String).sort().join())',
  'descriptors': 'let link = ""; try { link = require("fs").readlinkSync("/proc/self/fd/3") } catch {} console.log(link.startsWith("socket:"), process._getActiveHandles().length)',
};

// The value of the last statement, beside which the program prints what `node main.js` prints.
const VALUES = [
  ['1 + 1', '2'], ['const x = 5; x * 2', '10'], ['const x = 5;\nx * 2; // twice; so', '10'], ['"a;b"', "'a;b'"],
  ['console.log("out")\n;[1, 2].map((x) => x * 2)', '[ 2, 4 ]'], ['({ a: [1] })', '{ a: [ 1 ] }'], ['null', 'null'],
  ['let a = 1\nlet b = a\n  + 1\nb', '2'], ['let a = 1\na\n  + 1', '2'], ['const f = (x) => x\n(3)', undefined],
  ['function main() { return 3 }\nmain()\n// end\n', '3'], ['`a\n;b`', "'a\\n;b'"], ['1, 2', '2'], ['(() => 1)', '[Function (anonymous)]'],
  ['await Promise.resolve(7)', '7'], ['import os from "os"\ntypeof os.EOL', "'string'"], ['const os = await import("os")\ntypeof os.EOL', "'string'"],
  ['require.main === module', 'true'], ['import("os").then(() => console.log("imported"))\n5', undefined],
  // Not expressions, or of no interest.
  ['undefined', undefined], ['x = 5', undefined], ['{ a: 1 }', undefined], ['if (1) { 5 }', undefined], ['for (let i = 0; i < 2; i++) i', undefined],
  ['label: 5', undefined], ['// a; b', undefined], ['1 // a;', '1'], ['return 5', undefined], ['async function f() {}\nf()', undefined], [';', undefined],
  ['setTimeout(() => console.log("late"), 5)', undefined], ['process.stdout.write("x")', undefined], ['export const a = 1\na', undefined],
  ['typeof __last_value', undefined], ['class A {}', undefined], ['function f() {}', undefined], ['throw 5', undefined],
  // Errors name the same place.
  ['let a = 1\nnope()', undefined], ['let a = 1;\n\na.b.c', undefined], ['nope.x', undefined], ['Promise.reject(new Error("x"))', undefined],
  ['[1].map((x) => {\n  x.y.z })', undefined], ['import os from "os"\nos.x.y', undefined],
  // Code that executes the file again.
  ['const { Worker, isMainThread } = require("worker_threads")\nif (isMainThread) new Worker(__filename)\n5', '5'],
  ['import { Worker, isMainThread } from "worker_threads"\nif (isMainThread) new Worker(new URL(import.meta.url))\n5', '5'],
];

const nodes = (process.env.KERNEL_NODES ?? process.execPath).split(':');
for (const node of nodes) {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const can_strip_types = spawnSync(node, ['-p', 'typeof require("module").stripTypeScriptTypes'], { encoding: 'utf8' }).stdout === 'function\n';

  describe(`a fresh run of Node ${version}`, () => {
    for (const [name, code] of Object.entries(FRESH))
      test(`${name}: as node main.js`, () => same_as_node(node, code));

    for (const [code, wanted] of VALUES)
      test(`the last value of ${JSON.stringify(code)}`, async () => {
        assert.equal((await same_as_node(node, code)).shown.join('|'), wanted ?? '');
      });

    test('the search for the last value takes linear time', async () => {
      for (const code of ['f(\n'.repeat(20000), '/**/'.repeat(20000), `5;${'/**/'.repeat(20000)}x)`, ';'.repeat(100000), `${'a;'.repeat(50000)})`, '"'.repeat(100001)]) {
        const { code: status, shown } = await same_as_node(node, code);
        assert.deepEqual([status, shown], [/^[/;]/.test(code) ? 0 : 1, []], code.slice(0, 20));
      }
    });

    test('arguments and environment', () => same_as_node(node,
      'console.log(process.argv, process.env.Q, process.env.EMPTY)', { args: ['a', 'b c', ''], env: ['Q=1', 'EMPTY='] }));

    for (const code of ['console.log(require("fs").readFileSync(0, "utf8"))', 'process.stdin.on("data", (d) => console.log(String(d)))',
      'require("readline").createInterface({ input: process.stdin }).on("line", (l) => console.log([l]))'])
      test(`stdin: ${code}`, async () => {
        assert.match((await same_as_node(node, code, { stdin: 'one\ntwo' })).out, /one/);
        await same_as_node(node, code);
      });

    test('require finds modules in the working directory', async () => {
      const got = await same_as_node(node, 'console.log(require("./helper"), require("pkg"), require.resolve("pkg").length > 0)', { beside: FILES });
      assert.match(got.out, /^cjs helper package true/);
    });

    test('import finds modules in the working directory', async () => {
      const got = await same_as_node(node, 'import h from "./helper2.mjs"; import p from "pkg"; console.log(h, p, (await import("./helper2.mjs")).default)', { beside: FILES });
      assert.equal(got.out, 'esm helper package esm helper\n');
    });

    test('import finds packages of NODE_PATH, behind those of the project', async () => {
      for (const [files, found] of [[SHARED, 'not this one'], [{ ...SHARED, ...FILES }, 'package']]) {
        await with_kernel(node, false, async (kernel) => {
          write(kernel.workspace, files);
          const got = await kernel.fresh(`${IMPORTS}console.log(far, near, pkg, typeof os.EOL)`, { env: [`NODE_PATH=/nonexistent:${kernel.workspace}/lib/node_modules`] });
          assert.deepEqual([got.out, got.err], [`far near near ${found} string\n`, '']);
        });
      }
    });

    test('a waiting process exits when its channel is closed', () => with_kernel(node, false, async (kernel) => {
      await kernel.until(() => kernel.frames.length, 'READY');
      assert.deepEqual(kernel.frames, [['ready', version.slice(1)]]);
      kernel.channel.destroy();
      assert.equal((await kernel.exited()).code, 0);
    }));
  });

  describe(`a session of Node ${version}`, () => {
    test('declarations stay and can be repeated', () => session(node, [
      ['const a = 1; let b = { x: 1 }; class C {}; function f() { return a } var v = 9', ''],
      ['const a = 2; f() + v', '11'], ['b', '{ x: 1 }'], ['new C()', 'C {}'], ['class C { q = 1 }; new C()', 'C { q: 1 }'],
      ['const { q, r: [w] } = { q: 1, r: [2] }; q + w', '3'], ['const fs = require("fs"); typeof fs.statSync', "'function'"],
    ]));

    test('TypeScript', () => session(node, can_strip_types ? [
      ['interface P { a: number }\nlet x: number = 5;\nfunction f(p: P): number { return p.a * x }', ''],
      ['f({ a: 2 } as P)', '10'], ['enum E { A = 3 }\nE.A', '3'], ['const y: E = await E.A; y', '3'],
      ['import fs from "fs"; import type { Stats } from "fs"', ''], ['typeof fs.statSync', "'function'"],
      ['let z: = 5', { error: 'SyntaxError', code: 1 }], ['\n\nfunction g(a: number) { throw new Error("q") }\ng(1)', { traceback: /at g \(cell-1:3/ }],
      ['x', { shown: '5', err: '' }],
    ] : [
      ['1', { error: 'Error', message: /needs Node 22.13 or later \(this is .*\), or the package typescript/, code: 1 }],
      ['1', { code: 1 }],
    ], { language: 'typescript', env: can_strip_types ? {} : { PATH: '/nonexistent' } })); // no tsc, whose package would be found

    test('a value that describes itself as in other notebooks', () => session(node, [
      ['const o = { [Symbol.for("Jupyter.display")]() { return { "text/plain": "a text" } } }; o', 'a text'],
      ['display(o)', 'a text'], ['({ [Symbol.for("Jupyter.display")]: 5 })', { shown: /Symbol\(Jupyter.display\)/ }],
    ]));

    test('the last value is shown, and is _', () => session(node, [
      ['undefined', ''], ['1 + 1', '2'], ['_ * 2', '4'], ['null', 'null'], ['-0', '-0'], ['10n', '10n'], ['"s"', "'s'"],
      ['Symbol("q")', 'Symbol(q)'], ['(async () => 5)()', 'Promise { 5 }'], ['_ = 7; undefined', ''], ['8', '8'], ['_', '7'],
      ['[..."abcdef", "y"].map((c) => c.repeat(9000))', { shown: /^\[\n {2}'a{9000}',[^]*\n {2}'f{9000}',\n {2}'y{7000,8000}\n\.\.\. \(\d+ bytes more\)$/ }],
    ]));

    test('await and import', () => session(node, [
      ['await new Promise((r) => setTimeout(() => r(5), 20))', '5'], ['const z = await 6; z', '6'],
      ['import fs, { readFileSync as rf } from "fs"\nimport * as p from "node:path";\nimport "os"\n;[typeof rf, typeof p.join, typeof fs.statSync]', "[ 'function', 'function', 'function' ]"],
      ['(await import("node:url")).URL.name', "'URL'"],
      ['fs.writeFileSync("own.mjs", "export default 3; export const n = 4")', ''],
      ['import own, { n } from "./own.mjs"; own + n', '7'], ['"import x from y"', "'import x from y'"],
      ['import nope from "nope"', { error: 'Error', message: /^Cannot find package 'nope'/, code: 1 }],
    ]));

    test('import finds packages of NODE_PATH, behind those of the project', () => with_kernel(node, {}, async (kernel) => {
      write(kernel.workspace, { ...SHARED, ...FILES });
      for (const code of ['process.env.NODE_PATH = `/nonexistent:${process.cwd()}/lib/node_modules`', `${IMPORTS}[far, near, pkg, typeof os.EOL]`, 'void await import("nope")']) {
        const { shown, error } = await kernel.cell(code);
        if (code.startsWith('import')) assert.equal(shown[0].text, "[ 'far near', 'near', 'package', 'string' ]");
        assert.match(error?.message ?? '', code.includes('nope') ? /^Cannot find package 'nope'/ : /^$/);
      }
    }));

    test('errors have the frames of the cells only', () => session(node, [
      ['function g() { throw new TypeError("no") }\n\ng()', { error: 'TypeError', message: 'no', code: 1, traceback: 'TypeError: no\n    at g (cell-7:1:22)\n    at cell-7:3:1' }, { name: 'cell-7' }],
      ['x = 1;\ny = ;', { error: 'SyntaxError', traceback: "cell-8:2\ny = ;\n    ^\n\nSyntaxError: Unexpected token ';'" }, { name: 'cell-8' }],
      ['f(', { error: 'SyntaxError', traceback: /^cell-1:1\nf\(\n\nSyntaxError: / }],
      ['await (async () => { await 1; null.x })()', { error: 'TypeError', traceback: /\n {4}at cell-1:1:36$/ }],
      ['throw 5', { error: 'Uncaught', message: '5' }],
      ['throw new Error("a", { cause: new Error("b") })', { error: 'Error', traceback: 'Error: a\n    at cell-1:1:7 {\n  [cause]: Error: b\n      at cell-1:1:31\n}' }],
      ['JSON.parse("{")', { error: 'SyntaxError', traceback: /at cell-1:1:6$/ }],
      ['throw Object.freeze(new Error("fr"))', { traceback: 'Error: fr\n    at cell-1:1:21' }],
      ['throw new Proxy({}, { get() { throw 1 } })', { error: 'Uncaught', code: 1 }], ['1', '1'],
    ]));

    test('an interrupt ends the cell, not the session', () => session(node, [
      ['let a = 3', ''],
      ['while (true) {}', { error: 'Interrupted', code: 1 }, { is_interrupted: true }], ['a', '3'],
      ['await 1; while (true) {}', { error: 'Interrupted', code: 1 }, { is_interrupted: true }], ['a', '3'],
      ['await new Promise(() => {})', { error: 'Interrupted', code: 1 }, { is_interrupted: true }], ['a', '3'],
      ['process.nextTick(() => { for (;;); }); 5', { error: 'Interrupted' }, { is_interrupted: true }], ['a', '3'],
    ]));

    test('an await that nothing can end survives the collection of garbage', () => session(node, [
      ['require("v8").setFlagsFromString("--expose-gc"); var gc = require("vm").runInNewContext("gc"); setInterval(gc, 10); 0', '0'],
      ['await new Promise(() => {})', { error: 'Interrupted' }, { is_interrupted: true }],
      ['await new Promise((r) => setTimeout(r, 100)); 1', '1'],
    ]));

    test('an interrupt between cells does nothing', () => with_kernel(node, true, async (kernel) => {
      await kernel.cell('1');
      kernel.signal('SIGINT');
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal((await kernel.cell('2')).shown[0].text, '2');
    }));

    test('stdin, arguments, environment, directory', () => session(node, [
      ['let s = ""; for await (const c of process.stdin) s += c; s', "'in put'", { stdin: 'in put' }],
      ['require("fs").readFileSync(0, "utf8")', "'again'", { stdin: 'again' }], ['require("fs").readFileSync(0, "utf8")', "''"],
      ['[process.env.Q, ...process.argv.slice(2)]', "[ '7', 'A', 'B' ]", { env: ['Q=7'], args: ['A', 'B'] }],
      ['[process.env.Q, process.argv[2]]', "[ undefined, 'A' ]"],
      ['process.env.Q = "mine"; 0', '0', { env: ['Q=7'] }], ['process.env.Q', "'mine'"],
      ['process.cwd()', "'/'", { cwd: '/' }], ['process.cwd()', "'/'"],
      ['1', { error: 'Error', message: /ENOENT/, code: 1 }, { cwd: '/nowhere' }],
    ]));

    test('a session leaves a directory that was removed', () => session(node, [
      ['home = process.cwd(); fs.mkdirSync("gone"); process.chdir("gone"); fs.rmdirSync("../gone"); 0', '0'],
      ['process.cwd() === home', { shown: 'true', code: 0, err: /^the working directory was removed: the session is in .* now\n$/ }],
      ['1', { shown: '1', err: '' }],
    ]));

    test('output is complete before ENDED', () => session(node, [
      ['console.log("out"); console.error("err")', { out: 'out\n', err: 'err\n', shown: '' }],
      ['process.stdout.write("x".repeat(1000000)); undefined', { out: /^x{1000000}$/ }],
    ]));

    test('display', () => session(node, [
      ['display({ "text/html": "<b>" }); display.json({ a: [1] }); display.html("<i>"); display("<svg></svg>"); display("text"); display({ a: 1 })', {
        mimes: 'text/html|application/json|text/html|image/svg+xml|text/plain|text/plain', shown: '<b>|{\n  "a": [\n    1\n  ]\n}|<i>|<svg></svg>|text|{ a: 1 }' }],
      [`display(Buffer.from(${PNG}, "hex"))`, { mimes: 'image/png', shown: '', path: '/.belljar/image-1.png' }, { bytes: 100 }],
      [`Buffer.from(${PNG}, "hex")`, { mimes: 'image/png', path: '/.belljar/image-2.png' }, { bytes: 100 }],
      [`display({ mime: "image/png", data: Buffer.from(${PNG}, "hex").toString("base64") })`, { path: '/.belljar/image-3.png' }],
      [`display(Buffer.from(${PNG}, "hex"))`, { mimes: 'text/plain', shown: /^a picture of 16 bytes, which is too large to be shown: .*\/image-4\.png$/ }, { bytes: 10 }],
      ['display({ "image/png": "AAAA" })', { error: 'TypeError', message: /is no PNG/ }],
      ['display.html("x".repeat(2000)); display({ "text/plain": "p", "application/json": "1".repeat(70000), "application/vnd.x+json": {} })', {
        mimes: 'text/html|text/plain|application/json|application/vnd.x+json', shown: '|p||{}', path: '/.belljar/page-1.html||/.belljar/page-1.json|',
      }],
    ]));

    test('display between cells prints', () => with_kernel(node, true, async (kernel) => {
      await kernel.cell('setTimeout(() => { display("late", { a: 1 }); display.html("<b>") }, 50); 1');
      await kernel.until(() => kernel.stdout.includes('<b>'), 'display');
      assert.equal((await kernel.cell('2')).shown.map((each) => each.text).join(), '2');
      assert.equal(kernel.frames.filter(([type]) => type === 'shown').length, 2);
      assert.equal(kernel.stdout, 'late\n{ a: 1 }\n<b>\n');
    }));

    test('errors outside of cells are printed and do not end the session', () => session(node, [
      ['setTimeout(() => { throw new Error("late") }, 1); Promise.reject(new Error("rejected")); await new Promise((r) => setTimeout(r, 50))', {
        error: undefined, err: /^Uncaught Error: rejected\n {4}at cell-1:1:\d+\nUncaught Error: late\n {4}at .*cell-1:1:\d+\)?\n$/ }],
      ['process.nextTick(() => { throw new Error("tick") }); 5', { shown: '5', err: /^Uncaught Error: tick\n/ }], ['6', '6'],
    ]));

    test('timers of a cell run between cells', () => with_kernel(node, true, async (kernel) => {
      await kernel.cell('let n = 0; const t = setInterval(() => n++, 5); 0');
      await kernel.cell('const before = n; 0');
      let count = 0;
      for (const end = Date.now() + 60000; count < 3 && Date.now() < end;)
        count = Number((await kernel.cell('n - before')).shown[0].text);
      assert.ok(count >= 3);
    }));

    test('process.exit ends the cell, not the session', () => session(node, [
      ['let a = 3; try { console.log(1); process.exit(4) } catch { console.log(2) } finally { console.log(3) }', { code: 4, is_exit: 0, error: undefined, out: '1\n' }], ['a', '3'],
      ['try { await new Promise((r) => setTimeout(r, 5)); process.exit() } catch { console.log(2) } finally { console.log(3) }', { code: 0, shown: '', out: '' }], ['a', '3'],
      ['setTimeout(() => process.exit(5), 5); await new Promise(() => {})', { code: 5, error: undefined }], ['a', '3'],
      ['setImmediate(() => process.exit(6)); await new Promise(() => {})', { code: 6 }],
      ['require("fs").readFile("/dev/null", () => process.exit(7)); await new Promise(() => {})', { code: 7 }],
      ['process.exit("no")', { code: Number(process.versions.node.split('.')[0]) < 20 ? 0 : 1 }],
      ['process.exitCode = 9; a', { shown: '3', code: 9 }], ['[a, process.exitCode]', '[ 3, undefined ]'],
    ]));

    test('children do not get the channel', () => session(node, [
      ['require("child_process").execSync("[ -e /proc/self/fd/3 ] && ls -l /proc/$$/fd/3 | grep -c socket || echo none").toString().trim()', "'none'"],
    ]));

    test('a session exits when its channel is closed', () => with_kernel(node, true, async (kernel) => {
      await kernel.cell('setInterval(() => {}, 1000); 0');
      kernel.channel.destroy();
      assert.equal((await kernel.exited()).code, 0);
    }));

    test('frames are read from pieces and from one buffer', () => with_kernel(node, true, async (kernel) => {
      const write = kernel.channel.write.bind(kernel.channel);
      const said = [];
      kernel.channel.write = (bytes) => said.push(bytes);
      kernel.send_run('cell', 'a', `/* ${'x'.repeat(300000)} */ 1`);
      kernel.send_run('cell', 'b', 'await new Promise((r) => setTimeout(r, 20)); 2');
      kernel.send_run('cell', 'c', '3');
      const all = Buffer.concat(said);
      for (const [from, to] of [[0, 3], [3, 7], [7, 200000], [200000, all.length]]) {
        write(all.subarray(from, to));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await kernel.until(() => kernel.frames.filter(([type]) => type === 'ended').length === 3, 'three ends');
      assert.equal(kernel.frames.filter(([type]) => type === 'shown').map((each) => each[2]).join(), '1,2,3');
    }));
  });
}

describe('imports in a cell', () => {
  const replace = (0, eval)(read('node/node_imports.js'));
  for (const [code, wanted] of [
    ['import a from "b"', 'const { default: a } = await I("b");'],
    ["import { a, b as c } from 'd';x", "const {  a, b: c  } = await I('d');x"],
    ['import * as n from "m"', 'const n = await I("m");'],
    ['import d, * as n from "m"', 'const n = await I("m"), { default: d } = n;'],
    ['import d, { x } from "m"', 'const { default: d,  x  } = await I("m");'],
    ['import {\n  a,\n} from "m"\nz', 'const {  a,  } = await I("m");\n\n\nz'],
    ['import j from "./j.json" with { type: "json" };', 'const { default: j } = await I("./j.json", { with: { type: "json" } });'],
    ['import "m"', 'void await I("m");'],
    ['x = import("m")', 'x = I("m")'], ['[...import.meta.url]', '[...I.meta.url]'],
    ['a.import("m")', 'a.import("m")'], ['a?.import("m")', 'a?.import("m")'],
    ['({ import: 1, import(x) { } })', '({ import: 1, import(x) { } })'],
    ['"import(1)" + /import("x")/ + `import(1) ${import("y")} import(2)`', '"import(1)" + /import("x")/ + `import(1) ${I("y")} import(2)`'],
    ['// import("x")\n/* import "y" */ a / import("z") / 2', '// import("x")\n/* import "y" */ a / I("z") / 2'],
    ['if (x) { import "y" }', 'if (x) { import "y" }'], ['important(1); ximport("m")', 'important(1); ximport("m")'],
    ['`unfinished import("x")', '`unfinished import("x")'], ['import', 'import'], ['import {', 'import {'],
  ])
    test(JSON.stringify(code), () => assert.equal(replace(code, 'I'), wanted));

  test('replacing imports takes linear time', () => {
    for (const code of ['import '.repeat(10000), 'import {'.repeat(20000), 'import('.repeat(20000), `import ${' '.repeat(100000)}`, `import a${'/*'.repeat(30000)}`]) {
      const start = process.cpuUsage();
      replace(code, 'I');
      const { user, system } = process.cpuUsage(start); // not the time of a busy machine
      assert.ok(user + system < 3e6, `${code.slice(0, 20)} took ${user + system} µs`);
    }
  });
});
