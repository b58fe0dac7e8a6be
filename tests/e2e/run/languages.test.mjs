// Sessions of languages other than Python, snippets of Java, and compilers that cannot compile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dirname } from 'node:path';
import { open, sandboxed, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { run_code } = tools;

/** Asserts that members of the structured content are as wanted: equal, or matching a RegExp. */
function hasMembers(got, want, code) {
  for (const [key, value] of Object.entries(want)) {
    const where = `${key} of ${code}: ${JSON.stringify(got)}`;
    if (value instanceof RegExp) assert.match(typeof got[key] === 'object' ? JSON.stringify(got[key]) : String(got[key]), value, where);
    else assert.deepEqual(got[key], value, where);
  }
}

// Runs the cells [code, expected, arguments] of one session, one after the other. `expected` is stdout,
// or members of the structured content.
function session(language, cells) {
  test(`a session of ${language}: ${cells[0][0].split('\n')[0]}`, async (t) => {
    if (!structuredOf(await tools.sandbox_info()).languages.includes(language)) return t.skip(`no ${language}`);
    const name = `${language}-${Math.random()}`;
    for (const [code, expected, more] of cells) {
      const result = await run_code({ language, session: name, code, ...more });
      hasMembers(structuredOf(result), typeof expected === 'string' ? { stdout: expected, exit_code: 0 } : expected, code);
    }
  });
}

session('bash', [
  ['x=5; declare -A m=([a]=b); f() { echo "f $x ${m[a]}"; }; alias ll="echo listed"; mkdir -p d && cd d', ''],
  ['f; ll; pwd', 'f 5 b\nlisted\n/workspace/d\n'],
  ['false', { exit_code: 1 }],
  ['echo $?', '1\n'],
  ['if true; then', { exit_code: 2, stderr: /line 2: syntax error/ }],
  ['echo one\nnot-a-program', { exit_code: 127, stdout: 'one\n', stderr: 'bash: line 2: not-a-program: command not found\n' }],
  ['x=6; exit 3', { exit_code: 3 }],
  ['echo "$?"; f; ll; pwd', '3\nf 6 b\nlisted\n/workspace/d\n'],
  ['pwd; read line; echo "$line $A $1"', '/\nfrom stdin value one\n', { stdin: 'from stdin\n', env: { A: 'value' }, args: ['one'], cwd: '/' }],
  ['echo "[$A]"; cat', '[]\n'],
]);

session('bash', [
  ['set -eu; x=1', ''],
  ['x=2; false; echo no', { exit_code: 1, stdout: '' }],
  ['echo $x; x=3; echo $missing', { stdout: '2\n', stderr: /missing: unbound variable/ }],
  ['echo $x; set +eu; set -x', '3\n'],
  ['echo traced', { stdout: 'traced\n', stderr: /^\++ echo traced\n$/ }],
  ['set +x; IFS=:; TMOUT=1; printf() { echo replaced; }; read() { return 1; }', ''],
  ['sleep 1.5; printf x; exec 3>three; echo kept >&3; cat three', 'replaced\nkept\n'],
]);

test('a bash cell that takes too long is interrupted, and the session keeps its state', async () => {
  const run = (code, more) => run_code({ language: 'bash', session: 'slow', code, ...more });
  for (const code of ['sleep 600', 'while :; do :; done', 'sleep 600 | cat']) {
    const { timed_out } = structuredOf(await run(`x='${code}'; ${code}; echo no`, { timeout_s: 2 }));
    assert.equal(timed_out, true);
    assert.equal(structuredOf(await run('echo "$x"')).stdout, `${code}\n`);
  }
});

session('bash', [
  ['x=5; exec() { echo exec; }; local() { echo local; }; return() { echo return; }; eval() { echo eval; }; IFS=0123456789', ''],
  ['IFS=; cat; exec', 'in\nexec\n', { stdin: 'in\n' }],
  ['x=6; exit 3', { exit_code: 3, stderr: '' }],
  ['echo $x; local; exec', '6\nlocal\nexec\n'],
]);

test('process_stop ends a session, and its name can be used again', async () => {
  const run = (code, more) => run_code({ language: 'bash', session: 'over', code, ...more });
  const names = async () => structuredOf(await tools.sandbox_info()).sessions?.map(({ session }) => session) ?? [];
  await run('x=1');
  assert.ok((await names()).includes('over'));
  const ended = await tools.process_stop({ session: 'over' });
  assert.equal(textOf(ended), "[the session 'over' has ended, and its state is gone]");
  assert.equal(structuredOf(ended).session, 'over');
  assert.ok(!(await names()).includes('over'));
  hasMembers(structuredOf(await run('echo "[$x]"')), { stdout: '[]\n', state_lost: undefined }, 'a new session');
  const { process } = structuredOf(await run('sleep 600', { background: true }));
  assert.match(textOf(await tools.process_stop({ session: 'over' })), /^argument 'session': code runs in 'over': stop its process first/);
  await tools.process_stop({ process });
  structuredOf(await tools.process_stop({ session: 'over' }));
  assert.match(textOf(await tools.process_stop({ session: 'over' })), /^argument 'session': there is no session 'over'; sandbox_info lists them/);
  assert.match(textOf(await tools.process_stop({ process, session: 'over' })), /^arguments 'process' and 'session': give one of them/);
});

test('a bash session that ends says so', async () => {
  const run = (code) => run_code({ language: 'bash', session: 'ends', code });
  await run('x=1');
  assert.match(textOf(await run('exec true')), /state/);
  assert.match(textOf(await run('echo "[$x]"')), /\[\]/);
});

test('stdout and stderr of Ruby are answered in the order of the writes', async (t) => {
  if ((await run_code({ language: 'ruby', code: ' ' })).isError) return t.skip('no ruby');
  const code = "10.times { |i| puts \"o#{i}\"; warn \"e#{i}\" }; nil";
  const want = Array.from({ length: 10 }, (_, i) => `o${i}\n[belljar: stderr]\ne${i}\n`).join('[belljar: stdout]\n');
  for (let i = 0; i < 3; i++) assert.equal((await run_code({ language: 'ruby', session: 'order', code })).content[0].text, want);
});

session('ruby', [
  ["x = 5; def twice(n) = n * 2; puts 'hi'; require 'json'", 'hi\n'],
  ['twice(x)', { values: [{ mime: 'text/plain', text: '10' }] }],
  ['x = _ + 1', { values: undefined, exit_code: 0 }],
  ['puts JSON.generate([x])', '[11]\n'],
  ['if x', { exit_code: 1, error: /SyntaxError/ }],
  ['def half\n  x / 0\nend\n\n1 / 0', { exit_code: 1, error: /ZeroDivisionError.*<cell 6>:5/ }],
  ['x = 12; exit 3', { exit_code: 3 }],
  ["puts x, $stdin.gets, ENV['A'], ARGV, Dir.pwd", '12\nline\nvalue\none\n/\n', { stdin: 'line\n', env: { A: 'value' }, args: ['one'], cwd: '/' }],
  ["p $stdin.gets, ENV['A']", 'nil\nnil\n'],
  ['x = 13; sleep 600', { timed_out: true }, { timeout_s: 2 }],
  ['puts x', '13\n'],
]);

session('r', [
  ['x <- 5; twice <- function(a) a * 2; cat("hi\\n")', 'hi\n'],
  ['twice(x); invisible(1); data.frame(a = 1:2)', '[1] 10\n  a\n1 1\n2 2\n'],
  ['if (', { exit_code: 1, error: /unexpected end of input/ }],
  ['g <- function(a) stop("boom")\ntwice <- function(a) g(a)\ntwice(1)', { exit_code: 1, error: /Error in g\(a\) : boom\\nCalls: twice -> g\\nat line 3/ }],
  ['x <- 6; warning("careful"); q(status = 3)', { exit_code: 3, stderr: 'Warning: careful\n' }],
  ['cat(x, readLines(file("stdin")), Sys.getenv("A"), commandArgs(TRUE), getwd())', '6 line value one /',
    { stdin: 'line\n', env: { A: 'value' }, args: ['one'], cwd: '/' }],
  ['length(readLines(file("stdin"))); Sys.getenv("A")', '[1] 0\n[1] ""\n'],
  ['f <- file("/tmp/opened", "w"); sink("/tmp/sunk"); closeAllConnections(); base::closeAllConnections(); isOpen(f)', { exit_code: 1, error: /invalid connection/ }],
  ['x <- 7; Sys.sleep(600)', { timed_out: true }, { timeout_s: 2 }],
  ['x', '[1] 7\n'],
]);

const slow = { timeout_s: 120 }; // Java starts in seconds on a busy machine
session('java', [
  ['import java.util.stream.*;\nint x = 5;\nint twice(int n) { return n * 2; }\nSystem.out.println("hi");', 'hi\n', slow],
  ['record P(int a) {}\nnew P(twice(x))', { values: [{ mime: 'text/plain', text: 'P[a=10]' }], stdout: '' }, slow],
  ['int half(int n) {\n  return n / 0;\n}\nhalf(1)', { exit_code: 1, error: /"java\.lang\.ArithmeticException","message":"\/ by zero".*at half, cell 3, line 2\\n\\tat cell 3, line 4/ }, slow],
  ['int down(int n) { return down(n + 1); }\ndown(0)', { exit_code: 1, error: /"java\.lang\.StackOverflowError",.{1,6000}$/ }, slow],
  ['int y = missing;', { exit_code: 1, error: /CompileError.*cannot find symbol/ }, slow],
  ['public class Main { public static void main(String[] a) { System.out.println(a[0] + new Scanner(System.in).nextLine()); } }',
    'one line\n', { ...slow, args: ['one '], stdin: 'line\n' }],
  ['x = 7; while (true) { }', { timed_out: true }, { timeout_s: 3 }],
  ['System.out.println(x + System.in.read());', '6\n', slow],
  ['x', { exit_code: 1, error: /working directory/ }, { ...slow, cwd: '/tmp' }],
  ['System.exit(3)', { exit_code: 3, state_lost: true }, slow],
]);

test('a plot of R is a picture', async (t) => {
  const result = await run_code({ language: 'r', session: 'plots', code: 'cat("before\\n"); plot(1:3); capabilities("png")' });
  if (result.isError || !/TRUE/.test(textOf(result))) return t.skip('no R, or it makes no pictures');
  assert.equal(result.content.find(({ type }) => type === 'image')?.mimeType, 'image/png');
});

test('a session of TypeScript without its runtime says what is missing', async (t) => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({ env: { PATH: '/workspace/bin' } })); // without tsc
  await tools.run_command({ sandbox, argv: ['/bin/mkdir', 'bin'] });
  for (const name of ['sh', 'node']) await tools.run_command({ sandbox, argv: ['/bin/ln', '-s', `/usr/bin/${name}`, 'bin'] });
  const { stdout } = structuredOf(await tools.run_command({ sandbox, command: 'node --version || true' }));
  const [major, minor] = stdout.slice(1).split('.').map(Number);
  if (!(major < 22 || (major === 22 && minor < 13))) return t.skip('no Node, or one that removes types');
  if (major < 22 || minor < 6) { // as a tool's error, not as one of the code
    const fresh = await run_code({ sandbox, language: 'typescript', code: 'let a: number = 5' });
    assert.equal(fresh.isError, true);
    assert.match(textOf(fresh), /^typescript needs Node 22\.6 or later, or the package typescript below version 7: install_packages \{"packages":\["typescript@5"\],"language":"javascript"\}/);
  }
  const { error } = structuredOf(await run_code({ sandbox, language: 'typescript', session: 'untyped', code: 'let a: number = 5' }));
  assert.match(`${error.traceback ?? error.message}`, /^(Error: )?a session of TypeScript needs Node 22\.13 or later \(this is [\d.]+\), or the package typescript/);
});

