// The file tools: their results, limits and errors.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { refused, sandboxed, shellOf, structuredOf, textOf } from '../lib/sandboxed.mjs';

const tools = sandboxed();
const { read_file, write_file, edit_file, list_directory, search_files, delete_path, run_command } = tools;

const sh = shellOf(run_command);
const write = async (path, content, more) => structuredOf(await write_file({ path, content, ...more }));
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

// --- read_file

test('read_file returns what write_file wrote', async () => {
  assert.deepEqual(await write('a/b/notes.txt', 'one\ntwo\nthrée\n'), {
    path: 'a/b/notes.txt', bytes: 15, size: 15, created: true,
  });
  const result = await read_file({ path: '/workspace/a/b/notes.txt' });
  assert.equal(textOf(result), 'one\ntwo\nthrée\n');
  const note = '/workspace/a/b/notes.txt: lines 1 to 3 (the last), 15 bytes in all';
  assert.equal(result.content[1].text, `[${note}]`);
  assert.deepEqual(structuredOf(result), {
    path: '/workspace/a/b/notes.txt', text: 'one\ntwo\nthrée\n', first_line: 1, lines: 3, size: 15,
    total_lines: 3, note,
  });
});

test('read_file returns a range of lines with numbers', async () => {
  await write('range.txt', 'a\nb\nc\nd');
  const result = await read_file({ path: 'range.txt', offset: 2, limit: 2, numbers: true });
  assert.equal(textOf(result), '     2\tb\n     3\tc\n');
  assert.equal(structuredOf(result).next_offset, 4);
  assert.match(result.content[1].text, /lines 2 to 3, 7 bytes in all; there is more: go on with offset 4\]$/);
  const last = await read_file({ path: 'range.txt', offset: 4, numbers: true });
  assert.equal(textOf(last), '     4\td');
  assert.equal(last.content[1].text, '[range.txt: line 4 (the last), 7 bytes in all]');
  const past = await read_file({ path: 'range.txt', offset: 9 });
  assert.equal(textOf(past), '[range.txt has fewer than 9 lines (7 bytes)]');
});

test('a long file is read in parts', async () => {
  await sh('seq 1 20000 > long.txt');
  let text = '';
  let offset = 1;
  let parts = 0;
  while (offset !== undefined) {
    const result = await read_file({ path: 'long.txt', offset, limit: 100000 });
    const part = structuredOf(result);
    assert.ok(part.text.length <= 24000, 'an answer is bounded');
    assert.equal(part.text, textOf(result));
    assert.equal(part.first_line, offset);
    text += part.text;
    offset = part.next_offset;
    parts++;
  }
  assert.ok(parts > 3);
  assert.equal(text, Array.from({ length: 20000 }, (_, i) => `${i + 1}\n`).join(''));
  assert.equal(structuredOf(await read_file({ path: 'long.txt' })).lines, 2000);
});

test('a line longer than an answer is cut, and the next one can be reached', async () => {
  await sh('python3 -c "print(\'é\' * 100000); print(\'end\')" > line.txt');
  const result = await read_file({ path: 'line.txt' });
  const { text, next_offset, lines } = structuredOf(result);
  assert.match(text, /^é{10000,}$/);
  assert.deepEqual([lines, next_offset], [1, 2]);
  assert.match(result.content[1].text, /line 1 is too long for one answer and was cut/);
  assert.equal(textOf(await read_file({ path: 'line.txt', offset: 2 })), 'end\n');
  await sh('python3 -c "print(\'ab\' * 50000, end=\'\')" > only.txt');
  const note = (await read_file({ path: 'only.txt' })).content[1].text;
  assert.match(note, /; offset 2 reads the line behind it, if there is one\]$/);
  const [, command] = /a command such as `(.*)` shows another part of it/.exec(note);
  assert.match(await sh(command.replace('FILE', 'only.txt')), /^(ab){10000}\n$/);
});

test('a range of a 200 MiB file is read without the rest', async () => {
  await sh('truncate -s 200M huge.bin; printf "first line\\n" | dd of=huge.bin conv=notrunc status=none; printf tail >> huge.bin');
  const head = structuredOf(await read_file({ path: 'huge.bin', limit: 1 }));
  assert.deepEqual([head.text, head.next_offset, head.size], ['first line\n', 2, 209715204]);
  const end = structuredOf(await read_file({ path: 'huge.bin', encoding: 'base64', offset: 209715200 }));
  assert.equal(Buffer.from(end.base64, 'base64').toString(), 'tail');
  refused(await read_file({ path: 'huge.bin' }), /'huge\.bin' is binary, not UTF-8 text \(209715204 bytes\)/);
  refused(await edit_file({ path: 'huge.bin', edits: [{ old: 'a', new: 'b' }] }),
    /^'huge\.bin' has 209715204 bytes, and files of at most 10485760 can be edited: change it with a program, for example sed$/);
  await delete_path({ path: 'huge.bin' });
});

