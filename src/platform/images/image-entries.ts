import { readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageEntry } from '../../node/images/image-store.ts'
import { isExecutable } from '../../node/isolation/detect-isolation.ts'
import { compiledFolder } from '../models/compiled-engine.ts'
import { engineMemorySettings, mainProgram, memorySettings, nodeFlag } from './own-program.ts'

const ownFolder = fileURLToPath(new URL('../../../', import.meta.url))
/**
 * The files that this program consists of. The rest of its folder stays hidden, since people may keep data or keys
 * there.
 */
const visible = ['.gpu-binaries', 'bin', 'node_modules', 'package.json', 'src', 'web/console/dist', 'web/dist'].map(
  (name) => join(ownFolder, name),
)
/**
 * Where engines keep what they have compiled for the machine's cards, since compiling takes minutes, and what they have
 * computed of their templates' openings.
 */
const kept = '/var/cache/sluice'
const vllmMissing = 'this machine has no vllm on its PATH; install vLLM, or use the engine LlamaCpp'

/** What the images of the center's registry stand for on this machine. The operator's additions take precedence. */
export function enginePrograms(
  registry: string,
  added: Readonly<Record<string, ImageEntry>> = {},
  path = process.env['PATH'] ?? '',
): Readonly<Record<string, ImageEntry>> {
  const vllm = path
    .split(delimiter)
    .map((folder) => join(folder, 'vllm'))
    .find(isExecutable)
  const compiled = compiledFolder()
  const own = {
    visible: [...visible, ...(compiled === undefined ? [] : [compiled])],
    env: {
      ...memorySettings,
      // So that `sluice serve` can be called in the container as on the machine.
      PATH: [join(ownFolder, 'bin'), path].filter((part) => part !== '').join(delimiter),
      SLUICE_GPU_CACHE: `${kept}/gpu`,
      SLUICE_OPENINGS: `${kept}/openings`,
      ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }),
    },
    kept,
  }
  const command = [process.execPath, nodeFlag, mainProgram]
  return {
    [`${registry}/sluice/sluice`]: { command, ...own },
    [`${registry}/sluice/llama-cpp`]: {
      ...own,
      command: [...command, 'serve'],
      env: { ...own.env, ...engineMemorySettings },
    },
    [`${registry}/sluice/vllm`]: vllm === undefined ? { unavailable: vllmMissing } : vllmEntry(vllm),
    ...added,
  }
}

/** vLLM with the Python that runs it, wherever they are installed. */
function vllmEntry(program: string): ImageEntry {
  const [, interpreter] = /^#!(\S+)/.exec(firstLine(program)) ?? []
  const parts = [program, ...(interpreter === undefined ? [] : [interpreter])].flatMap(installedBeside)
  return { command: [program, 'serve'], visible: [...new Set(parts)], env: { VLLM_CACHE_ROOT: `${kept}/vllm` }, kept }
}

/**
 * The files of a program's installation, following Python's conventions, without anything else that is in the folder.
 */
function installedBeside(program: string): string[] {
  const prefixes = new Set([program, realPath(program)].map((path) => dirname(dirname(path))))
  return [...prefixes].flatMap((prefix) =>
    prefix === '/' || prefix === '/usr' ? [] : ['bin', 'lib', 'lib64', 'pyvenv.cfg'].map((name) => join(prefix, name)),
  )
}

function firstLine(path: string): string {
  try {
    return readFileSync(path, 'latin1').slice(0, 4096).split('\n', 1)[0] ?? ''
  } catch {
    return ''
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}