test('a session of TypeScript', async (t) => {
  // The Node of these tests, which can remove types, in place of that of the machine.
  const server = await open(t, { MOUNTS: `${dirname(process.execPath)}:/home/coderunner/.local/bin` });
  const tools = toolsOf(() => server);
  const cell = async (code) => structuredOf(await tools.run_code({ language: 'typescript', session: 'types', code }));
  await cell('interface P { a: number }\nlet x: number = 5;\nfunction f(p: P): number { return p.a * x }');
  assert.deepEqual((await cell('f({ a: 2 } as P)')).values, [{ mime: 'text/plain', text: '10' }]);
  assert.equal((await cell('let y: = 5')).error.name, 'SyntaxError');
  assert.deepEqual(await cell('console.log(x as number)').then(({ stdout, stderr }) => ({ stdout, stderr })), { stdout: '5\n', stderr: '' });
  const other = await tools.run_code({ language: 'javascript', session: 'types', code: '1' });
  assert.match(textOf(other), /'types' is a session of typescript/);
  await server.close();
});

test('JavaScript without a session answers the value of its last statement', async (t) => {
  if ((await run_code({ language: 'javascript', code: ' ' })).isError) return t.skip('no Node');
  const run = async (code) => structuredOf(await run_code({ language: 'javascript', code }));
  hasMembers(await run('console.log("out")\nconst x = { a: [1, 2] }\nx'),
    { stdout: 'out\n', values: [{ mime: 'text/plain', text: '{ a: [ 1, 2 ] }' }], exit_code: 0 }, 'an object');
  hasMembers(await run('const { EOL } = await import("os"); EOL.length'), { values: [{ mime: 'text/plain', text: '1' }] }, 'a module');
  hasMembers(await run('setTimeout(() => console.log("late"), 20)'), { stdout: 'late\n', values: undefined }, 'a timer');
  hasMembers(await run('let a = 1\nnope()'), { stderr: /main\.js:2\nnope\(\)\n\^[^]*main\.js:2:1/, values: undefined, exit_code: 1 }, 'an error');
  const many = await run('for (let i = 0; i < 3000; i++) console.log("line", i)\n"last"');
  hasMembers(many, { values: [{ mime: 'text/plain', text: "'last'" }] }, 'much output');
  assert.equal(textOf(await run_code({ language: 'javascript', code: 'console.log("before")\n1 + 1' })), 'before\n2');
});