test('read_file refuses binary files as text and returns them as Base64', async () => {
  await write('nul', 'AGEA', { encoding: 'base64' });
  refused(await read_file({ path: 'nul' }),
    /^'nul' is binary, not UTF-8 text \(3 bytes\): read it with encoding "base64", or look at it with a program in the sandbox$/);
  await write('latin', Buffer.from('caf\xe9\n', 'latin1').toString('base64'), { encoding: 'base64' });
  refused(await read_file({ path: 'latin' }),
    /^'latin' is not UTF-8 text \(5 bytes\): read it with encoding "latin-1" if it is text, else "base64", or look at it/);
  const { base64, bytes, size } = structuredOf(await read_file({ path: 'latin', encoding: 'base64' }));
  assert.deepEqual([Buffer.from(base64, 'base64').toString('latin1'), bytes, size], ['caf\xe9\n', 5, 5]);
  const part = structuredOf(await read_file({ path: 'latin', encoding: 'base64', offset: 1, limit: 2 }));
  assert.deepEqual([Buffer.from(part.base64, 'base64').toString(), part.next_offset], ['af', 3]);
});

test('read_file returns up to 3.75 MiB of bytes as one embedded resource', async () => {
  await sh('head -c 3000001 /dev/urandom > big.bin; sha256sum big.bin > big.sum');
  const result = await read_file({ path: 'big.bin', encoding: 'base64' });
  assert.equal(result.structuredContent, undefined);
  assert.equal(textOf(result), '[big.bin: 3000001 bytes from 0 on, 3000001 bytes in all]');
  const { uri, mimeType, blob } = result.content[1].resource;
  assert.match(uri, /^sandbox:\/\/[^/]+\/workspace\/big\.bin$/);
  assert.equal(mimeType, 'application/octet-stream');
  const sum = createHash('sha256').update(Buffer.from(blob, 'base64')).digest('hex');
  assert.match(await sh('cat big.sum'), new RegExp(`^${sum} `));
  await sh('cat big.bin big.bin > bigger.bin');
  const part = await read_file({ path: 'bigger.bin', encoding: 'base64', offset: 1, limit: 10_000_000 });
  assert.match(textOf(part), /^\[bigger\.bin: 3932160 bytes from 1 on, 6000002 bytes in all; there is more: go on with offset 3932161\]$/);
  assert.equal(Buffer.from(part.content[1].resource.blob, 'base64').length, 3932160);
  const last = await read_file({ path: 'bigger.bin', encoding: 'base64', offset: 6000000 });
  assert.equal(structuredOf(last).bytes, 2);
  await sh('rm big.bin bigger.bin');
});

test('text of other encodings is read and written', async () => {
  const latin = await read_file({ path: 'latin', encoding: 'latin-1' });
  assert.equal(textOf(latin), 'caf\u00e9\n');
  assert.equal(structuredOf(latin).text, 'caf\u00e9\n');
  refused(await read_file({ path: 'nul', encoding: 'latin-1' }), /^'nul' is binary, not UTF-8 text \(3 bytes\): read it with encoding "base64"/);

  await write('wide.txt', 'one\ntwo \u{1f600}\n\u0a0a\n', { encoding: 'utf-16' });
  assert.match(await sh('od -An -tx1 -N6 wide.txt'), /^ ff fe 6f 00 6e 00/);
  refused(await read_file({ path: 'wide.txt' }),
    /^'wide\.txt' is UTF-16, not UTF-8 text \(\d+ bytes\): read it with encoding "utf-16", or look/);
  const wide = structuredOf(await read_file({ path: 'wide.txt', encoding: 'utf-16' }));
  assert.deepEqual([wide.text, wide.lines, wide.total_lines], ['one\ntwo \u{1f600}\n\u0a0a\n', 3, 3]);
  const second = structuredOf(await read_file({ path: 'wide.txt', encoding: 'utf-16', offset: 2, limit: 1, numbers: true }));
  assert.deepEqual([second.text, second.next_offset], ['     2\ttwo \u{1f600}\n', 3]);
  await sh(`python3 -c 'open("long16","w",encoding="utf-16-be").write("\\ufeff" + "\\n".join(map(str, range(100000))))'`);
  const far = structuredOf(await read_file({ path: 'long16', encoding: 'utf-16', offset: 90001, limit: 2 }));
  assert.deepEqual([far.text, far.next_offset], ['90000\n90001\n', 90003]);
  refused(await read_file({ path: 'nul', encoding: 'utf-16' }), /^'nul' is not UTF-16 text \(3 bytes are not a multiple of two\)/);
  await sh('truncate -s 4000000 long16');
  refused(await read_file({ path: 'long16', encoding: 'utf-16' }),
    /^'long16' has 4000000 bytes, and at most 3932160 are decoded from UTF-16: convert it in the sandbox \(iconv -f UTF-16 -t UTF-8\)$/);

  await write('accents', 'caf\u00e9', { encoding: 'latin-1' });
  await write('accents', ' ol\u00e9', { encoding: 'latin-1', append: true });
  assert.match(await sh('od -An -tx1 accents'), /^ 63 61 66 e9 20 6f 6c e9\n/);
  refused(await write_file({ path: 'accents', content: '5 \u20ac', encoding: 'latin-1' }),
    /^argument 'content': '\u20ac' \(U\+20AC\) at byte 2 is no character of Latin-1$/);
});

