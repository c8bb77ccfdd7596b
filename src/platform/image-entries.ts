import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageEntry } from '../node/image-store.ts'
import { compiledFolder } from './compiled-engine.ts'

const ownFolder = fileURLToPath(new URL('../../', import.meta.url))
const mainProgram = join(ownFolder, 'bin', 'sluice.mjs')
/** What this program is made of: nothing else of its folder, which people may keep a data directory or keys in. */
const visible = ['.gpu-binaries', 'bin', 'node_modules', 'package.json', 'src', 'web/dist'].map((name) =>
  join(ownFolder, name),
)
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
  const compiled = compiledFolder()
  const own =
    compiled === undefined ? { visible } : { visible: [...visible, compiled], env: { NODE_COMPILE_CACHE: compiled } }
  return {
    images: {
      [`${registry}/sluice/sluice`]: { command: [process.execPath, mainProgram], ...own },
      [`${registry}/sluice/llama-cpp`]: { command: [process.execPath, mainProgram, 'serve'], ...own },
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