test('errors of fresh runs name the code without its random directory', async () => {
  const cases = [
    ['python', 'def f():\n    1 / 0\nf()', /File "main\.py", line 3, in <module>\n    f\(\)\n.*File "main\.py", line 2, in f\n    1 \/ 0\n/s],
    ['javascript', 'null.x', /^main\.js:1\nnull\.x\n/],
    ['javascript', 'await null; throw Error(1)', /at main\.mjs:1:/],
    ['ruby', 'nope', /main\.rb:1:in/],
    ['bash', 'nope', /^main\.sh: line 1: nope: command not found/],
    ['c', 'int main() { return x; }', /^main\.c:1:21: error: /m],
    ['java', 'public class Main { public static void main(String[] a) { int x = "a"; } }', /^Main\.java:1: error: /],
  ];
  for (const [language, code, want] of cases) {
    const result = await run_code({ language, code });
    if (/there is no interpreter for/.test(textOf(result))) continue;
    assert.match(structuredOf(result).stderr, want);
    assert.doesNotMatch(textOf(result), /belljar-\d/);
  }
  assert.match(structuredOf(await run_code({ code: 'print(__file__)' })).stdout, /^\/\S+\/belljar-\d+\/main\.py\n$/);
});

test('JavaScript that awaits at its top level may call require()', async (t) => {
  if (!structuredOf(await tools.sandbox_info()).languages.includes('javascript')) return t.skip('no javascript');
  const code = "const os = require('os'), own = require('./own.js');\nawait null;\nconsole.log(typeof os.EOL, own, typeof module)";
  const files = [{ path: 'own.js', content: 'module.exports = 5' }];
  assert.equal(structuredOf(await run_code({ language: 'javascript', code, files })).stdout, 'string 5 undefined\n');
});

