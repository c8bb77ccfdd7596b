import type { Command } from '../command.ts'
import { portOf, roleCommand } from './role-flags.ts'

export const managementCommand: Command = roleCommand(
  {
    name: 'management',
    summary: 'Run the management API of a Kubernetes cluster. There may be several.',
    example: 'sluice management --kubeconfig ~/.kube/config',
    flags: [
      { name: 'management-port', value: 'PORT', fallback: '8080', help: 'the management API' },
      {
        name: 'console-actions',
        help: 'let the console change Models and keys, not only show them; its account needs the rights',
      },
    ],
  },
  async (common, parsed, signal) => {
    const { startManagement } = await import('../../platform/kubernetes/management-program.ts')
    const options = {
      ...common,
      managementPort: portOf(parsed, 'management-port'),
      consoleActions: parsed.isSet('console-actions'),
    }
    return startManagement(options, signal)
  },
)