test('line ends and a byte order mark are kept', async () => {
  await write('crlf.txt', '\ufeffa\r\nb\r\n');
  const result = await read_file({ path: 'crlf.txt' });
  assert.equal(textOf(result), '\ufeffa\r\nb\r\n');
  assert.match(result.content[1].text, /it starts with a byte order mark/);
});

test('an empty file and terminal escapes are returned as they are', async () => {
  await write('empty', '');
  const result = await read_file({ path: 'empty' });
  assert.deepEqual(result.content.map((b) => b.text), ['[empty is empty (0 bytes)]']);
  assert.deepEqual([structuredOf(result).text, structuredOf(result).total_lines], ['', 0]);
  await write('escape', 'a\x1b[31mb\n');
  assert.equal(textOf(await read_file({ path: 'escape' })), 'a\x1b[31mb\n');
});

test('a picture is an image block, without structured content', async () => {
  await write('dot.png', PNG, { encoding: 'base64' });
  const result = await read_file({ path: 'dot.png' });
  assert.deepEqual(result.content, [
    { type: 'text', text: `dot.png: image/png, ${Buffer.from(PNG, 'base64').length} bytes` },
    { type: 'image', data: PNG, mimeType: 'image/png' },
  ]);
  assert.equal(result.structuredContent, undefined);
  await sh('cp dot.png large.png; truncate -s 3M large.png');
  assert.equal(Buffer.from((await read_file({ path: 'large.png' })).content[1].data, 'base64').length, 3 << 20);
  await sh('truncate -s 4M large.png');
  refused(await read_file({ path: 'large.png' }),
    /^'large\.png' is a picture \(image\/png\) of 4194304 bytes, and at most 3932160 are shown: make a smaller one/);
});

test('a read that fails says why', async () => {
  await sh('mkdir -p d/sub; touch d/x d/y; mkfifo d/fifo; ln -s /nowhere d/broken; ln -s loop d/loop');
  refused(await read_file({ path: 'd' }), /^'d' is a directory, not a file: list it instead$/);
  refused(await read_file({ path: 'd/zz' }),
    /^'d\/zz' does not exist; its directory has: broken, fifo, loop, sub\/, x, y$/);
  refused(await read_file({ path: 'd/broken' }), /^'d\/broken' is a link to '\/nowhere', which does not exist$/);
  refused(await read_file({ path: 'no/such/dir' }),
    /^'no\/such\/dir' does not exist, and neither does the directory it would be in$/);
  refused(await read_file({ path: 'd/x/y' }), /^'d\/x\/y' is not a directory, or a part of its path is not one$/);
  refused(await read_file({ path: 'd/fifo' }), /is a FIFO, not a regular file/);
  refused(await read_file({ path: 'd/loop' }), /Too many levels of symbolic links|Symbolic link loop/);
  refused(await read_file({ path: '/etc/shadow' }), /may not be reached|does not exist/);
  refused(await read_file({ path: '' }), /^argument 'path': expected a string of 1 to 4095 bytes, got/);
  refused(await read_file({}), /^argument 'path' is missing/);
  refused(await read_file({ path: 'a\0b' }), /^argument 'path'/);
  refused(await read_file({ path: 5 }), /^argument 'path': expected a string of 1 to 4095 bytes, got the number 5$/);
  refused(await read_file({ path: 'x', offset: -1 }), /^argument 'offset': expected an integer from 0 to/);
  refused(await read_file({ path: 'x', encoding: 'utf-7' }), /^argument 'encoding': expected one of "utf-8", "base64", "latin-1", "utf-16"/);
  refused(await read_file({ path: 'x', sandbox: 'nonesuch' }), /there is no sandbox 'nonesuch'; list_sandboxes/);
});

test('absolute paths are the sandbox\'s, never the host\'s', async () => {
  assert.match(textOf(await read_file({ path: '/etc/passwd' })), /coderunner/);
  assert.match(textOf(await read_file({ path: '../../../../etc/passwd' })), /coderunner/);
  await sh('ln -s ../../../../../../etc/passwd up');
  assert.match(textOf(await read_file({ path: 'up' })), /coderunner/);
  refused(await write_file({ path: '/usr/bin/x', content: '' }), /^'\/usr\/bin\/x' may not be reached or changed/);
});