test('TypeScript without a session answers the value of its last statement, if Node runs it', async (t) => {
  const server = await open(t, { MOUNTS: `${dirname(process.execPath)}:/home/coderunner/.local/bin` });
  const { run_code } = toolsOf(() => server);
  const run = async (code) => structuredOf(await run_code({ language: 'typescript', code }));
  const value = (text) => ({ values: [{ mime: 'text/plain', text }], exit_code: 0, stderr: '' });
  hasMembers(await run('interface P { a: number }\nconst x: P = { a: 2 }\nx as P'), value('{ a: 2 }'), 'a script');
  hasMembers(await run('import { EOL } from "os"\nconst n: number = EOL.length\nn + 1'), value('2'), 'a module');
  hasMembers(await run('enum E { A, B }\nE.B'), value('1'), 'more than types');
  hasMembers(await run('const a: number = 1\nnope()'), { stderr: /main\.ts:2\nnope\(\)\n\^/, values: undefined, exit_code: 1 }, 'an error');
  hasMembers(await run('let y: = 5'), { stderr: /main\.ts:1\nlet y: = 5\n/, values: undefined, exit_code: 1 }, 'wrong syntax');
  await server.close();
});

test('TypeScript runs through the package that has tsc, if Node is older', async (t) => {
  const { stdout } = structuredOf(await tools.run_command({ command: 'node --version; f=$(readlink -f "$(command -v tsc)"); ls "${f%/*/*}/lib/typescript.js"' }));
  const [, major, minor] = stdout.match(/^v(\d+)\.(\d+)/) ?? [];
  if (!major || major > 22 || (major === '22' && minor > 5) || !stdout.includes('typescript.js')) return t.skip('no tsc, or a Node that removes types');
  const run = async (code) => structuredOf(await run_code({ language: 'typescript', code }));
  const value = (text) => ({ values: [{ mime: 'text/plain', text }], exit_code: 0, stderr: '' });
  hasMembers(await run('interface P { a: number }\nconst x: P = { a: 2 }\nx as P'), value('{ a: 2 }'), 'a script');
  hasMembers(await run('import { EOL } from "os"\nconst n: number = await Promise.resolve(EOL.length)\nn + 1'), value('2'), 'a module');
  hasMembers(await run('enum E { A, B }\ntypeof process.env.HOME + E.B'), value("'string1'"), 'more than types');
  hasMembers(await run('const a: number = 1\nnope()'), { stderr: /main\.ts:2\nnope\(\)/, values: undefined, exit_code: 1 }, 'an error');
  hasMembers(await run('let y: = 5'), { stderr: /^main\.ts: SyntaxError: line 1: Type expected\.\n$/, values: undefined, exit_code: 1 }, 'wrong syntax');
  const cell = async (code) => structuredOf(await run_code({ language: 'typescript', session: 'by_tsc', code }));
  await cell('let x: number = 5;\nfunction f(a: number): number { return a * x }');
  hasMembers(await cell('f(2)'), value('10'), 'a session');
});

