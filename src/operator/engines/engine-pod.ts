import type { Container, Pod } from '../../resources/pod.ts'

/** What an engine is asked to serve. */
export interface ServeOrder {
  readonly modelName: string
  /** Where the files are, inside the container. */
  readonly modelPath: string
  readonly cards: number
  readonly args: readonly string[]
}

/** What is particular about the Pods of one engine. */
export interface EnginePod {
  /** The last segment of the image's name; its entry point is the serve command. */
  readonly image: string
  readonly args: readonly string[]
  /** Besides the cards. */
  readonly requests: Readonly<Record<string, string>>
  /** How long loading may take before the container is started anew. */
  readonly startupSeconds: number
  readonly graceSeconds: number
  readonly volumes: NonNullable<Pod['spec']['volumes']>
  readonly volumeMounts: NonNullable<Container['volumeMounts']>
}

/**
 * Not the gateway's own default: a gateway that listens on every address would take the port on every Pod's address
 * too, where Pods are processes of the same machine.
 */
export const enginePort = 8900

/** The serve command's arguments, the same for every engine. What the Model adds comes last, so that it wins. */
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

/** A path is a path, even when it looks like a reference to a variable. */
function withoutVariables(path: string): string {
  return path.replaceAll('$(', '$$$$(')
}
