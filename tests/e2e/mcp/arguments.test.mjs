// Wrong arguments: a result the model can act on, which names the argument, what was expected
// and what came. The texts are part of the interface, so they are compared whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callParams } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { start, textOf } from '../lib/raw.mjs';

const t = 'x'; // the one required argument
const ALL = 'text, raw, choice, fallback, integer, number, flag, strings, map, record, records, anything';

const wrong = [
  [{}, "argument 'text' is missing: expected a string of 1 to 9437184 bytes"],
  [{ text: null }, "argument 'text' is missing: expected a string of 1 to 9437184 bytes"],
  [{ text: 5 }, "argument 'text': expected a string of 1 to 9437184 bytes, got the number 5"],
  [{ text: 1.5 }, "argument 'text': expected a string of 1 to 9437184 bytes, got the number 1.5"],
  [{ text: true }, "argument 'text': expected a string of 1 to 9437184 bytes, got the boolean true"],
  [{ text: [] }, "argument 'text': expected a string of 1 to 9437184 bytes, got an array"],
  [{ text: {} }, "argument 'text': expected a string of 1 to 9437184 bytes, got an object"],
  [{ text: '' }, "argument 'text': expected a string of 1 to 9437184 bytes, got 0"],
  [{ text: 'a\0b' }, "argument 'text': contains a NUL character"],
  [{ text: t, raw: 'x'.repeat(1001) }, "argument 'raw': expected a string of at most 1000 bytes, got 1001"],
  [{ text: t, raw: '\u20ac'.repeat(334) }, "argument 'raw': expected a string of at most 1000 bytes, got 1002"],
  [{ text: t, fallback: 'x'.repeat(11) }, "argument 'fallback': expected a string of at most 10 bytes, got 11 bytes"],
  [{ text: t, choice: 'rot' }, 'argument \'choice\': expected one of "red", "green", "blue", got the string "rot"'],
  [{ text: t, choice: 'red\0' }, 'argument \'choice\': expected one of "red", "green", "blue", got the string "red\\x00"'],
  [{ text: t, choice: 1 }, 'argument \'choice\': expected one of "red", "green", "blue", got the number 1'],
  [{ text: t, integer: 601 }, "argument 'integer': expected an integer from -5 to 600, got the number 601"],
  [{ text: t, integer: -6 }, "argument 'integer': expected an integer from -5 to 600, got the number -6"],
  [{ text: t, integer: 1.5 }, "argument 'integer': expected an integer from -5 to 600, got the number 1.5"],
  [{ text: t, integer: 1e300 }, "argument 'integer': expected an integer from -5 to 600, got the number 1e+300"],
  [{ text: t, integer: '5 s' }, 'argument \'integer\': expected an integer from -5 to 600, got the string "5 s"'],
  [{ text: t, number: 1.01 }, "argument 'number': expected a number from 0 to 1, got the number 1.01"],
  [{ text: t, number: -0.5 }, "argument 'number': expected a number from 0 to 1, got the number -0.5"],
  [{ text: t, number: 'one' }, 'argument \'number\': expected a number from 0 to 1, got the string "one"'],
  [{ text: t, flag: 1 }, "argument 'flag': expected true or false, got the number 1"],
  [{ text: t, flag: 'yes' }, 'argument \'flag\': expected true or false, got the string "yes"'],
  [{ text: t, strings: 'a b' }, 'argument \'strings\': expected an array of strings with at most 3 entries, got the string "a b"'],
  [{ text: t, strings: ['a', 'b', 'c', 'd'] }, "argument 'strings': expected an array of strings with at most 3 entries, got 4"],
  [{ text: t, strings: ['a', {}] }, "argument 'strings[1]': expected a string, got an object"],
  [{ text: t, strings: ['a', null] }, "argument 'strings[1]': expected a string, got null"],
  [{ text: t, strings: ['123456789'] }, "argument 'strings[0]': expected a string of at most 8 bytes, got 9 bytes"],
  [{ text: t, strings: ['a\0'] }, "argument 'strings[0]': contains a NUL character"],
  [{ text: t, map: [] }, "argument 'map': expected an object with string values with at most 2 entries, got an array"],
  [{ text: t, map: { a: '', b: '', c: '' } }, "argument 'map': expected an object with string values with at most 2 entries, got 3"],
  [{ text: t, map: { a: {} } }, "argument 'map.a': expected a string, got an object"],
  [{ text: t, map: { a: '123456789' } }, "argument 'map.a': expected a string of at most 8 bytes, got 9 bytes"],
  [{ text: t, map: { 123456789: 'a' } }, "argument 'map.123456789': its name is longer than 8 bytes"],
  [{ text: t, record: 5 }, "argument 'record': expected an object, got the number 5; an object has: key, number"],
  [{ text: t, record: {} }, "argument 'record.key' is missing: expected a string of at most 16 bytes"],
  [{ text: t, record: { key: 'a', number: 10 } }, "argument 'record.number': expected an integer from 0 to 9, got the number 10"],
  [{ text: t, record: { key: 'a', nmber: 1 } }, "argument 'record.nmber' is not known; did you mean 'number'? There are: key, number"],
  [{ text: t, records: {} }, "argument 'records[0].key' is missing: expected a string of at most 16 bytes"],
  [{ text: t, records: [{ key: 'a' }, { key: 5 }] }, "argument 'records[1].key': expected a string of at most 16 bytes, got the number 5"],
  [{ text: t, records: [{ key: 'a' }, {}] }, "argument 'records[1].key' is missing: expected a string of at most 16 bytes"],
  [{ text: t, records: [{ key: 'a' }, 5] }, "argument 'records[1]': expected an object, got the number 5; an object has: key, number"],
  [{ text: t, records: [{ key: 'a', other: 1 }] }, "argument 'records[0].other' is not known; there are: key, number"],
  [{ text: t, records: [{ key: 'a' }, { key: 'b' }, { key: 'c' }] }, "argument 'records': expected an array of objects with at most 2 entries, got 3"],
  [{ text: t, txt: 1 }, `argument 'txt' is not known; did you mean 'text'? There are: ${ALL}`],
  [{ text: t, intger: 1 }, `argument 'intger' is not known; did you mean 'integer'? There are: ${ALL}`],
  [{ text: t, completely_different: 1 }, `argument 'completely_different' is not known; there are: ${ALL}`],
  [{ text: t, 'evil\n': 1 }, `argument 'evil\\n' is not known; there are: ${ALL}`],
];

