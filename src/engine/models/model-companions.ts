import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { SamplingDefaults } from '../llama/language-model.ts'
import type { GgufHeader } from './gguf-header.ts'

/**
 * llama.cpp's defaults with a slightly lower temperature: small models ramble at the 1 that large ones are served with.
 */
const engineDefaults: SamplingDefaults = { temperature: 0.7, topP: 0.95, topK: 40, minP: 0.05, repetitionPenalty: 1 }

export interface ModelCompanions {
  /** Used in place of the template inside the model file. */
  readonly chatTemplate: string | undefined
  /** Used in place of the sampling that the model file recommends. */
  readonly sampling: Partial<SamplingDefaults>
}

const generationConfig = z.object({
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  top_k: z.number().int().min(-1).optional(),
  min_p: z.number().min(0).max(1).optional(),
  repetition_penalty: z.number().gt(0).max(2).optional(),
})

/**
 * Reads the files beside a model file, under the names that are usual in model directories: `chat_template.jinja` and
 * `generation_config.json`. The GPU engine reads the same two.
 */
export async function readModelCompanions(modelFile: string): Promise<ModelCompanions> {
  const folder = dirname(modelFile)
  const chatTemplate = await readIfPresent(join(folder, 'chat_template.jinja'))
  const configPath = join(folder, 'generation_config.json')
  const config = await readIfPresent(configPath)
  return { chatTemplate, sampling: config === undefined ? {} : parseSampling(config, configPath) }
}

/**
 * The sampling of requests that say nothing else: what lies beside the model file, else what the file recommends, else
 * the engine's own.
 */
export function chooseSampling(given: Partial<SamplingDefaults>, header: Pick<GgufHeader, 'number'>): SamplingDefaults {
  const recommended = generationConfig.safeParse(
    written({
      temperature: header.number('general.sampling.temp'),
      top_p: header.number('general.sampling.top_p'),
      top_k: header.number('general.sampling.top_k'),
      min_p: header.number('general.sampling.min_p'),
      repetition_penalty: header.number('general.sampling.penalty_repeat'),
    }),
  )
  // A file whose recommendation makes no sense is served without it.
  return { ...engineDefaults, ...(recommended.success ? toSampling(recommended.data) : {}), ...given }
}

function toSampling(config: z.infer<typeof generationConfig>): Partial<SamplingDefaults> {
  return written({
    temperature: config.temperature,
    topP: config.top_p,
    topK: config.top_k === undefined ? undefined : Math.max(0, config.top_k),
    minP: config.min_p,
    repetitionPenalty: config.repetition_penalty,
  })
}

function written<Name extends string>(
  values: Readonly<Record<Name, number | undefined>>,
): Partial<Record<Name, number>> {
  const known: Partial<Record<Name, number>> = {}
  for (const name in values) if (values[name] !== undefined) known[name] = values[name]
  return known
}

function parseSampling(text: string, path: string): Partial<SamplingDefaults> {
  try {
    return toSampling(generationConfig.parse(JSON.parse(text)))
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : errorMessage(error)
    throw new SluiceError('engine_start_failed', { reason: `${path} cannot be used: ${reason}` }, { cause: error })
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new SluiceError('engine_start_failed', { reason: `${path} cannot be read: ${errorMessage(error)}` })
  }
}
