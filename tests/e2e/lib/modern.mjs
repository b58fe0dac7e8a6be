// modern.mjs - the envelope of the stateless era (2026-07-28), for the raw client.
export const MODERN = '2026-07-28';
export const HANDSHAKES = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
export const LAST_HANDSHAKE = HANDSHAKES.at(-1);

const PREFIX = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${PREFIX}protocolVersion`;
export const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
export const CLIENT_INFO_KEY = `${PREFIX}clientInfo`;
export const LOG_LEVEL_KEY = `${PREFIX}logLevel`;
export const SERVER_INFO_KEY = `${PREFIX}serverInfo`;
export const SUBSCRIPTION_KEY = `${PREFIX}subscriptionId`;

/** params._meta of a valid stateless request; extra members override, undefined removes. */
export const envelope = (extra = {}) => ({
  [VERSION_KEY]: MODERN,
  [CAPABILITIES_KEY]: {},
  ...extra,
});

/** The params of a valid stateless request. */
export const modern = (params = {}, extra = {}) => ({ ...params, _meta: envelope(extra) });

export const callParams = (name, args = {}, extra = {}) =>
  modern({ name, arguments: args }, extra);
