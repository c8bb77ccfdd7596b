import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'
import { contextPath, readContext } from './context-file.ts'

/** Where a cluster is, and what said so. */
export type ClusterPlace = DataPlace | KubeconfigPlace

export interface DataPlace {
  readonly kind: 'data'
  readonly data: string
  readonly saidBy: string
}

export interface KubeconfigPlace {
  readonly kind: 'kubeconfig'
  /** Undefined for the one that kubectl would use. */
  readonly path: string | undefined
  readonly context: string | undefined
}

export const usualDataDirectory = '.sluice'

/** The flag of commands about a data directory, whether anything runs in it or not. */
export const dataFlag: Flag = {
  name: 'data',
  value: 'DIR',
  help: 'its data directory (default: $SLUICE_DATA, .sluice of this folder, or the one started last)',
}

/** The flags of commands that ask a running cluster: where it is. */
export const clusterFlags: readonly Flag[] = [
  { ...dataFlag, help: 'the data directory (default: $SLUICE_DATA, .sluice of this folder, or the one started last)' },
  { name: 'kubeconfig', value: 'FILE', help: 'another cluster, by its kubeconfig' },
  { name: 'context', value: 'NAME', help: "a context of that kubeconfig, or of kubectl's" },
]

type Given = Pick<ParsedFlags, 'text'>

/** The cluster that is meant: by a flag, by the environment, by the folder, or the one that was started last. */
export function findCluster(
  given: Given,
  environment: NodeJS.ProcessEnv = process.env,
  folder = process.cwd(),
): ClusterPlace {
  const [path, context] = [given.text('kubeconfig'), given.text('context')]
  if ((path !== undefined || context !== undefined) && given.text('data') !== undefined) {
    const reason = 'name the cluster by it or by --kubeconfig and --context, not by both.'
    throw new SluiceError('invalid_flag', { flag: '--data', reason })
  }
  if (path !== undefined || context !== undefined) return { kind: 'kubeconfig', path, context }
  const place = findDataDirectory(given, environment, folder)
  if (place) return place
  throw new SluiceError('nothing_runs', {
    where: `here: there is no ${usualDataDirectory} in ${folder}, and ${contextPath(environment)} names no cluster`,
    hint: 'Start one with `sluice up`, or name one with --data, $SLUICE_DATA or --kubeconfig.',
  })
}

/** The data directory that is meant; undefined if nothing names one. */
export function findDataDirectory(
  given: Given,
  environment: NodeJS.ProcessEnv = process.env,
  folder = process.cwd(),
): DataPlace | undefined {
  const flag = given.text('data')
  if (flag !== undefined) return { kind: 'data', data: resolve(folder, flag), saidBy: '--data' }
  const variable = environment['SLUICE_DATA']
  if (variable) return { kind: 'data', data: resolve(folder, variable), saidBy: '$SLUICE_DATA' }
  const near = join(folder, usualDataDirectory)
  if (existsSync(near)) return { kind: 'data', data: near, saidBy: 'this folder' }
  const context = readContext(environment)
  return context && { kind: 'data', data: resolve(context.data), saidBy: contextPath(environment) }
}

/** For commands about a directory: the one that is meant, or the usual one, which may not be there yet. */
export function dataDirectoryOf(given: Given): string {
  return findDataDirectory(given)?.data ?? usualDataDirectory
}

/** For commands that make a directory: they never take one that only the context names. */
export function newDataDirectory(parsed: Pick<ParsedFlags, 'text' | 'isGiven'>, environment = process.env): string {
  const given = parsed.isGiven('data') ? parsed.text('data') : undefined
  return given ?? (environment['SLUICE_DATA'] || usualDataDirectory)
}
