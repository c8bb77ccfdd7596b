import { modelCacheDirectory, modelDirectory } from '../../platform/models/model-storage.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { ProgressBar } from '../output/progress-bar.ts'

export interface FetchModelOptions {
  /** A known model, `hf:ORG/REPO/FILE.gguf`, or the https address of a GGUF file. */
  readonly source: string
  /** Its folder below `models/` in the claim. */
  readonly name: string
  /** The data directory that gets it; undefined for the machine's cache only. */
  readonly data: string | undefined
  readonly sha256?: string | undefined
  readonly signal: AbortSignal
}

/** Fetches a model with a bar that shows how far it is. Returns the path of its (first) file. */
export async function fetchModel({ source, name, data, sha256, signal }: FetchModelOptions): Promise<string> {
  const [{ pullModel }, { createLogger }] = await Promise.all([
    import('../../engine/models/model-pull.ts'),
    import('../../foundation/log.ts'),
  ])
  const bar = new ProgressBar(process.stderr, name)
  try {
    return await pullModel({
      name: source,
      sha256,
      huggingFace: process.env['HF_ENDPOINT'] || undefined,
      into: data === undefined ? undefined : modelDirectory(data, name),
      cacheDirectory: modelCacheDirectory(),
      onProgress: (progress) => bar.show(progress.bytes, progress.totalBytes),
      signal,
      log: createLogger({ level: 'warn' }),
    })
  } finally {
    bar.finish()
  }
}

/** What a model of this source is called unless somebody says otherwise. */
export async function nameOfSource(source: string): Promise<string> {
  const { readModelAddress } = await import('../../engine/models/model-address.ts')
  return readModelAddress(source).name
}

export function isModelName(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/.test(text)
}

export function checkedModelName(name: string, flag: string): string {
  if (isModelName(name)) return name
  const reason = `"${name}" must be lower-case letters, digits, . and -, at most 63 of them.`
  throw new SluiceError('invalid_flag', { flag, reason })
}
