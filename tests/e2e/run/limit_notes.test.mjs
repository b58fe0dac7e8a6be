// Programs report a refused allocation or process in many words. Without cgroups nothing counts refusals,
// and the answer names the limit because of these words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notOn } from '../lib/programs.mjs';
import { open, sandboxed, structuredOf, textOf, toolsOf } from '../lib/sandboxed.mjs';

const { run_command } = sandboxed();

test('a command that was left running many times is named once', async () => {
  const left = /left running were ended \((.*)\): /;
  const name = async (command) => left.exec(textOf(await run_command({ command })))[1];
  assert.equal(await name('for i in 1 2 3; do sleep 77 & done; sleep 0.5'), 'sleep 77, ...');
  assert.equal(await name('for i in 1 2; do sleep 77 & done; sleep 78 & sleep 0.5'), 'sleep 77, sleep 78, ...');
  assert.match(await name('for i in $(seq 40); do sleep 77 & done; sleep 0.5'), /^sleep 77, \.\.\.$/);
});

const words = {
  pids: [
    "main.rb:1:in `initialize': can't create Thread: Resource temporarily unavailable (ThreadError)",
    'panic: fork/exec /usr/bin/sleep: resource temporarily unavailable',
    "terminate called after throwing an instance of 'std::system_error'\n  what():  Resource temporarily unavailable",
    "  errno: -11,\n  code: 'EAGAIN',\n  syscall: 'spawn sleep',",
    'java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory',
  ],
  memory: [
    'awk: run time error: out of memory',
    'FATAL ERROR: Committing semi space failed. Allocation failed - JavaScript heap out of memory',
    'FATAL ERROR: CALL_AND_RETRY_LAST Allocation failed - JavaScript heap out of memory',
    'java.lang.OutOfMemoryError: Java heap space',
  ],
};

test('without cgroups the words of programs tell which limit they met', notOn('docker', 'containers have cgroups'), async (t) => {
  const session = await open(t, { NO_CGROUPS: 'yes' });
  const { run_command } = toolsOf(async () => session);
  for (const [limit, all] of Object.entries(words))
    for (const stderr of all) {
      const result = await run_command({ command: 'printf "%s\\n" "$WORDS" >&2; exit 1', env: { WORDS: stderr } });
      assert.match(structuredOf(result).note ?? '', new RegExp(`^${limit}: .*, or create_sandbox {"${limit === 'pids' ? 'pids' : 'memory_mb'}":\\d+}$`), stderr);
    }
  await session.close();
});
