import { z } from 'zod'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { ImportNote } from './import-note.ts'
import { type KubeAiModel, kubeAiModelSchema } from './kubeai-model.ts'

export interface FoundModels {
  readonly models: readonly KubeAiModel[]
  /** About what else was found. */
  readonly notes: readonly ImportNote[]
}

const listSchema = z.looseObject({ kind: z.string().endsWith('List'), items: z.array(z.unknown()) })
/** Only the beginning of an object, to name one that is not understood. */
const namedSchema = z.looseObject({
  apiVersion: z.string().default(''),
  kind: z.string().default('object'),
  metadata: z.looseObject({ name: z.string().default('') }).default({ name: '' }),
})

/** Finds the Models of KubeAI in the documents of a YAML or JSON text. `source` names it in errors. */
export async function readModels(text: string, source: string): Promise<FoundModels> {
  const { parseAllDocuments } = await import('yaml')
  const values: unknown[] = []
  for (const document of parseAllDocuments(text)) {
    const [error] = document.errors
    if (error) throw unreadable(source, error)
    try {
      // Aliases can make a small text grow without bounds; manifests need few.
      values.push(document.toJS({ maxAliasCount: 100 }))
    } catch (failure) {
      throw unreadable(source, failure)
    }
  }
  return findModels(values, source)
}

/** Sorts objects into Models of KubeAI and others; lists are taken apart. */
export function findModels(values: readonly unknown[], source: string): FoundModels {
  const models: KubeAiModel[] = []
  const notes: ImportNote[] = []
  const objects = values.flatMap((value) => {
    const list = listSchema.safeParse(value)
    return list.success ? list.data.items : [value]
  })
  for (const object of objects) {
    if (object == null) continue
    const parsed = kubeAiModelSchema.safeParse(object)
    if (parsed.success) models.push(parsed.data)
    else notes.push(noteAboutOther(object, parsed.error, source))
  }
  return { models, notes }
}

function noteAboutOther(object: unknown, error: z.ZodError, source: string): ImportNote {
  const named = namedSchema.safeParse(object)
  if (!named.success) return { about: source, fate: 'skipped', reason: 'it has something that is no object.' }
  const { apiVersion, kind, metadata } = named.data
  const about = `${kind} ${metadata.name}`.trim()
  if (kind !== 'Model' || apiVersion !== 'kubeai.org/v1') {
    return { about, fate: 'skipped', reason: 'it is no Model of kubeai.org/v1.' }
  }
  const [issue] = error.issues
  return { about: metadata.name, fate: 'left out', reason: `${issue?.path.join('.')}: ${issue?.message}.` }
}

function unreadable(source: string, error: unknown): SluiceError {
  const reason = `it is no YAML: ${errorMessage(error).split('\n')[0]}`
  return new SluiceError('invalid_flag', { flag: source, reason }, { cause: error })
}