// --- write_file

test('write_file replaces, appends and makes files executable', async () => {
  await write('w.txt', 'one');
  assert.deepEqual(await write('w.txt', 'two!'), { path: 'w.txt', bytes: 4, size: 4, created: false });
  assert.deepEqual(await write('w.txt', '+3', { append: true }), { path: 'w.txt', bytes: 2, size: 6, created: false });
  assert.equal(await sh('cat w.txt; stat -c " %a" w.txt'), 'two!+3 644\n');
  await write('run.sh', '#!/bin/sh\necho ran\n', { executable: true });
  assert.equal(await sh('./run.sh'), 'ran\n');
  await write('run.sh', '#!/bin/sh\necho again\n');
  assert.equal(await sh('./run.sh'), 'again\n');
  await write('w.txt', '#!/bin/sh\necho now\n', { executable: true });
  assert.equal(await sh('./w.txt; ls w.txt*'), 'now\nw.txt\n');
  await write('new.log', 'x', { append: true });
  refused(await write_file({ path: 'new.log', content: 'y', append: true, executable: true }),
    /^'new\.log' exists and keeps its permissions when it is appended to: leave executable out, and run chmod \+x$/);
});

test('a write that fails says why', async () => {
  await sh('mkdir -p wd; touch wf');
  refused(await write_file({ path: 'wd', content: '' }), /^'wd' is a directory, not a file/);
  refused(await write_file({ path: 'wf/x', content: '' }), /^'wf\/x' is not a directory, or a part/);
  refused(await write_file({ path: 'x', content: '%%', encoding: 'base64' }), /^argument 'content': not base64 at byte 0$/);
  refused(await write_file({ path: 'x' }), /^argument 'content' is missing/);
  refused(await write_file({ path: 'n'.repeat(256), content: '' }), /nnn\.\.\.: Filename too long$/);
});

test('content may have NUL bytes and megabytes', async () => {
  await write('nul.txt', 'a\0b');
  assert.equal(await sh('od -An -c nul.txt | tr -s " "'), ' a \\0 b\n');
  const big = 'x'.repeat(5_000_000);
  assert.equal((await write('big.txt', big)).size, 5_000_000);
  assert.equal(await sh('wc -c < big.txt'), '5000000\n');
});

// --- edit_file

test('edits are made all or none', async () => {
  await write('e.py', 'def f():\n    return 1\n\ndef g():\n    return 1\n');
  await sh('chmod 750 e.py');
  const result = await edit_file({
    path: 'e.py', edits: [{ old: 'def f', new: 'def first' }, { old: 'return 1', new: 'return 2', all: true }],
  });
  const diff = '@@ line 1 @@\n-def f():\n+def first():\n@@ line 2 @@\n-    return 1\n+    return 2\n' +
    '@@ line 5 @@\n-    return 1\n+    return 2\n';
  assert.deepEqual(structuredOf(result), { path: 'e.py', replacements: 3, size: 49, diff, diff_is_whole: true });
  assert.equal(textOf(result), `3 replacements in 'e.py', which has 49 bytes now\n${diff}`);
  assert.equal(await sh('stat -c %a e.py'), '750\n');
  const before = await sh('cat e.py');
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'def g', new: 'def h' }, { old: 'nope', new: '' }] }),
    /^'e\.py' was not changed: edit 2 of 2: its old text "nope" was not found \(0 times\)/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'return 2', new: 'x' }] }),
    /found 2 times \(lines 2, 5\): add the text around it to make it unique, or set all to true$/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'def g():\n\treturn 2', new: 'x' }] }),
    /line 4 differs from it only in white space/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: '', new: 'x' }] }), /its old text is empty/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'a', new: 'a' }] }), /old and new text are the same/);
  assert.equal(await sh('cat e.py'), before);
});

test('edit_file says how to change a file that is not UTF-8', async () => {
  const advice = /^'\w+\.txt' was not changed: it is not UTF-8 text.* write_file and that encoding/;
  await write_file({ path: 'latin.txt', content: 'caf\u00e9 au lait', encoding: 'latin-1' });
  await write_file({ path: 'wide.txt', content: 'word', encoding: 'utf-16' });
  refused(await edit_file({ path: 'latin.txt', edits: [{ old: '\u00e9', new: 'e' }] }), advice);
  refused(await edit_file({ path: 'latin.txt', edits: [{ old: 'lait', new: '\u00e9t\u00e9' }] }), advice);
  refused(await edit_file({ path: 'wide.txt', edits: [{ old: 'word', new: 'x' }] }), advice);
  await edit_file({ path: 'latin.txt', edits: [{ old: 'lait', new: 'eau' }] });
  assert.equal(await sh('od -An -tx1 latin.txt'), ' 63 61 66 e9 20 61 75 20 65 61 75\n');
});