test('Ruby without a session answers the value of its last expression', async (t) => {
  if ((await run_code({ language: 'ruby', code: ' ' })).isError) return t.skip('no Ruby');
  const cases = [
    ["puts 'out'\nx = [1, { a: 2 }]\nx.first", { stdout: 'out\n', values: [{ mime: 'text/plain', text: '1' }], exit_code: 0 }],
    ['[3, 4].each { |n| puts n }', { stdout: '3\n4\n', values: undefined }],
    ['[3, 4].map { |n| n * 2 }', { values: [{ mime: 'text/plain', text: '[6, 8]' }] }],
    ["puts 1 if __FILE__ == $0\n", { stdout: '1\n', values: undefined }],
    ["fork { 7 }\nProcess.wait\n'\u00e9'", { values: [{ mime: 'text/plain', text: '"\u00e9"' }] }],
    ['at_exit { puts :late }\nputs DATA.read, ARGV, $stdin.read, Dir.pwd\nreturn\n5\n__END__\ndata',
      { stdout: 'data\nan argument\ninput\n/tmp\nlate\n', values: undefined }, { args: ['an argument'], stdin: 'input', cwd: '/tmp' }],
    ["def f = raise('inner')\nbegin\n  f\nrescue => e\n  raise ArgumentError, 'outer'\nend",
      { exit_code: 1, stderr: /^main\.rb:5:in .* outer \(ArgumentError\)\n\tfrom main\.rb:2:in `<main>'\nmain\.rb:1:in `f': inner \(RuntimeError\)\n\tfrom main\.rb:3:in `<main>'\n$/ }],
    ['1 +', { exit_code: 1, stderr: /^main\.rb:1: syntax error/ }],
    ['exit 3', { exit_code: 3, stderr: '' }],
    ['Class.new { def inspect = raise }.new', { exit_code: 0, values: undefined, stderr: '' }],
    ['sleep 60', { timed_out: true }, { timeout_s: 2 }],
  ];
  for (const [code, want, more] of cases) hasMembers(structuredOf(await run_code({ language: 'ruby', code, ...more })), want, code);
});

