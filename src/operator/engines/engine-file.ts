import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { engineNamePattern } from '../../resources/model-references.ts'
import { quantities, sharedMemoryField } from '../quantity-fields.ts'
import { weightsCacheField } from '../weights/weights-cache-field.ts'
import { builtInEngines, engineDefaults } from './built-in-engines.ts'
import { type Engine, type EngineGroup, type EngineTable, resolveEngine } from './engine.ts'
import { progressLineField } from './progress-line-field.ts'
import { adapterTemplateField, groupTemplateField, templateField } from './template-field.ts'

const templates = z.array(templateField).max(256)
const seconds = z
  .int()
  .min(0)
  .max(7 * 24 * 60 * 60)
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'must be the name of a variable')
const volumeName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be the name of a volume')
const flag = z.string().regex(/^-{1,2}[A-Za-z][-A-Za-z0-9_.]*$/, 'must be a flag, such as --name')

const key = z.union(
  [z.literal('none'), z.strictObject({ variable: variableName }), z.strictObject({ flag })],
  'must be none, {variable: NAME} or {flag: --NAME}',
)

const groupTemplates = z.array(groupTemplateField).max(256)
const group: z.ZodType<EngineGroup> = z.strictObject({
  args: groupTemplates.optional(),
  workerArgs: groupTemplates.optional(),
  env: z.record(variableName, groupTemplateField).optional(),
  unless: z.array(flag).max(64).optional(),
})

const engine: z.ZodType<Engine> = z.strictObject({
  image: z.string('must name an image').min(1, 'must name an image').pipe(templateField),
  command: templates.optional(),
  args: templates,
  env: z.record(variableName, templateField).optional(),
  port: z.int().min(1).max(65_535),
  healthPath: z.string().max(1024).startsWith('/'),
  key,
  responses: z.boolean().optional(),
  adapters: z.strictObject({ args: templates, each: adapterTemplateField }).optional(),
  requestCapacity: z.int().min(1).max(999_999).optional(),
  startupSeconds: seconds.min(1),
  stalledSeconds: seconds,
  quietSeconds: seconds,
  progressLines: z.array(progressLineField).max(8).optional(),
  graceSeconds: seconds,
  sharedMemory: sharedMemoryField.optional(),
  requests: quantities.optional(),
  requestsPerCard: quantities.optional(),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  imagePullSecrets: z.array(z.string().min(1)).max(16).optional(),
  runtimeClassName: z.string().min(1).optional(),
  securityContext: z.looseObject({}).optional(),
  podSecurityContext: z.looseObject({}).optional(),
  volumes: z
    .array(z.looseObject({ name: volumeName }))
    .max(32)
    .optional(),
  volumeMounts: z
    .array(z.looseObject({ name: volumeName, mountPath: z.string().startsWith('/') }))
    .max(32)
    .optional(),
  weightsCache: weightsCacheField.optional(),
  files: z.literal('gguf', 'must be gguf').optional(),
  options: z.array(flag).max(1024).optional(),
  group: z.union([z.literal('none'), group], 'must be none or an object').optional(),
})

const nameForm = 'must be a name of letters, digits, "-", "_" and "."'
const written = z.record(z.string().regex(engineNamePattern, nameForm), z.looseObject({}))
const table = z.record(z.string(), engine)

/** The built-in engines, changed and extended by the `engines` of a configuration file; `source` names it in errors. */
export function parseEngines(value: unknown, source: string): EngineTable {
  const named = parsed(written, value, source)
  const merged = Object.entries(named).map(([name, fields]) => [
    name,
    // What is not said of a built-in engine stays as it is.
    { ...(resolveEngine(name, builtInEngines) ?? engineDefaults), ...anotherProgram(fields), ...fields },
  ])
  return { ...builtInEngines, ...parsed(table, Object.fromEntries(merged), source) }
}

/** What is known of the options and files of the program that is built in says nothing about another one. */
function anotherProgram(fields: Readonly<Record<string, unknown>>): Partial<Engine> {
  const isAnother = fields['image'] !== undefined || fields['command'] !== undefined
  return isAnother ? { files: undefined, options: undefined } : {}
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, source: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const path = ['engines', ...(issue?.path ?? [])].join('.')
  const reason = issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message
  throw new SluiceError('invalid_flag', { flag: source, reason: `${path}: ${reason ?? 'is malformed'}` })
}
