import type { Flag } from './command.ts'
import type { ParsedFlags } from './flags.ts'

/** Flags about what the gateway does with requests, of every command that serves it. */
export const gatewayFlags: readonly Flag[] = [
  { name: 'wake-deadline', value: 'SECONDS', fallback: '600', help: 'how long a request waits for its model' },
  { name: 'require-api-keys', help: 'refuse inference requests without a key of `sluice key create`' },
  {
    name: 'trusted-proxies',
    value: 'CIDR,...',
    fallback: '127.0.0.1,::1',
    help: 'whose x-forwarded-* headers the gateway believes',
  },
  {
    name: 'body-limit',
    value: 'MIB',
    fallback: '32',
    help: 'what the gateway holds of a request body at most; files of forms stream',
  },
]

export function gatewaySettings(parsed: ParsedFlags) {
  return {
    wakeDeadlineMs: (parsed.number('wake-deadline', { min: 1, max: 30 * 24 * 3600 }) ?? 600) * 1000,
    requireApiKeys: parsed.isSet('require-api-keys'),
    trustedProxies: parsed.text('trusted-proxies') ?? '',
    bodyLimitBytes: (parsed.integer('body-limit', { min: 1, max: 1_024 }) ?? 32) * 1024 * 1024,
  }
}
