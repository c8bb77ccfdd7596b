import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageEntry } from '../node/image-store.ts'

const mainProgram = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const vllmMissing = 'this machine has no vllm on its PATH; install vLLM, or use the engine LlamaCpp'

export interface EnginePrograms {
  readonly images: Readonly<Record<string, ImageEntry>>
  /** Why the engine VLLM cannot run here. */
  readonly vllmUnavailable: string | undefined
}

/** What the images of the center's registry are on this machine; what its operator added comes first. */
export function enginePrograms(
  registry: string,
  added: Readonly<Record<string, ImageEntry>> = {},
  path = process.env['PATH'] ?? '',
): EnginePrograms {
  const vllmImage = `${registry}/sluice/vllm`
  const vllm = path
    .split(delimiter)
    .map((folder) => join(folder, 'vllm'))
    .find(isExecutable)
  return {
    images: {
      [`${registry}/sluice/sluice`]: { command: [process.execPath, mainProgram] },
      [`${registry}/sluice/llama-cpp`]: { command: [process.execPath, mainProgram, 'serve'] },
      [vllmImage]: vllm === undefined ? { unavailable: vllmMissing } : { command: [vllm, 'serve'] },
      ...added,
    },
    vllmUnavailable: vllm === undefined && !Object.hasOwn(added, vllmImage) ? vllmMissing : undefined,
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
