import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { ImportSettings, ImportedModels } from '../../platform/model-import/import-models.ts'
import { kubeconfigOf } from '../connection/cluster-connection.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  { name: 'from-kubeconfig', value: 'FILE', help: 'the cluster whose Models of KubeAI are taken, instead of a file' },
  { name: 'namespace', value: 'NAME', help: 'of that cluster, only the Models of this namespace (default: of all)' },
  { name: 'claim', value: 'NAME', fallback: 'userdata', help: 'the claim for the files of Models that are not in one' },
  { name: 'profiles', value: 'OLD=NEW,...', help: 'what resource profiles are called here' },
  { name: 'engines', value: 'OLD=NEW,...', help: 'what engines are called here' },
  { name: 'max-replicas', value: 'COUNT', fallback: '1', help: 'for Models that have no limit' },
  { name: 'apply', help: 'create the Models in the cluster of --data or --kubeconfig, instead of printing them' },
  { name: 'strict', help: 'exit with 3 also when anything was changed or left out of a Model' },
  ...clusterFlags,
]
const exitCodes = 'Exits with 0 when every Model has a counterpart, with 3 when one has none.'
const largestText = 64 * 1024 * 1024

export const modelImportCommand: Command = {
  name: 'model import',
  summary: `Turn Models of KubeAI (kubeai.org/v1) into ours, from a file or standard input (-). ${exitCodes}`,
  example:
    'kubectl get models.kubeai.org -A -o yaml | sluice model import - > models.yaml\nsluice model import models.yaml --profiles cpu=default --apply',
  positional: '[FILE]',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const settings = settingsOf(parsed)
    const { applyModels, manifestText, noteLine } = await import('../../platform/model-import/import-models.ts')
    const imported = await importFrom(parsed, settings)
    const say = (notes: ImportedModels['notes']) => notes.forEach((note) => console.error(noteLine(note)))
    say(imported.notes)
    let isComplete = !imported.incomplete && !(parsed.isSet('strict') && imported.notes.length > 0)
    if (parsed.isSet('apply')) {
      const { created, notes } = await applyModels(kubeconfigOf(findCluster(parsed)), imported.models)
      for (const name of created) console.log(`${name} created`)
      say(notes)
      isComplete &&= notes.length === 0
    } else if (imported.models.length > 0) process.stdout.write(await manifestText(imported.models))
    return isComplete ? 0 : 3
  },
}

async function importFrom(parsed: ParsedFlags, settings: ImportSettings): Promise<ImportedModels> {
  const { importFromCluster, importText } = await import('../../platform/model-import/import-models.ts')
  const [file, ...extra] = parsed.positionals
  const cluster = parsed.text('from-kubeconfig')
  if (extra.length > 0 || (file === undefined) === (cluster === undefined)) {
    throw invalid('FILE', 'name one file, or - for standard input, or a cluster with --from-kubeconfig.')
  }
  if (cluster !== undefined) return importFromCluster(cluster, parsed.text('namespace'), settings)
  const path = file ?? '-'
  const source = path === '-' ? 'standard input' : path
  return importText(await textOf(path === '-' ? process.stdin : createReadStream(path), source), source, settings)
}

function settingsOf(parsed: ParsedFlags): ImportSettings {
  return {
    claim: parsed.text('claim') ?? '',
    maxReplicas: parsed.integer('max-replicas', { min: 1, max: 1_000_000 }) ?? 1,
    profiles: namesOf(parsed, 'profiles'),
    engines: namesOf(parsed, 'engines'),
  }
}

/** `cpu=default,l4=nvidia.com/gpu-l4` */
function namesOf(parsed: ParsedFlags, flag: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const pair of parsed.text(flag)?.split(',') ?? []) {
    const [old = '', next = '', ...more] = pair.split('=').map((name) => name.trim())
    if (old === '' || next === '' || more.length > 0) throw invalid(`--${flag}`, `"${pair}" is not OLD=NEW.`)
    names.set(old, next)
  }
  return names
}

async function textOf(stream: Readable, source: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk)
      size += bytes.length
      if (size > largestText) throw new Error(`it is larger than ${largestText} bytes`)
      chunks.push(bytes)
    }
  } catch (error) {
    throw invalid(source, `${errorMessage(error)}.`, error)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function invalid(flag: string, reason: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason }, { cause })
}