test('a plot of R without a session is a picture', async (t) => {
  const code = 'cat("before\\n"); plot(1:3); if (!capabilities("png")) stop("no pictures"); q(status = 3)';
  const result = await run_code({ language: 'r', cwd: '/tmp', code });
  if (result.isError || /no pictures/.test(textOf(result))) return t.skip('no R, or it makes no pictures');
  assert.match(textOf(result), /^before\n\[belljar: picture: \/workspace\/\.belljar\/image-\d+\.png\]$/);
  assert.deepEqual(result.content.map(({ type, text }) => text ?? type).slice(1), ['image', '[belljar: exit code 3]']);
  const junk = structuredOf(await run_code({ language: 'r', code: 'system("echo no message >&3"); plot(1); cat(file.exists("Rplots.pdf"))' }));
  hasMembers(junk, { stdout: 'FALSE', exit_code: 0, values: undefined }, 'a message that breaks the protocol');
  await tools.write_file({ path: '.Rprofile', content: 'options(mine = 5)\n' });
  hasMembers(structuredOf(await run_code({ language: 'r', code: 'getOption("mine"); commandArgs(TRUE)', args: ['a'] })),
    { stdout: '[1] 5\n[1] "a"\n' }, "the user's profile");
});

// Starting Java takes seconds on a busy machine: few cases, one after the other.
test('Java takes snippets', async (t) => {
  const first = await run_code({ language: 'java', code: 'int x = 3; x*2', timeout_s: 120 });
  if (first.isError) return t.skip('no Java');
  assert.equal(textOf(first), '6\n');
  const calls = 'int twice(int x) { return add(x, x); }\nint add(int x, int y) { return x + y; }\nrecord P(int a) {}\n';
  const cases = [
    [`${calls}System.out.println(twice(21));\nList.of(new P(1)) + args[0] + new Scanner(System.in).nextLine()`,
      { exit_code: 0, stdout: '42\n"[P[a=1]]a \\"b\\"c"\n', stderr: '' }, { args: ['a "b"'], stdin: 'c\n' }],
    ['int x = 1;\nint y = missing;\nSystem.out.println(1);', { exit_code: 1, stdout: '', stderr: /^line 2: error: cannot find symbol/ }],
    ['int half(int x) {\n  return x / 0;\n}\nhalf(1)', { exit_code: 1, stderr: /ArithmeticException: \/ by zero\n\tat half, line 2\n\tat line 4/ }],
    ['class A { }', { exit_code: 1, stderr: /nothing was run/ }],
  ];
  for (const [code, want, more] of cases) {
    hasMembers(structuredOf(await run_code({ language: 'java', code, timeout_s: 120, ...more })), want, code);
  }
});

test('Java runs the class that has main, wherever it is in the file', async (t) => {
  const run = async (code) => run_code({ language: 'java', code, args: ['x'], timeout_s: 120 });
  const main = '{ public static void main(String[] a) { System.out.println(Other.N + a[0]); } }';
  const first = await run(`class Other { static int N = 3; }\npublic class App ${main}`);
  if (first.isError) return t.skip('no Java');
  assert.equal(textOf(first), '3x\n');
  assert.equal(textOf(await run(`  package p;\n  public class Other { static int N = 4; }\n  class Last ${main}`)), '4x\n');
});

test('Java tells a compile error apart, and checks what the code asserts', async (t) => {
  const run = (body) => run_code({ language: 'java', code: `public class Main { public static void main(String[] a) { ${body} } }`, timeout_s: 120 });
  const first = await run('System.uto.println(1);');
  if (first.isError) return t.skip('no Java');
  hasMembers(structuredOf(first), { exit_code: 1, compile_error: true, stdout: '', stderr: /Main\.java:1: error: cannot find symbol/ }, 'an error');
  hasMembers(structuredOf(await run('assert 1 == 2 : "told";')), { exit_code: 1, compile_error: undefined, stderr: /AssertionError: told/ }, 'an assertion');
  const { stderr } = structuredOf(await run('main(a);'));
  assert.match(stderr, /^Exception in thread "main" java\.lang\.StackOverflowError\n(\tat Main\.main\(Main\.java:1\)\n){200}$/);
});

