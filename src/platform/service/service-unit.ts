export interface ServiceUnit {
  readonly scope: ServiceScope
  /** The program and everything after it, as it is to be run. */
  readonly command: readonly string[]
}

/** Of the machine, or of one user. */
export type ServiceScope = 'system' | 'user'

/** The text of a unit of systemd that runs `sluice up`. */
export function renderServiceUnit({ scope, command }: ServiceUnit): string {
  return `# Written by \`sluice service install\`, which writes it again; \`sluice service uninstall\` removes it.
[Unit]
Description=Sluice, AI models that cost nothing while nobody asks
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${command.map(quoted).join(' ')}
Restart=on-failure
RestartSec=5
# Flags or a data directory that cannot be used stay so.
RestartPreventExitStatus=2
# Sluice ends its Pods itself when it is stopped. If it crashes they go on, and the next start takes them over.
KillMode=process
TimeoutStopSec=90
# It keeps Pods to their limits by control groups of its own.
Delegate=yes
TasksMax=infinity
LimitNOFILE=1048576

[Install]
WantedBy=${scope === 'system' ? 'multi-user.target' : 'default.target'}
`
}

/**
 * One word of a command line as systemd reads it: `%` and `$` mean something to it, and quotes keep a word together.
 */
function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$')
  if (/^[\w@%+=:,./$-]+$/.test(word)) return escaped
  return `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
