import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import { renderPair, withAccessKeys } from './access-key-cluster.ts'
import type { Command, Flag } from '../command.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { onlyName } from '../keys/key-cluster.ts'
import { durationMs } from '../output/times.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'overlap', value: 'TIME', fallback: '24h', help: 'how long the secret before goes on: 24h, 30m, 7d, 0' },
  { name: 'finish', help: 'no new secret; the one before opens nothing any more' },
]
const longestOverlapMs = 90 * 86_400_000

export const accessKeyRotateCommand: Command = {
  name: 'access-key rotate',
  summary: 'Give a key pair of the management API another secret and print it, this once; both open for a while.',
  example: 'sluice access-key rotate console --overlap 24h',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyName(parsed)
    if (parsed.isSet('finish')) {
      await withAccessKeys(parsed, (keys) => keys.finishRotation(name))
      console.log(`Only the newest secret of ${name} opens anything now.`)
      return 0
    }
    const overlapMs = overlapOf(parsed.text('overlap') ?? '24h')
    const rotated = await withAccessKeys(parsed, (keys) => keys.rotate(name, overlapMs))
    console.log(renderPair(rotated))
    const until = rotated.previousUntil
    console.error(
      until === undefined ? 'The secret before opens nothing any more.' : `The one before opens until ${until}.`,
    )
    await renewFile(parsed, rotated)
    return 0
  },
}

/** Without this, the file from the first start would be useless once the previous secret expires. */
async function renewFile(parsed: ParsedFlags, pair: { accessKey: string; secretKey: string }): Promise<void> {
  const place = findCluster(parsed)
  if (place.kind === 'kubeconfig') return
  const path = join(place.data, 'credentials.json')
  const { renewCredentialsFile } = await import('../../platform/access-keys.ts')
  if (await renewCredentialsFile(path, pair)) console.error(`${path} has the new secret.`)
}

export function overlapOf(text: string): number {
  const overlapMs = text === '0' ? 0 : durationMs(text)
  if (overlapMs !== undefined && overlapMs <= longestOverlapMs) return overlapMs
  const reason = `"${text}" is no time such as 24h, 30m or 7d, up to 90d, or 0.`
  throw new SluiceError('invalid_flag', { flag: '--overlap', reason })
}
