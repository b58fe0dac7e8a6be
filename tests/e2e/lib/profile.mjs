// profile.mjs - the tools of a profile as its clients use them.
//
//   const { tools, json } = profile('code-executor');
//   const { executor_id } = await json.create_executor();     // JSON.parse(result.content[0].text)
//   const result = await tools.create_executor();             // the whole result
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { made } from '../../docker/docker_api.mjs';
import { ENGINE } from './programs.mjs';
import { sandboxed } from './sandboxed.mjs';

/** The object that the text of a result holds; the structured content, if sent, is the same. */
export function objectOf(result) {
  assert.ok(!result.isError, JSON.stringify(result).slice(0, 500));
  assert.equal(result.content.length, 1);
  const object = JSON.parse(result.content[0].text);
  if (result.structuredContent !== undefined) assert.deepEqual(result.structuredContent, object);
  return object;
}

export const jsonOf = (tools) =>
  new Proxy({}, { get: (_, name) => async (args, options) => objectOf(await tools[name](args, options)) });

export function profile(name, settings = {}) {
  const tools = sandboxed({ PROFILE: name, ...settings });
  return { tools, json: jsonOf(tools) };
}

/** Texts that break servers which build shell commands from their arguments. */
export const AWKWARD = `"double" 'single' \`back\` $(id) \${HOME} $HOME \\n \\ %s !x *\n\tline\r\n\u0000 end\u2028é漢😀`;

/** The text of an answer that is one plain text. */
export const textsOf = (tools) =>
  new Proxy(
    {},
    {
      get: (_, name) => async (args, options) => {
        const result = await tools[name](args, options);
        assert.ok(!result.isError, JSON.stringify(result).slice(0, 500));
        assert.equal(result.content.length, 1);
        return result.content[0].text;
      },
    },
  );

/** The ids of the sandboxes that have files, or a container, of a state directory. */
export async function idsOnDisk(state) {
  if (ENGINE === 'native') {
    const files = join(state, 'sandboxes');
    return existsSync(files) ? readdirSync(files).filter((name) => name.startsWith('sb_')) : [];
  }
  const { containers, volumes } = await made(state);
  return [...new Set([...containers, ...volumes].flatMap((name) => name.match(/sb_[a-z2-7]+/g) ?? []))];
}

/** What an answer says about the usual image of a profile, of which the tests' engine has none. */
export const imageNote = (image) =>
  ENGINE === 'native'
    ? new RegExp(`native engine does not have the image '${image}'`)
    : new RegExp(`Programs come from the image '\\S*belljar-test\\S*', which the operator .* instead of '${image}'`);
