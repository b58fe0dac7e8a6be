// Tasks: the experiment of 2025-11-25 with the first SDK, the extension of 2026-07-28 with lines.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CAPABILITIES_KEY, SUBSCRIPTION_KEY, callParams, modern } from '../lib/modern.mjs';
import { BELLJAR, FIXTURE } from '../lib/programs.mjs';
import { assertError, start } from '../lib/raw.mjs';
import { sleep, stateDir } from '../lib/sandboxed.mjs';
import { connectV1 } from '../lib/sdk.mjs';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const META = { [CAPABILITIES_KEY]: { elicitation: {}, extensions: { [EXTENSION]: {} } } };
const ENDED = ['completed', 'failed', 'cancelled'];

/** A client of the extension on stdio. */
function open(t, program, options) {
  const server = start(t, program, options);
  const call = async (name, args = {}) => (await server.request('tools/call', callParams(name, args, META))).result;
  const task = (method, taskId, more = {}) => server.request(`tasks/${method}`, modern({ taskId, ...more }, META));
  const until = async (taskId, ...wanted) => {
    for (;;) {
      const { result } = await task('get', taskId);
      if (wanted.includes(result.status)) return result;
      await sleep(20);
    }
  };
  return { server, call, task, until };
}

describe('the extension of 2026-07-28', () => {
  test('a task has its result in tasks/get', async (t) => {
    const { server, call, task, until } = open(t, FIXTURE);
    const created = await call('slow_compute', { seconds: 0.1 });
    assert.equal(created.resultType, 'task');
    assert.match(created.taskId, /^t_[a-z2-7]{26}$/);
    assert.equal(created.status, 'working');
    assert.ok(created.ttlMs > 0 && created.pollIntervalMs > 0);
    for (const key of ['task', 'ttl', 'pollInterval', 'requestState', 'result']) assert.equal(created[key], undefined, key);
    const done = await until(created.taskId, ...ENDED);
    assert.equal(done.status, 'completed');
    assert.equal(done.result.content[0].text, 'done');
    assert.deepEqual((await task('cancel', created.taskId)).result.resultType, 'complete');
    assert.equal((await until(created.taskId, ...ENDED)).status, 'completed', 'the end is final');
    const failed = await until((await call('failing_job')).taskId, ...ENDED);
    assert.deepEqual([failed.status, failed.result.isError], ['completed', true]);
    const broken = await until((await call('protocol_error_job')).taskId, ...ENDED);
    assert.deepEqual([broken.status, broken.error.code, broken.result], ['failed', -32603, undefined]);
    await server.close();
  });

  test('a cancelled task stops its work', async (t) => {
    const { server, call, task, until } = open(t, FIXTURE);
    const { taskId } = await call('slow_compute', { seconds: 600 });
    const { result } = await task('cancel', taskId);
    assert.deepEqual(Object.keys(result).sort(), ['_meta', 'resultType']);
    assert.equal((await until(taskId, ...ENDED)).status, 'cancelled');
    await call('slow_compute', { seconds: 600 });
    await server.close(); // does not wait for the other one
  });

  test('questions of a task are answered one by one', async (t) => {
    const { server, call, task, until } = open(t, FIXTURE);
    const { taskId } = await call('multi_input');
    const asking = await until(taskId, 'input_required');
    assert.deepEqual(Object.keys(asking.inputRequests), ['first', 'second']);
    const answer = { action: 'accept', content: { name: 'x' } };
    await task('update', taskId, { inputResponses: { first: answer, unknown: answer, second: 5 } });
    assert.deepEqual(Object.keys((await until(taskId, 'input_required')).inputRequests), ['second']);
    await task('update', taskId, { inputResponses: { second: answer } });
    assert.equal((await until(taskId, ...ENDED)).result.content[0].text, 'both answered');
    await server.close();
  });

  test('without the extension there are no tasks', async (t) => {
    const { server, call } = open(t, FIXTURE);
    const { taskId } = await call('slow_compute', { seconds: 600 });
    const plain = (method, params) => server.request(method, modern(params));
    assert.equal((await plain('tools/call', { name: 'slow_compute', arguments: { seconds: 0 } })).result.resultType, 'complete');
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const answer = await plain(method, { taskId, inputResponses: {} });
      assertError(answer, -32021);
      assert.deepEqual(answer.error.data.requiredCapabilities, { extensions: { [EXTENSION]: {} } });
    }
    assertError(await plain('tools/call', { name: 'failing_job' }), -32021);
    for (const method of ['tasks/result', 'tasks/list'])
      assertError(await server.request(method, modern({ taskId }, META)), -32601);
    for (const unknown of ['t_aaaaaaaaaaaaaaaaaaaaaaaaaa', '', 5])
      assertError(await server.request('tasks/get', modern({ taskId: unknown }, META)), -32602, /names no task of yours/);
    await server.close();
  });

  test('a listen request reports the states of its tasks', async (t) => {
    const { server, call, task } = open(t, FIXTURE);
    const { taskId } = await call('slow_compute', { seconds: 600 });
    const id = server.ask('subscriptions/listen', modern({ notifications: { taskIds: [taskId, 'other'] } }, META), 'tasks');
    const { params } = await server.notification('notifications/subscriptions/acknowledged');
    assert.deepEqual(params.notifications, { taskIds: [taskId] });
    await task('cancel', taskId);
    const told = await server.notification('notifications/tasks');
    assert.deepEqual([told.params.taskId, told.params.status, told.params._meta[SUBSCRIPTION_KEY]], [taskId, 'cancelled', id]);
    server.notify('notifications/cancelled', modern({ requestId: id }));
    await server.close();
  });
});