test('an edit keeps the line ends of a file with CR LF', async () => {
  await write_file({ path: 'dos', file_text: 'one\r\ntwo\r\nthree\r\n' }); // a name that models know
  structuredOf(await edit_file({ path: 'dos', old_string: 'one\ntwo', new_string: '1\n2\n2b' }));
  assert.equal(await sh('cat -A dos'), '1^M$\n2^M$\n2b^M$\nthree^M$\n');
});

test('an edit that fails says why', async () => {
  refused(await edit_file({ path: 'none.txt', edits: [{ old: 'a', new: 'b' }] }), /^'none\.txt' does not exist; its directory has: /);
  refused(await edit_file({ path: '.', edits: [{ old: 'a', new: 'b' }] }), /^'\.' is a directory, not a file/);
  refused(await edit_file({ path: 'e.py', edits: [] }), /^argument 'edits': expected an array of objects with 1 to 100 entries/);
  refused(await edit_file({ path: 'e.py', edits: Array(101).fill({ old: 'a', new: 'b' }) }), /^argument 'edits'/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'a' }] }), /^argument 'edits\[0\]\.new' is missing/);
  refused(await edit_file({ path: 'e.py', edits: [{ old: 'a', new: 'b', every: true }] }), /^argument 'edits\[0\]\.every' is not known/);
});

test('edit_file does not overwrite a file that changed meanwhile', async () => {
  await write('busy', 'x0\n');
  const { process } = structuredOf(await run_command({
    background: true,
    argv: ['python3', '-c', `import os, time
n = 0
while True:
    n += 1
    open("busy.new", "w").write("x%d\\n" % n)
    os.replace("busy.new", "busy")
    time.sleep(0.0002)`],
  }));
  let lost = 0;
  for (let i = 0; i < 30; i++) {
    const result = await edit_file({ path: 'busy', edits: [{ old: 'x', new: 'y' }] });
    if (result.isError) {
      refused(result, /^'busy' was (changed by another program meanwhile, so nothing was edited: read it again and try again|not changed: )/);
      lost += /another program/.test(textOf(result)) ? 1 : 0;
    }
  }
  assert.ok(lost > 0, 'nothing was noticed');
  structuredOf(await tools.process_stop({ process }));
});

test('a cancelled file call changes nothing', async () => {
  const abort = new AbortController();
  const searching = search_files({ path: '/', pattern: '(a|b)*c{3,}zq', regex: true }, { signal: abort.signal });
  await list_directory();
  abort.abort(new Error('enough'));
  await assert.rejects(searching, /enough/);
  assert.equal(await sh('echo still here'), 'still here\n');
});

// --- list_directory

test('list_directory lists flat and as a tree', async () => {
  await sh('mkdir -p t/a/x t/.h; echo 12345 > t/a/x/f; touch -d "2026-01-02 03:04 UTC" t/a/x/f; ln -s a t/l; touch t/.h/g t/z');
  const flat = await list_directory({ path: 't' });
  assert.match(textOf(flat), /^drwxr-xr-x +\d+ \S+ \S+ a\/\nl\S+ +\d+ \S+ \S+ l -> a\n-rw-r--r-- +0 \S+ \S+ z\n$/);
  assert.equal(flat.content[1].text, '[t: 3 entries, without hidden names]');
  assert.equal(structuredOf(flat).hidden, false);
  assert.equal((await list_directory({ path: 't/z' })).content[1].text, '[t/z: 1 entry]');
  const tree = await list_directory({ path: 't', depth: 3 });
  assert.deepEqual(textOf(tree).split('\n').map((line) => line.replace(/ {2}\d+ {2}.*/, '')), [
    '├── a/', '│   └── x/', '│       └── f', '├── l -> a', '└── z', '',
  ]);
  const entries = structuredOf(tree).entries;
  assert.deepEqual(entries.map((e) => e.path), ['a', 'a/x', 'a/x/f', 'l', 'z']);
  assert.deepEqual(entries[2], { path: 'a/x/f', type: 'file', size: 6, modified: '2026-01-02 03:04', mode: '-rw-r--r--' });
  assert.equal(entries[3].target, 'a');
  const all = structuredOf(await list_directory({ path: 't', hidden: true })).entries;
  assert.deepEqual(all.map((e) => e.path), ['.h', 'a', 'l', 'z']);
  await sh('mkdir t/none');
  assert.equal(textOf(await list_directory({ path: 't/none' })), '[t/none is empty, or has only hidden names]');
});

