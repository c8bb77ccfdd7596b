import { version } from '../platform/version.ts'
import type { Command } from './command.ts'
import { parseFlags } from './flags.ts'
import { outputFlag, outputForm } from './output/output-flag.ts'
import { renderObject } from './output/print-output.ts'

const flags = [outputFlag]

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version.',
  example: 'sluice version\nsluice --version',
  flags,
  async run(args) {
    const form = outputForm(parseFlags(flags, args))
    const facts = { version, node: process.versions.node, platform: `${process.platform}/${process.arch}` }
    const lines = form === 'wide' ? [`${version} (Node ${facts.node}, ${facts.platform})`] : [version]
    const shown = await renderObject(facts, { resource: 'version', nameOf: () => version }, form, lines)
    process.stdout.write(shown)
    return 0
  },
}
