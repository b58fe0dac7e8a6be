// sizes.mjs - bytes that descriptions and answers cost, beside the JSON of E2B's code interpreter
// (results[], logs.stdout[], logs.stderr[], error), which is computed from the same output; for a table
// E2B sends HTML as well, which is not counted.
import { open } from '../e2e/lib/sandboxed.mjs';

const TABLE =
  'try:\n import pandas\n t = pandas.DataFrame({f"c{i}": range(50) for i in range(30)})\n' +
  'except ImportError:\n' +
  ' class T:\n' +
  '  def __repr__(self): return "\\n".join(" ".join(f"{i:4}" for _ in range(30)) for i in range(50))\n' +
  '  def _repr_html_(self): return "<table>" + ("<tr>" + "<td>1</td>" * 30 + "</tr>") * 50 + "</table>"\n' +
  ' t = T()\nt';
const PLOT = 'import matplotlib.pyplot as p\np.plot([1, 2, 3]);';
const bytes = (value) => Buffer.byteLength(JSON.stringify(value));

const cleanups = [];
const session = await open({ after: (fn) => cleanups.push(fn) });
const call = (name, args) => session.call({ name, arguments: args });
const report = (what, text, structured, other) =>
  console.log(`${what.padEnd(28)} ${String(text).padStart(8)} text ${String(structured).padStart(8)} structured` +
    (other === undefined ? '' : ` ${String(other).padStart(8)} E2B`));

const { tools } = await session.client.listTools();
const seen = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
console.log(`tools/list                   ${bytes(tools)} bytes, ${bytes(seen)} of them for a model`);
for (const [what, name, args] of [
  ['print(1)', 'run_code', { code: 'print(1)' }],
  ['a table of 50 x 30', 'run_code', { code: TABLE, session: 'table' }],
  ['a plot', 'run_code', { code: PLOT, session: 'plot' }],
]) {
  const { content, structuredContent } = await call(name, args);
  const stdout = structuredContent?.stdout ?? '';
  const results = structuredContent?.values?.map((v) => ({ text: v.text ?? '', is_main_result: true })) ??
    content.filter((block) => block.type === 'image').map((block) => ({ png: block.data, is_main_result: true }));
  report(what, bytes(content), bytes(structuredContent ?? {}),
    bytes({ results, logs: { stdout: stdout ? [stdout] : [], stderr: [] }, error: null, execution_count: 1 }));
}
await call('run_command', { command: 'seq -f "line %g of a file" 1000 > lines.txt' });
const { content, structuredContent } = await call('read_file', { path: 'lines.txt' });
report('a file of 1,000 lines', bytes(content), bytes(structuredContent ?? {}), bytes(content[0].text));
await session.close();
for (const fn of cleanups) await fn();