for (const [args, message] of wrong)
  test(message, async (t) => {
    const server = start(t, FIXTURE);
    const { result } = await server.call('test_echo', args);
    assert.deepEqual(result, { content: [{ type: 'text', text: message }], isError: true });
    const stateless = await server.request('tools/call', callParams('test_echo', args));
    assert.equal(stateless.result.isError, true);
    assert.equal(textOf(stateless), message);
    await server.close();
  });

test('arguments of every type are decoded', async (t) => {
  const server = start(t, FIXTURE);
  const args = {
    text: 'x', raw: '', choice: 'blue', fallback: 'right', integer: 600, number: 1, flag: false,
    strings: ['', 'b', '12345678'], map: { '': 'x', y: '' }, record: { key: 'k', number: 0 },
    records: [{ key: 'a' }, { key: '', number: 9 }], anything: [{ deep: null }],
  };
  const seen = JSON.parse(textOf(await server.call('test_echo', args)));
  const { text, raw, ...same } = args;
  assert.deepEqual(seen, {
    ...same,
    text_bytes: text.length,
    raw_bytes: raw.length,
    records: [{ key: 'a', number: 7 }, { key: '', number: 9 }],
  });
  await server.close();
});

test('values of another type are understood where only one meaning is possible', async (t) => {
  const server = start(t, FIXTURE);
  const args = {
    text: 'x', choice: 'Blue', integer: '12', number: '0.25', flag: 'True', strings: '["a", 5]', map: { a: 1.5, b: true },
    record: '{"key": "k", "number": "3"}', records: { key: 'a', number: 1 }, anything: '[1]',
  };
  const seen = JSON.parse(textOf(await server.call('test_echo', args)));
  assert.deepEqual(
    [seen.choice, seen.integer, seen.number, seen.flag, seen.strings, seen.map, seen.record, seen.records, seen.anything],
    ['blue', 12, 0.25, true, ['a', '5'], { a: '1.5', b: 'true' }, { key: 'k', number: 3 }, [{ key: 'a', number: 1 }], '[1]'],
  );
  const one = JSON.parse(textOf(await server.call('test_echo', { text: 'x', strings: 'alone', map: '{"a": "b"}' })));
  assert.deepEqual([one.strings, one.map], [['alone'], { a: 'b' }]);
  await server.close();
});

test('absent and null arguments take their defaults, whole reals are integers', async (t) => {
  const server = start(t, FIXTURE);
  const args = { text: 'x', choice: null, integer: 5.0e1, number: null, flag: null, strings: null, map: null, anything: null };
  const seen = JSON.parse(textOf(await server.call('test_echo', args)));
  assert.deepEqual(
    [seen.choice, seen.fallback, seen.integer, seen.number, seen.flag, seen.strings, seen.map, seen.anything],
    ['green', 'left', 50, 0.5, true, [], {}, null],
  );
  await server.close();
});

test('a tool without parameters refuses arguments', async (t) => {
  const server = start(t, FIXTURE);
  const { result } = await server.call('test_simple_text', { x: 1 });
  assert.deepEqual(result, { content: [{ type: 'text', text: "argument 'x' is not known, and there are no others: leave it out" }], isError: true });
  await server.close();
});

test('belljar checks its tools in the same way', async (t) => {
  const server = start(t, BELLJAR);
  const cases = [
    ['process_stop', {}, /^argument 'process' is missing: expected /],
    ['list_sandboxes', { limit: 1001 }, "argument 'limit': expected an integer from 1 to 1000, got the number 1001"],
    ['list_sandboxes', { limits: 1 }, "argument 'limits' is not known; did you mean 'limit'? There are: offset, limit, labels"],
    // An engine without images has no 'image' and no graphics processor: only what tools/list shows is named.
    ['create_sandbox', { memory: '300', gpus: 1 }, /^argument 'memory' is not known; did you mean 'memory_mb'\? There are: (?!.*\b(image|gpu|mounts|network)\b)name, memory_mb, .*idle_s, lifetime_s$/],
    ['create_sandbox', { wrkdir: '' }, /^argument 'wrkdir' is not known; there are: /],
    ['run_command', { command: 'true', workng_dir: '/' }, /^argument 'workng_dir' is not known; did you mean 'cwd'\? There are: command, argv, background, pty, stdin, env, cwd, timeout_s, sandbox$/],
    ['server_info', { detail: 'all' }, 'argument \'detail\': expected one of "brief", "full", got the string "all"'],
  ];
  for (const [name, args, message] of cases) {
    const answer = await server.call(name, args);
    assert.equal(answer.result.isError, true);
    if (message instanceof RegExp) assert.match(textOf(answer), message);
    else assert.equal(textOf(answer), message);
  }
  await server.close();
});
