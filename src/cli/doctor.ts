import type { Examination } from '../platform/doctor/examine-directory.ts'
import type { Command, Flag } from './command.ts'
import { parseFlags } from './flags.ts'

const flags: readonly Flag[] = [{ name: 'data', value: 'DIR', fallback: '.sluice', help: 'the directory to look at' }]

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Look at a data directory without starting it, and say what is unusual; ends with 1 when something is.',
  flags,
  async run(args) {
    const path = parseFlags(flags, args).text('data') ?? '.sluice'
    const { whileUnused } = await import('../platform/data/data-directory.ts')
    const { examineDirectory } = await import('../platform/doctor/examine-directory.ts')
    const examination = whileUnused(path, () => examineDirectory(path, Date.now()))
    console.log(renderExamination(examination))
    return examination.findings.length === 0 ? 0 : 1
  },
}

export function renderExamination({ directory, facts, findings }: Examination): string {
  const lines = [`Looked at ${directory}.`, ...facts, '']
  for (const { what, advice } of findings) lines.push(`- ${what}`, `  ${advice}`)
  if (findings.length === 0) lines.push('Nothing unusual was found.')
  return lines.join('\n')
}
