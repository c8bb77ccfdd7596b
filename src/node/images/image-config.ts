import { type ConfigDocument, configSchema, readDocument } from './archives/image-documents.ts'

/** How an image says that it is to be run. */
export interface ImageConfig {
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** `user`, `uid`, `user:group`, …; empty means root. */
  readonly user: string
  /** Empty means `/`. */
  readonly workingDir: string
  /** Such as `8080/tcp`. */
  readonly exposedPorts: readonly string[]
  readonly stopSignal: string | undefined
}

/** The PATH of containers whose image sets none. */
export const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function readImageConfig(content: Buffer): ImageConfig {
  return imageConfigOf(readDocument(configSchema, content, "the image's configuration"))
}

export function imageConfigOf({ config }: ConfigDocument): ImageConfig {
  return {
    entrypoint: config?.Entrypoint ?? [],
    cmd: config?.Cmd ?? [],
    env: environmentOf(config?.Env ?? []),
    user: config?.User ?? '',
    workingDir: config?.WorkingDir ?? '',
    exposedPorts: Object.keys(config?.ExposedPorts ?? {}),
    stopSignal: config?.StopSignal || undefined,
  }
}

/** The image's own variables. Nothing of the machine's environment is in them. */
export function imageEnvironment({ env }: ImageConfig): Readonly<Record<string, string>> {
  return { PATH: usualPath, ...env }
}

/** `command` replaces the entry point together with the image's arguments; `args` replaces only the arguments. */
export function imageCommand(
  { entrypoint, cmd }: ImageConfig,
  command: readonly string[] | undefined,
  args: readonly string[] | undefined,
): { readonly fromImage: readonly string[]; readonly fromContainer: readonly string[] } {
  const ownCommand = command ?? []
  const ownArgs = args ?? []
  if (ownCommand.length > 0) return { fromImage: [], fromContainer: [...ownCommand, ...ownArgs] }
  if (ownArgs.length > 0) return { fromImage: entrypoint, fromContainer: ownArgs }
  return { fromImage: [...entrypoint, ...cmd], fromContainer: [] }
}

function environmentOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines
      .filter((line) => !line.startsWith('=') && !line.includes('\0'))
      .map((line) => {
        const equals = line.indexOf('=')
        return equals < 0 ? [line, ''] : [line.slice(0, equals), line.slice(equals + 1)]
      }),
  )
}