describe('the experiment of 2025-11-25', () => {
  test('the SDK\'s stream of a task', async (t) => {
    const session = await connectV1(t, { options: { capabilities: {} } });
    const { tools } = await session.client.listTools();
    const supports = Object.fromEntries(tools.map(({ name, execution }) => [name, execution?.taskSupport]));
    assert.deepEqual([supports.slow_compute, supports.failing_job, supports.greet], ['optional', 'required', undefined]);
    const seen = [];
    for await (const message of session.client.experimental.tasks.callToolStream({ name: 'slow_compute', arguments: { seconds: 0.1 } }, undefined, { task: { ttl: 60000 } }))
      seen.push(message);
    assert.equal(seen[0].type, 'taskCreated');
    assert.equal(seen.at(-1).type, 'result');
    assert.equal(seen.at(-1).result.content[0].text, 'done');
    const { taskId } = seen[0].task;
    assert.equal(seen[0].task.ttl, 60000);
    const { tasks } = await session.client.experimental.tasks.listTasks();
    assert.ok(tasks.some((task) => task.taskId === taskId && task.status === 'completed'));
    await session.close();
  });

  test('results, cancelling and wrong use', async (t) => {
    const server = start(t, FIXTURE);
    await server.handshake('2025-11-25');
    const call = (name, args = {}, task = {}) => server.request('tools/call', { name, arguments: args, task });
    const { result: { task } } = await call('slow_compute', { seconds: 0.2 });
    const { result } = await server.request('tasks/result', { taskId: task.taskId });
    assert.equal(result.content[0].text, 'done');
    assert.deepEqual(result._meta, { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } });
    const told = await server.notification('notifications/tasks/status');
    assert.deepEqual([told.params.taskId, told.params.status], [task.taskId, 'completed']);

    const long = (await call('slow_compute', { seconds: 600 })).result.task;
    const waiting = server.ask('tasks/result', { taskId: long.taskId });
    assert.equal((await server.request('tasks/cancel', { taskId: long.taskId })).result.status, 'cancelled');
    assertError(await server.answer(waiting), -32602, /was cancelled/);
    await server.notification('notifications/tasks/status');
    assertError(await server.request('tasks/cancel', { taskId: long.taskId }), -32602, /has ended/);
    assertError(await call('greet', { name: 'x' }), -32601, /does not run as a task/);
    assertError(await server.request('tools/call', { name: 'failing_job' }), -32601, /runs as a task only/);
    await call('slow_compute', { seconds: 600 });
    await server.close();
  });

  test('other revisions have no tasks', async (t) => {
    const server = start(t, FIXTURE);
    await server.handshake('2025-06-18');
    assertError(await server.request('tasks/list', {}), -32601);
    const { result } = await server.request('tools/call', { name: 'slow_compute', arguments: { seconds: 0 }, task: {} });
    assert.equal(result.content[0].text, 'done');
    await server.close();
  });
});

describe('long runs of belljar', () => {
  test('a command that outlasts the answer is a task, for a client that knows them', async (t) => {
    const { server, call, task, until } = open(t, BELLJAR, { env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ANSWER_WITHIN: '1000' } });
    const finish = async (result) => (result.resultType === 'task' ? (await until(result.taskId, ...ENDED)).result : result);
    const { resultType, taskId } = await call('run_command', { command: 'echo long; sleep 2; echo end' });
    assert.equal(resultType, 'task');
    const done = await until(taskId, ...ENDED);
    assert.equal(done.result.structuredContent.stdout, 'long\nend\n');
    assert.equal(done.result.structuredContent.process, undefined);

    const stopped = await call('run_command', { command: 'sleep 600 & echo $! > pid; wait' });
    await task('cancel', stopped.taskId);
    assert.equal((await until(stopped.taskId, ...ENDED)).status, 'cancelled');
    const { structuredContent } = await finish(await call('run_command', { command: 'for i in $(seq 100); do test -d /proc/$(cat pid) || break; sleep 0.1; done; test -d /proc/$(cat pid) && echo alive || echo gone' }));
    assert.equal(structuredContent.stdout, 'gone\n');
    const detached = await call('run_command', { command: 'sleep 600', background: true });
    assert.equal(detached.resultType, 'complete');
    assert.match(detached.structuredContent.process, /^p/);
    await server.close();
  });

  test('a client of 2025-11-25 asks for a task', async (t) => {
    const server = start(t, BELLJAR, { env: { BELLJAR_STATE_DIR: stateDir(t), BELLJAR_ANSWER_WITHIN: '1000' } });
    await server.handshake('2025-11-25');
    const { result: { task } } = await server.request('tools/call', { name: 'run_code', arguments: { code: 'import time; time.sleep(2); print("slept")' }, task: {} });
    const { result } = await server.request('tasks/result', { taskId: task.taskId });
    assert.match(result.content[0].text, /^slept/);
    await server.notification('notifications/tasks/status');
    await server.close();
  });
});
