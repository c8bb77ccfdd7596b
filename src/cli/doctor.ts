import { SluiceError } from '../foundation/errors.ts'
import type { Examination } from '../platform/doctor/examine-directory.ts'
import type { Command } from './command.ts'
import { dataDirectoryOf, dataFlag } from './connection/cluster-place.ts'
import { parseFlags } from './flags.ts'
import { outputFlag, outputForm } from './output/output-flag.ts'
import { renderObject } from './output/print-output.ts'

const flags = [dataFlag, outputFlag]

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Look at a data directory without starting it, and say what is unusual; ends with 1 when something is.',
  example: 'sluice doctor --data .sluice',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const path = dataDirectoryOf(parsed)
    const { whileUnused } = await import('../platform/data/data-directory.ts')
    const { examineDirectory } = await import('../platform/doctor/examine-directory.ts')
    const examination = looked(() => whileUnused(path, () => examineDirectory(path, Date.now())))
    const listing = { resource: 'directory', nameOf: ({ directory }: Examination) => directory }
    process.stdout.write(await renderObject(examination, listing, form, [renderExamination(examination)]))
    return examination.findings.length === 0 ? 0 : 1
  },
}

/** Of a Sluice that runs, there is something else to ask. */
function looked(look: () => Examination): Examination {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'data_directory_in_use') throw error
    throw new SluiceError('doctor_while_running', error.details, { cause: error })
  }
}

export function renderExamination({ directory, facts, findings }: Examination): string {
  const lines = [`Looked at ${directory}.`, ...facts, '']
  for (const { what, advice } of findings) lines.push(`- ${what}`, `  ${advice}`)
  if (findings.length === 0) lines.push('Nothing unusual was found.')
  return lines.join('\n')
}
