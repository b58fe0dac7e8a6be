// tool_help: functions and docstrings of the modules in /tools, parsed and not run.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { refused, sandboxed, structuredOf, textOf } from '../lib/sandboxed.mjs';

const dir = mkdtempSync(join(tmpdir(), 'belljar-tools-'));
chmodSync(dir, 0o755);
after(() => rmSync(dir, { recursive: true, force: true }));
mkdirSync(join(dir, 'geo'));
mkdirSync(join(dir, '__pycache__'));
writeFileSync(join(dir, 'shapes.py'), `"""Shapes, measured.

Second paragraph.
"""
raise SystemExit("it was run")

def area(width: float,
         height: float = 1.0) -> float:  # a comment
    """The area.

    In square units.
    """
    return width * height

class Circle:
    "A circle."
    def __init__(self, radius): ...
    @property
    def size(self) -> float: 'How large.'
    def _hidden(self): ...

def _private(): ...
`);
writeFileSync(join(dir, 'geo', '__init__.py'), "'Geography.'\n");
writeFileSync(join(dir, 'geo', 'maps.py'), 'async def fetch(url): "Get a map."\n');
writeFileSync(join(dir, '_internal.py'), '');
writeFileSync(join(dir, 'not-a-module.py'), '');
writeFileSync(join(dir, 'broken.py'), 'def f(\n"""\0\xff never ends');
writeFileSync(join(dir, 'README.md'), '');

const { tool_help } = sandboxed({ TOOLS_DIR: dir });
const bare = sandboxed();

test('tool_help without arguments lists all modules', async () => {
  const result = await tool_help();
  assert.deepEqual(structuredOf(result).modules, [
    { name: 'broken', summary: '' },
    { name: 'geo', summary: 'Geography.' },
    { name: 'geo.maps', summary: '' },
    { name: 'shapes', summary: 'Shapes, measured.' },
  ]);
  assert.equal(textOf(result), 'broken\ngeo: Geography.\ngeo.maps\nshapes: Shapes, measured.\n');
  assert.equal(result.content[1].text, '[4 modules below /tools; the argument module shows one of them]');
});

test('tool_help with a module lists its functions and classes', async () => {
  const result = await tool_help({ module: 'shapes' });
  assert.equal(textOf(result), `Shapes, measured.

Second paragraph.

area(width: float, height: float = 1.0) -> float
    The area.
class Circle
    A circle.
    __init__(self, radius)
    @property
    size(self) -> float
        How large.
`);
  const { module, doc, functions } = structuredOf(result);
  assert.deepEqual([module, doc], ['shapes', 'Shapes, measured.\n\nSecond paragraph.']);
  assert.deepEqual(functions.map((f) => f.name), ['area', 'Circle', 'Circle.__init__', 'Circle.size']);
  assert.match(textOf(await tool_help({ module: 'geo.maps' })), /^async fetch\(url\)\n {4}Get a map\.\n$/);
  assert.equal(structuredOf(await tool_help({ module: 'geo' })).doc, 'Geography.');
  assert.match(structuredOf(await tool_help({ module: 'broken' })).note, /^broken is not valid Python: /);
});

test('tool_help with a function shows all of its documentation', async () => {
  const result = await tool_help({ module: 'shapes', function: 'area' });
  assert.equal(textOf(result),
    'area(width: float, height: float = 1.0) -> float\n    The area.\n\n    In square units.\n');
  assert.equal(structuredOf(result).functions[0].doc, 'The area.\n\nIn square units.');
  assert.match(textOf(await tool_help({ module: 'shapes', function: 'Circle' })), /class Circle\n.*size\(self\)/s);
});

test('tool_help reports unknown modules and functions', async () => {
  refused(await tool_help({ module: 'nope' }), /^there is no module 'nope' below \/tools; tool_help without arguments lists/);
  refused(await tool_help({ module: 'shapes', function: 'aera' }), /^the module 'shapes' has no 'aera'; did you mean 'area'\?$/);
  refused(await tool_help({ module: 'shapes', function: 'zzzzzz' }), /tool_help with module alone lists its functions$/);
  refused(await tool_help({ module: 'broken', function: 'f' }), /^the module 'broken' is not valid Python: .*; read_file shows its source$/);
  refused(await tool_help({ function: 'area' }), /^argument 'function' needs argument 'module': name the function's module too$/);
  for (const module of ['../etc/passwd', 'a/b', '.a', 'a..b', '1a', 'a b', 'ü'])
    refused(await tool_help({ module }), /^argument 'module': expected names with dots between/);
  refused(await tool_help({ module: 'a', function: 'b()' }), /^argument 'function': expected a name/);
  refused(await tool_help({ module: 'x'.repeat(201) }), /^argument 'module'/);
});

test('tool_help without a tools directory says how to set one', async () => {
  refused(await bare.tool_help(), /^there are no tools of the user's own here: start the server with --tools-dir DIR/);
});