test('TypeScript that only tsc can compile runs without a check of its types', async (t) => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({ env: { PATH: '/workspace/bin' } }));
  await tools.run_command({ sandbox, argv: ['/bin/mkdir', 'bin'] });
  for (const name of ['sh', 'node', 'tsc']) await tools.run_command({ sandbox, argv: ['/bin/ln', '-s', `/usr/bin/${name}`, 'bin'] });
  const run = async (code, more) => run_code({ sandbox, language: 'typescript', code, timeout_s: 120, ...more });
  if ((await run('1')).isError) return t.skip('no tsc');
  const cases = [
    ['import assert from "assert";\nassert.strictEqual(1, 2);', { exit_code: 1, compile_error: undefined, stderr: /AssertionError/ }],
    ['process.stdin.on("data", (b: Buffer) => console.log(parseInt(b.toString())));', { exit_code: 0, stdout: '65\n', stderr: '' }, { stdin: '65' }],
    ['enum E { A = 3 }\nconst x: number = "typed wrong";\nconsole.log(await Promise.resolve(E.A), x);', { exit_code: 0, stdout: '3 typed wrong\n' }],
    ['let x: = 1;', { exit_code: 1, compile_error: true, stderr: /main\.ts:1:8: Type expected/ }],
  ];
  for (const [code, want, more] of cases) hasMembers(structuredOf(await run(code, more)), want, code);
  const cell = async (code) => structuredOf(await run(code, { session: 'types' }));
  assert.equal((await cell('let n: number = 5')).exit_code, 0);
  assert.deepEqual((await cell('n as number')).values, [{ mime: 'text/plain', text: '5' }]);
});

// Languages with a command line of more than one step, or that few machines have.
for (const [language, code, want] of [
  ['kotlin', 'println("script " + args.joinToString())', { stdout: 'script x\n', exit_code: 0 }],
  ['kotlin', 'fun main(a: Array<String>) {\n  println("program " + a[0] + readLine())\n}', { stdout: 'program xin\n', exit_code: 0 }],
  ['kotlin', 'fun main() {\n  nope()\n}', { compile_error: true, stderr: /unresolved reference/i }],
  ['kotlin', 'fun main() {\n  throw Exception("told")\n}\n\nmain()', { stderr: /Exception: told/, compile_error: undefined }],
  ['scala', 'object App {\n  def main(a: Array[String]): Unit = println("scala " + a(0))\n}', { stdout: 'scala x\n', exit_code: 0 }],
  ['rust', 'fn main() { let n: i32 = std::env::args().count() as i32; println!("{}", i32::MAX - 1 + n); }', { stderr: /attempt to add with overflow/ }],
  ['haskell', 'import qualified Data.Map as M\nmain = interact id >> print (M.fromList [(1, 2)])', { stdout: 'in\nfromList [(1,2)]\n', exit_code: 0 }],
  ['racket', '\n#lang racket\n(display (read-line))', { stdout: 'in', exit_code: 0 }],
  ['clojure', '(println (read-line) *command-line-args*)', { stdout: 'in (x)\n', exit_code: 0 }],
  ['groovy', 'println "groovy ${args[0]}"', { stdout: 'groovy x\n', exit_code: 0 }],
  ['crystal', 'puts "#{gets} #{ARGV[0]}"', { stdout: 'in x\n', exit_code: 0 }],
  ['coffeescript', 'console.log "coffee #{process.argv[2]}"', { stdout: 'coffee x\n', exit_code: 0 }],
  ['verilog', 'module t; initial begin $display("verilog"); $finish; end endmodule', { stdout: /^verilog\n/, exit_code: 0 }],
]) {
  test(`${language} runs ${code.trim().split('\n')[0]}`, async (t) => {
    const result = await run_code({ language, code, args: ['x'], stdin: 'in\n', timeout_s: 240 });
    if (/^there is no interpreter/.test(textOf(result))) return t.skip(`no ${language}`);
    hasMembers(structuredOf(result), want, code);
  });
}

test('a time limit that is over before the interpreter has started is a time-out', async () => {
  for (const more of [{}, { session: 'late' }]) {
    const { id: sandbox } = structuredOf(await tools.create_sandbox({}));
    const result = await run_code({ sandbox, code: 'import time; time.sleep(60)', timeout_s: 0.01, ...more });
    assert.equal(result.isError ?? false, false, textOf(result));
    hasMembers(structuredOf(result), { timed_out: true }, 'sleep');
    await tools.delete_sandbox({ sandbox });
  }
});

