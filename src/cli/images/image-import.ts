import { systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { ImportedImage } from '../../platform/images/image-library.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { tellWrittenBytes } from '../output/written-bytes.ts'

const flags: readonly Flag[] = [
  dataFlag,
  { name: 'name', value: 'NAME', help: 'what it is called here (default: as its archive says)' },
  { name: 'ref', value: 'REF', help: 'of an OCI layout with several images, the one to take' },
  { name: 'platform', value: 'OS/ARCH', help: 'of an image for several machines, the one to take (default: this one)' },
  { name: 'max-size', value: 'BYTES', fallback: '64Gi', help: 'what it may take on the disk, unpacked' },
]

export const imageImportCommand: Command = {
  name: 'image import',
  summary:
    'Take a container image from what docker save or skopeo wrote, from an OCI layout, or from standard input (-).',
  example: 'docker save web:1 | sluice image import -',
  positional: 'FILE',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [path, ...extra] = parsed.positionals
    if (path === undefined || extra.length > 0) throw invalid('FILE', 'name exactly one archive or folder.')
    const { openImageLibrary, parsePlatform, runningRegistry, usualLimits } =
      await import('../../platform/images/image-library.ts')
    const asked = parsed.text('platform')
    const platform = asked === undefined ? undefined : parsePlatform(asked)
    if (asked !== undefined && !platform) throw invalid('--platform', 'must be such as linux/amd64.')
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () =>
        stop.abort(new SluiceError('image_refused', { file: path, reason: 'it was interrupted' })),
      )
    }
    const data = dataDirectoryOf(parsed)
    const finished = tellWrittenBytes(path === '-' ? 'standard input' : path, systemClock)
    const importing = openImageLibrary(data).import({
      path,
      name: parsed.text('name'),
      ref: parsed.text('ref'),
      platform,
      limits: { ...usualLimits, bytes: sizeOf(parsed) },
      signal: stop.signal,
    })
    const taken = await importing.finally(finished)
    for (const { record } of taken) console.log(record.name)
    for (const note of importNotes(taken, runningRegistry(data))) console.error(note)
    return 0
  },
}

/** What the person who imported the images should know. */
export function importNotes(taken: readonly ImportedImage[], registry: string | undefined): string[] {
  const notes = taken.flatMap(({ record, unpacked }) => {
    if (!unpacked) return []
    const { devices, fifos, capabilities, otherOwners } = unpacked
    const left = [
      ...(devices > 0 ? [`${devices} device files`] : []),
      ...(fifos > 0 ? [`${fifos} named pipes`] : []),
      ...(capabilities > 0 ? [`the capabilities of ${capabilities} files`] : []),
      ...(otherOwners > 0 ? [`the owners of ${otherOwners} files (only root can keep them)`] : []),
    ]
    return left.length > 0 ? [`${record.name}: left out ${left.join(', ')}.`] : []
  })
  const [first] = taken
  if (first && registry !== undefined) notes.push(`Pods name it ${podName(first.record.name, registry)}`)
  return notes
}

function podName(name: string, registry: string): string {
  if (name.startsWith(`${registry}/`)) return name
  return `${registry}/${name.replace(/^docker\.io\/(?:library\/)?/, '')}`
}

function sizeOf(parsed: ParsedFlags): number {
  const text = parsed.text('max-size') ?? ''
  const bytes = parseQuantity(text)
  if (bytes === undefined || bytes < 1) throw invalid('--max-size', `"${text}" is not a size such as 64Gi.`)
  return bytes
}

function invalid(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
