import type { Command } from '../command.ts'
import { portOf, roleCommand } from './role-flags.ts'

export const managementCommand: Command = roleCommand(
  {
    name: 'management',
    summary: 'Run the management API of a Kubernetes cluster. There may be several.',
    flags: [{ name: 'management-port', value: 'PORT', fallback: '8080', help: 'the management API' }],
  },
  async (common, parsed, signal) => {
    const { startManagement } = await import('../../platform/kubernetes/management-program.ts')
    return startManagement({ ...common, managementPort: portOf(parsed, 'management-port') }, signal)
  },
)
