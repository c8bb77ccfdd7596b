import { type ConfigDocument, configSchema, readDocument } from './archives/image-documents.ts'

/** What an image says about how it runs. */
export interface ImageConfig {
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** `user`, `uid`, `user:group`, …; empty where nothing is said, which means root. */
  readonly user: string
  /** Empty where nothing is said, which means `/`. */
  readonly workingDir: string
  /** `8080/tcp` */
  readonly exposedPorts: readonly string[]
  readonly stopSignal: string | undefined
}

/** What runtimes give a container whose image has no PATH. */
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

/** The variables of a container before its own come: those of the image alone, never those of the machine. */
export function imageEnvironment({ env }: ImageConfig): Readonly<Record<string, string>> {
  return { PATH: usualPath, ...env }
}

/** `command` replaces the entry point and with it the image's arguments; `args` replaces the arguments alone. */
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
