// fixture.mjs - what the fixture offers.
export const TOOLS = [
  'test_simple_text', 'test_image_content', 'test_audio_content', 'test_embedded_resource',
  'test_multiple_content_types', 'test_tool_with_logging', 'test_logging_tool',
  'test_tool_with_progress', 'test_progress_flood', 'test_error_handling',
  'test_trigger_tool_change', 'test_trigger_prompt_change', 'test_trigger_resource_update',
  'test_cancelled_count', 'test_reconnection', 'test_sampling', 'test_elicitation',
  'test_elicitation_sep1034_defaults', 'test_elicitation_sep1330_enums', 'test_elicitation_url',
  'test_elicitation_url_required', 'test_missing_capability', 'test_streaming_elicitation',
  ...['elicitation', 'sampling', 'list_roots', 'request_state', 'multiple_inputs', 'multi_round', 'tampered_state', 'capabilities']
    .map((name) => `test_input_required_result_${name}`),
  'greet', 'slow_compute', 'failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input', 'test_tool_with_task',
  'test_custom_header', 'json_schema_2020_12_tool', 'test_slow', 'test_deaf', 'test_big', 'test_echo',
];
export const FIXTURE_TOOLS = TOOLS.length;

const TASKS = 'io.modelcontextprotocol/tasks';
/** How a server of this revision says that it has tasks. */
export const taskCapability = (revision) => {
  if (revision === '2025-11-25') return { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  return revision === '2026-07-28' ? { extensions: { [TASKS]: {} } } : {};
};
/** Capabilities as a client got them, without tasks, which each era says in another way. */
export function withoutTasks({ tasks, extensions, ...rest }, assert) {
  assert.ok((tasks !== undefined) !== (extensions !== undefined), JSON.stringify({ tasks, extensions }));
  if (extensions !== undefined) assert.deepEqual(extensions, { [TASKS]: {} });
  return rest;
}