test('a tree has lines between what belongs together, down to the deepest level', async () => {
  const names = async (path, depth) => textOf(await list_directory({ path, depth })).split('\n').map((line) => line.replace(/\/? {2}\d+ {2}.*/, ''));
  await sh('mkdir -p tree/a/x tree/b tree/c; touch tree/a/x/1 tree/a/y tree/c/z');
  assert.deepEqual(await names('tree', 3), [
    '├── a', '│   ├── x', '│   │   └── 1', '│   └── y', '├── b', '└── c', '    └── z', '',
  ]);
  await sh('mkdir -p deep/1/2/3/4/5/6/7/8/9/10/11');
  const deep = await names('deep', 10);
  assert.deepEqual([deep.length, deep[9]], [11, `${' '.repeat(36)}└── 10`]);
});

test('10,000 entries are listed in parts', async () => {
  await sh('mkdir many; cd many; seq -f "file-%05g" 1 10000 | xargs touch');
  const names = [];
  let offset = 0;
  let parts = 0;
  while (offset !== undefined) {
    const result = await list_directory({ path: 'many', limit: 10000, offset });
    assert.ok(textOf(result).length <= 24000);
    const { entries, next_offset } = structuredOf(result);
    names.push(...entries.map((e) => e.path));
    offset = next_offset;
    parts++;
  }
  assert.ok(parts > 10);
  assert.equal(names.length, 10000);
  assert.equal(new Set(names).size, 10000);
  const first = await list_directory({ path: 'many', limit: 2 });
  assert.equal(first.content[1].text, '[many: 2 entries from 0 on; there are more: go on with offset 2]');
});

test('names with line ends, other scripts and invalid UTF-8 are listed', async () => {
  await sh(`mkdir odd; cd odd; python3 -c "
for n in [b'new\\nline', 'grün 日本'.encode(), b'bad\\xff', b'\\x1b[31mred', b'-rf']: open(n, 'w').close()"`);
  const result = await list_directory({ path: 'odd' });
  const shown = textOf(result).trim().split('\n').map((line) => line.replace(/^\S+ +\d+ \S+ \S+ /, ''));
  assert.deepEqual(shown, ['\\x1b[31mred', '-rf', 'bad\\xff', 'grün 日本', 'new\\nline']);
  const entries = structuredOf(result).entries;
  assert.deepEqual(entries.map((e) => e.path), ['\x1b[31mred', '-rf', 'bad\ufffd', 'grün 日本', 'new\nline']);
  assert.equal(Buffer.from(entries[2].path_base64, 'base64').toString('latin1'), 'bad\xff');
  assert.equal(entries[3].path_base64, undefined);
  await write('odd/new\nline', 'found');
  assert.equal(textOf(await read_file({ path: 'odd/new\nline' })), 'found');
  assert.equal(textOf(await delete_path({ path: 'odd/new\nline' })), "deleted 'odd/new\\nline' (1 entry)");
  assert.equal(textOf(await delete_path({ path: 'odd/-rf' })), "deleted 'odd/-rf' (1 entry)");
});

test('a listing that fails says why', async () => {
  refused(await list_directory({ path: 'nowhere' }), /^'nowhere' does not exist; its directory has: /);
  refused(await list_directory({ depth: 11 }), /^argument 'depth': expected an integer from 1 to 10, got the number 11$/);
  refused(await list_directory({ limit: 0 }), /^argument 'limit': expected an integer from 1 to 10000/);
});

// --- concurrency and large files

test('concurrent edits of one file are all made', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `<${i}>`);
  await write('together.txt', names.join('\n'));
  const paths = ['together.txt', '/workspace/together.txt', './together.txt'];
  const results = await Promise.all(
    names.map((old, i) => edit_file({ path: paths[i % 3], edits: [{ old, new: `done ${i};` }] })));
  for (const result of results) assert.equal(structuredOf(result).replacements, 1);
  assert.equal(textOf(await read_file({ path: 'together.txt' })), names.map((_, i) => `done ${i};`).join('\n'));
});

test('a file that is written and edited at once has one of the two contents', async () => {
  await write('both.txt', 'old');
  const [edited] = await Promise.all([
    edit_file({ path: 'both.txt', edits: [{ old: 'old', new: 'edited' }] }),
    write_file({ path: 'both.txt', content: 'old and more' }),
  ]);
  assert.equal(structuredOf(edited).replacements, 1);
  assert.equal(textOf(await read_file({ path: 'both.txt' })), 'old and more');
});

test('large files at once are refused before memory runs out', async () => {
  await sh('for i in 1 2 3 4 5 6 7 8 9 10; do head -c 9M /dev/zero | tr "\\0" x > big$i; printf end >> big$i; done');
  const edit = (i) => edit_file({ path: `big${i}`, edits: [{ old: 'end', new: 'End' }] });
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => edit(i + 1)));
  const failed = results.filter((r) => r.isError);
  assert.ok(failed.length < 10);
  for (const result of failed) refused(result, /^too many large files at once: /);
  for (const [i, { isError }] of results.entries())
    if (isError) structuredOf(await edit(i + 1)); // nothing is held any more
  await sh('rm big*');
});

