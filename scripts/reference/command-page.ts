import { commands } from '../../src/cli/commands.ts'
import { renderCommandHelp } from '../../src/cli/help.ts'

/** The help of every command but `up`, whose flags have a table of their own. */
export function commandSections(): string {
  return commands
    .filter(({ name, hidden }) => hidden !== true && name !== 'up')
    .map((command) => `## sluice ${command.name}\n\n\`\`\`text\n${renderCommandHelp(command)}\n\`\`\``)
    .join('\n\n')
}