test('lines may end as those of Windows do', async () => {
  const code = { python: "if 1:\r\n  print('''a\r\nb''')\r\n", bash: 'if true; then\r\n  printf "a\\nb\\n"\r\nfi\r\n' };
  for (const [language, text] of Object.entries(code))
    for (const session of [undefined, `${language}-windows`])
      hasMembers(structuredOf(await run_code({ language, code: text, session })), { stdout: 'a\nb\n', stderr: '' }, language);
});

test('the fence of Markdown around code is removed', async () => {
  const fenced = structuredOf(await run_code({ code: '```python\nprint("in")\n1 / 0\n```\n' }));
  hasMembers(fenced, { stdout: 'in\n', stderr: /line 2, in <module>\n/ }, 'python');
  assert.equal(textOf(await run_code({ language: 'bash', session: 'fence', code: '```\necho in\n```' })), 'in\n');
  assert.equal(textOf(await run_code({ code: 'print("""\n```""")' })), '\n```\n');
});

test('a compiler that cannot compile is not offered', async () => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({}));
  for (const name of ['cc', 'gcc', 'clang', 'tcc'])
    structuredOf(await tools.write_file({ sandbox, path: `/home/coderunner/.local/bin/${name}`, content: '#!/bin/sh\nexit 1\n', executable: true }));
  const { languages } = structuredOf(await tools.sandbox_info({ sandbox }));
  assert.deepEqual(['c', 'cpp', 'python'].filter((name) => languages.includes(name)), ['cpp', 'python']);
});

test('the first run finds Python along PATH, also under its other name', async () => {
  const { id: sandbox } = structuredOf(await tools.create_sandbox({ env: { PATH: '/workspace/bin' } }));
  const path = { mine: '/workspace/bin/python3', other: '/workspace/bin/python' };
  await tools.run_command({ sandbox, argv: ['/bin/mkdir', 'bin'] });
  for (const [from, to] of [['/bin/sh', '/workspace/bin/sh'], ['/usr/bin/python3', path.other]])
    await tools.run_command({ sandbox, argv: ['/bin/ln', '-s', from, to] });
  const code = 'import sys; print(sys.executable)';
  hasMembers(structuredOf(await run_code({ sandbox, code })), { stdout: `${path.other}\n`, exit_code: 0 }, code);
  await tools.delete_sandbox({ sandbox });
  const again = structuredOf(await tools.create_sandbox({ env: { PATH: '/workspace/bin:/usr/bin' } })).id;
  await tools.run_command({ sandbox: again, argv: ['/bin/mkdir', 'bin'] });
  await tools.run_command({ sandbox: again, argv: ['/bin/ln', '-s', '/usr/bin/python3', path.mine] });
  hasMembers(structuredOf(await run_code({ sandbox: again, code })), { stdout: `${path.mine}\n`, exit_code: 0 }, code);
  await tools.delete_sandbox({ sandbox: again });
});

// Files that a call brings along are in the working directory, and the saved code is elsewhere.
for (const [language, code, path, content] of [
  ['c', '#include "beside.h"\n#include <stdio.h>\nint main(void) { printf("%d\\n", H); }', 'beside.h', '#define H 7\n'],
  ['cpp', '#include "beside.h"\n#include <iostream>\nint main() { std::cout << H << "\\n"; }', 'beside.h', '#define H 7\n'],
  ['ruby', "require_relative 'beside/one'\nputs H", 'beside/one.rb', "require_relative 'two'\n"],
])
  test(`code finds files of the call: ${language}`, async (t) => {
    if (!structuredOf(await tools.sandbox_info()).languages.includes(language)) return t.skip(`no ${language}`);
    const files = [{ path, content }, { path: 'beside/two.rb', content: 'H = 7' }];
    const { stdout, stderr } = structuredOf(await run_code({ language, code, files }));
    assert.deepEqual({ stdout, stderr }, { stdout: '7\n', stderr: '' });
    if (language !== 'ruby') return;
    const missing = structuredOf(await run_code({ language, code: "require_relative 'nothing'" }));
    assert.match(missing.stderr, /^main\.rb:1:in .*cannot load such file -- \/workspace\/nothing \(LoadError\)/);
  });