test('90,000 replacements in one line are made, and too many are refused', async () => {
  await sh('python3 -c "print(\'zxx\' * 90000)" > one.txt');
  const all = (old, to) => edit_file({ path: 'one.txt', edits: [{ old, new: to, all: true }] });
  assert.equal(structuredOf(await all('z', 'y')).replacements, 90000);
  refused(await all('x', 'y'), /^'one\.txt' was not changed: edit 1 of 1: its old text is found too often: at most 100000/);
  await sh('rm one.txt');
});

test('structured content is bounded like the text, and reading on finds the rest', async () => {
  await sh(`mkdir -p wide && cd wide && python3 -c "
for i in range(300): open('%03d' % i + '\\x01' * 200, 'w').write('needle')"`);
  const names = [];
  for (let offset = 0; offset !== undefined; ) {
    const result = await list_directory({ path: 'wide', limit: 10000, offset });
    const { entries, next_offset } = structuredOf(result);
    assert.ok(JSON.stringify(result.structuredContent).length <= 24000);
    assert.ok(textOf(result).length <= 24000);
    names.push(...entries.map((e) => e.path.slice(0, 3)));
    offset = next_offset;
  }
  assert.deepEqual(names, Array.from({ length: 300 }, (_, i) => String(i).padStart(3, '0')));
  for (const mode of ['content', 'name']) {
    const result = await search_files({ pattern: mode === 'name' ? '*' : 'needle', path: 'wide', mode, limit: 1000 });
    const { matches, more } = structuredOf(result);
    assert.ok(more && matches.length > 10);
    assert.ok(JSON.stringify(result.structuredContent).length <= 24000);
    assert.equal(textOf(result).trimEnd().split('\n').length, matches.length);
  }
});

test('long paths are shown whole', async () => {
  const path = `deep/${'d'.repeat(200)}/${'e'.repeat(200)}/${'f'.repeat(200)}.txt`;
  await write(path, 'thread');
  assert.equal(textOf(await search_files({ pattern: 'thread', path: 'deep' })), `${path}:1:thread\n`);
  assert.equal(textOf(await search_files({ pattern: 'fff', path: 'deep', mode: 'name' })), `${path}  6\n`);
});

test('errors show no control characters', async () => {
  const dirty = 'a\u001b[31m\u0007b';
  const tries = [
    read_file({ path: dirty }), edit_file({ path: dirty, edits: [{ old: 'a', new: 'b' }] }),
    delete_path({ path: dirty }), list_directory({ path: `/etc/passwd/${dirty}` }),
    write_file({ path: `/etc/${dirty}`, content: '' }), write_file({ path: `/proc/${dirty}`, content: '' }),
    search_files({ pattern: `(${dirty}`, regex: true }), search_files({ pattern: 'x', path: dirty }),
    read_file({ path: 'x', sandbox: dirty }), run_command({ command: 'true', cwd: dirty }),
    tools.run_code({ code: '1', language: dirty }), tools.run_code({ code: '1', cwd: dirty }),
    tools.process_output({ process: dirty }), tools.process_stop({ process: dirty, sandbox: dirty }),
    tools.delete_sandbox({ sandbox: dirty }), tools.sandbox_info({ sandbox: dirty }),
    read_file({ path: `${dirty}/${'x'.repeat(300)}` }),
  ];
  for (const result of await Promise.all(tries)) {
    assert.equal(result.isError, true);
    assert.doesNotMatch(textOf(result), /[\u0000-\u001f\u007f-\u009f]/);
  }
});

// --- search_files

