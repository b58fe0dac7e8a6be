// run_command with pty: a program in a terminal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, sandboxed, structuredOf } from '../lib/sandboxed.mjs';

const { run_command, process_input, process_output, process_stop } = sandboxed();

/** All output of the process once it has the text. */
async function outputWith(process, text) {
  const { stdout, note } = structuredOf(await process_output({ process, since: 0, until: text }));
  assert.match(note, /was printed$/, stdout);
  return stdout;
}

test('a background program has a terminal of the size asked for, and the size can change', async () => {
  const command = 'tty; stty size; echo $TERM; n=0; ' +
    'while read -r -p "$((++n))> " line; do echo "got:$line"; stty size; done';
  const { process } = structuredOf(await run_command({ command, background: true, pty: true, rows: 30, columns: 100 }));
  const start = await outputWith(process, '1> ');
  assert.match(start, /^\/dev\/pts\/\d+\r?\n30 100\r?\nxterm-256color/);
  await process_input({ process, stdin: 'hello\n' });
  assert.match(await outputWith(process, 'got:hello'), /> hello\r?\n/); // the terminal echoes
  await process_input({ process, rows: 40, columns: 120 });
  await process_input({ process, stdin: 'again\n' });
  // Bash ignores a SIGINT that arrives while stty runs and that stty survives: wait until bash itself reads.
  assert.match(await outputWith(process, '3> '), /40 120/);
  await process_input({ process, stdin: '\u0003' });
  const { signal } = structuredOf(await process_output({ process, until_end: true }));
  assert.equal(signal, 'SIGINT', 'the terminal turns Ctrl-C into a signal');
});

test('pty is refused where it cannot work', async () => {
  refused(await run_command({ command: 'true', pty: true }), /^argument 'pty': .*background/);
  refused(await run_command({ command: 'true', rows: 10 }), /^arguments 'rows' and 'columns': they are of a terminal, which a program has with pty: true/);
  const { process } = structuredOf(await run_command({ command: 'sleep 60', background: true }));
  refused(await process_input({ process, rows: 10, columns: 10 }), /has no terminal: start the program with run_command and pty/);
  refused(await process_input({ process, rows: 10 }), /^arguments 'rows' and 'columns': give both/);
  await process_stop({ process });
});

test('until finds a text as answers show it: line ends and colours of a terminal', async () => {
  const command = "printf 'one\\n\\033[32mready in\\033[0m \\033[1m30 ms\\033[0m\\n'; sleep 60";
  const { process } = structuredOf(await run_command({ command, background: true, pty: true }));
  assert.equal(await outputWith(process, 'one\nready in 30 ms\n'), 'one\nready in 30 ms\n');
  await outputWith(process, '\x1b[32mready in');
  await process_stop({ process });
});
