import { SluiceError } from '../../foundation/errors.ts'
import type { ImageRecord } from '../../platform/images/image-library.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { renderTable } from '../text-table.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster that has the images' },
  { name: 'output', short: 'o', value: 'json', help: 'everything that is known of them, for programs' },
]

export const imageListCommand: Command = {
  name: 'image list',
  summary: 'List the container images that were imported.',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const output = parsed.text('output')
    if (output !== undefined && output !== 'json') {
      throw new SluiceError('invalid_flag', { flag: '--output', reason: `"${output}" is not known; json is.` })
    }
    const { openImageLibrary } = await import('../../platform/images/image-library.ts')
    const images = openImageLibrary(parsed.text('data') ?? '.sluice').list()
    console.log(output === 'json' ? JSON.stringify({ items: images }, undefined, 2) : renderImages(images))
    return 0
  },
}

export function renderImages(images: readonly ImageRecord[]): string {
  if (images.length === 0) return 'There are no images. `sluice image import FILE` takes one.'
  const rows = images.map(({ name, id, platform, bytes, importedAt }) => [
    name,
    id.slice(id.indexOf(':') + 1).slice(0, 12),
    platform,
    shownSize(bytes),
    importedAt,
  ])
  return renderTable([['NAME', 'ID', 'PLATFORM', 'SIZE', 'IMPORTED'], ...rows])
}

function shownSize(bytes: number): string {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1024
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toPrecision(2)}${units[unit] ?? ''}`
}