test('search_files finds lines and names', async () => {
  await sh('mkdir -p s/sub s/.git; printf "alpha\\nBeta one\\n" > s/a.py; printf "beta two\\n" > s/sub/b.txt; echo beta > s/.git/c; printf "beta\\0" > s/bin');
  const result = await search_files({ pattern: 'beta', path: 's' });
  assert.equal(textOf(result), 's/sub/b.txt:1:beta two\n');
  assert.equal(result.content[1].text, '[1 match]');
  assert.deepEqual(structuredOf(result), {
    matches: [{ path: 's/sub/b.txt', line: 1, column: 1, text: 'beta two' }], more: false,
  });
  const found = async (args) => structuredOf(await search_files({ path: 's', ...args })).matches.map((m) => m.path);
  assert.deepEqual(await found({ pattern: 'beta', ignore_case: true }), ['s/a.py', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: '^[bB]eta (one|two)$', regex: true }), ['s/a.py', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: '(?i)^BETA', regex: true }), ['s/a.py', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: 'beta', hidden: true }), ['s/.git/c', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: 'e', names: '*.py' }), ['s/a.py']);
  assert.deepEqual(await found({ pattern: 'beta', path: 's/sub/b.txt' }), ['s/sub/b.txt']);
  assert.deepEqual(await found({ pattern: '*.py', mode: 'name' }), ['s/a.py']);
  assert.deepEqual(await found({ pattern: 'b', mode: 'name' }), ['s/bin', 's/sub', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: 'sub/*', mode: 'name' }), ['s/sub/b.txt']);
  assert.deepEqual(await found({ pattern: '{sub/*.{md,txt},*.py}', mode: 'name' }), ['s/a.py', 's/sub/b.txt']);
  assert.deepEqual(await found({ pattern: 'beta', names: '*.{md,txt}' }), ['s/sub/b.txt']);
  assert.deepEqual(await found({ pattern: '{', mode: 'name' }), []);
  const none = await search_files({ pattern: 'gamma', path: 's' });
  assert.match(textOf(none), /^\[0 matches: binary files, hidden names and files larger than 16 MiB are not searched\]$/);
  assert.equal(textOf(await search_files({ pattern: '*.rs', mode: 'name', path: 's' })), '[0 matches: hidden names are not searched]');
  assert.equal(textOf(await search_files({ pattern: '*.rs', mode: 'name', path: 's', hidden: true })), '[0 matches]');
  const why = async (args) => textOf(await search_files({ path: 's', ...args }));
  const TEXT = '[0 matches: the pattern was taken as a text; for an expression set regex to true, for names of files set mode to "name"]';
  for (const pattern of ['*.py', '^alpha', 'alpha|Beta', '\\bBeta']) assert.equal(await why({ pattern }), TEXT, pattern);
  assert.equal(await why({ pattern: 'two', names: '*.py,*.txt' }), '[0 matches: names is one glob; several are one in braces, such as {*.py,*.js}]');
  assert.equal(await why({ pattern: 'gamma', hidden: true }), '[0 matches: binary files and files larger than 16 MiB are not searched]');
});

test('many matches and long lines are bounded', async () => {
  await sh('mkdir sm; yes match | head -5000 > sm/m; python3 -c "print(\'y\' * 5000 + \'needle\')" > sm/l');
  const result = await search_files({ pattern: 'match', path: 'sm', limit: 3 });
  assert.equal(structuredOf(result).matches.length, 3);
  assert.equal(structuredOf(result).more, true);
  assert.match(result.content[1].text, /^\[3 matches; there are more: narrow the pattern, path or names\]$/);
  const most = await search_files({ pattern: 'match', path: '/workspace/sm', limit: 1000 });
  assert.ok(textOf(most).length <= 24000);
  assert.match(textOf(most), /^\/workspace\/sm\/m:1:match\n/);
  const long = structuredOf(await search_files({ pattern: 'needle', path: 'sm' })).matches[0];
  assert.deepEqual([long.text.length, long.column], [400, 5001]);
});

test('a search that fails says why', async () => {
  refused(await search_files({ pattern: '(', regex: true }), /^the expression '\(': Missing '\)'$/);
  refused(await search_files({ pattern: '' }), /^argument 'pattern': expected a string of 1 to 1022 bytes/);
  refused(await search_files({ pattern: 'x', mode: 'name', regex: true }), /^argument 'regex': names are matched by globs/);
  refused(await search_files({ pattern: 'x', mode: 'name', names: '*' }), /^argument 'names': with mode "name"/);
  refused(await search_files({ pattern: 'x', names: '{a,b}'.repeat(12) }), /^argument 'names': too many alternatives in braces: /);
  refused(await search_files({ pattern: 'x', path: 'nowhere' }), /^'nowhere' does not exist/);
  refused(await search_files({ pattern: 'x', limit: 1001 }), /^argument 'limit'/);
});

// --- delete_path

test('delete_path deletes files and directories, but not the workspace', async () => {
  await sh('mkdir -p del/a/b; touch del/a/b/c del/f; ln -s /workspace/del/a del/l; mkdir keep; touch keep/k; ln -s /workspace/keep del/k');
  assert.deepEqual(structuredOf(await delete_path({ path: 'del/l' })), { path: 'del/l', deleted: 1 });
  refused(await delete_path({ path: 'del' }), /^'del' is a directory that is not empty: set recursive to true/);
  assert.deepEqual(structuredOf(await delete_path({ path: 'del', recursive: true })), { path: 'del', deleted: 6 });
  assert.equal(await sh('ls keep'), 'k\n');
  refused(await delete_path({ path: 'del' }), /^'del' does not exist/);
  for (const path of ['/', '.', '/workspace', '/workspace/'])
    refused(await delete_path({ path, recursive: true }), /itself cannot be deleted: delete the files in it, or use reset_sandbox/);
  refused(await delete_path({ path: 'keep/..', recursive: true }), /^the workspace itself cannot be removed$/);
  refused(await delete_path({ path: '/usr/bin/env' }), /may not be reached or changed/);
  refused(await delete_path({ path: '' }), /^argument 'path'/);
  assert.equal(await sh('ls keep'), 'k\n');
});
