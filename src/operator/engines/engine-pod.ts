import type { Container, Pod } from '../../resources/pod.ts'

/** What an engine is to serve. */
export interface ServeOrder {
  readonly modelName: string
  /** The path of the files inside the container. */
  readonly modelPath: string
  readonly cards: number
  readonly args: readonly string[]
}

/** What is special about the Pods of one engine. */
export interface EnginePod {
  /** The last segment of the image's name; its entry point is the serve command. */
  readonly image: string
  readonly args: readonly string[]
  /** Besides the cards. */
  readonly requests: Readonly<Record<string, string>>
  /** How long loading may take before the container is restarted. */
  readonly startupSeconds: number
  readonly graceSeconds: number
  readonly volumes: NonNullable<Pod['spec']['volumes']>
  readonly volumeMounts: NonNullable<Container['volumeMounts']>
}

/**
 * Not the gateway's default port: where Pods are processes of the same machine, a gateway that listens on every address
 * would occupy it on every Pod's address, too.
 */
export const enginePort = 8900

/** The arguments of the serve command, the same for every engine. The Model's own come last, so that they win. */
export function serveArguments({ modelName, modelPath, cards, args }: ServeOrder): string[] {
  return [
    withoutVariables(modelPath),
    '--host',
    '$(POD_IP)',
    '--port',
    String(enginePort),
    '--served-model-name',
    modelName,
    '--tensor-parallel-size',
    String(cards),
    ...args,
  ]
}

/** A path must stay a path, even if it looks like a reference to a variable. */
function withoutVariables(path: string): string {
  return path.replaceAll('$(', '$$$$(')
}
