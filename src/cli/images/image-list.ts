import type { ImageRecord } from '../../platform/images/image-library.ts'
import type { Command } from '../command.ts'
import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, renderList } from '../output/print-output.ts'

const flags = [dataFlag, outputFlag]

export const imageListCommand: Command = {
  name: 'image list',
  summary: 'List the container images that were imported.',
  example: 'sluice image list -o wide',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const { openImageLibrary } = await import('../../platform/images/image-library.ts')
    print(await renderList(openImageLibrary(dataDirectoryOf(parsed)).list(), imageListing, form))
    return 0
  },
}

export const imageListing: Listing<ImageRecord> = {
  resource: 'image',
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', text: ({ name }) => name },
    { title: 'ID', text: ({ id }) => id.slice(id.indexOf(':') + 1).slice(0, 12) },
    { title: 'PLATFORM', text: ({ platform }) => platform },
    { title: 'SIZE', text: ({ bytes }) => shownSize(bytes) },
    { title: 'IMPORTED', text: ({ importedAt }) => importedAt },
    { title: 'DIGESTS', wide: true, text: ({ digests }) => digests.join(',') },
  ],
  none: 'There are no images. `sluice image import FILE` takes one.',
}

function shownSize(bytes: number): string {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1024
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toPrecision(2)}${units[unit] ?? ''}`
}
