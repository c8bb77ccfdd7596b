import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { exitCodeOf } from '../exit-codes.ts'
import { parseFlags } from '../flags.ts'
import { kubeconfigOf } from './cluster-connection.ts'
import { clusterFlags, findCluster, newDataDirectory } from './cluster-place.ts'
import { contextPath, readContext, writeContext } from './context-file.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-place-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const config = join(scratch, 'config')
const withCluster = join(scratch, 'with')
const elsewhere = join(scratch, 'elsewhere')
mkdirSync(join(withCluster, '.sluice'), { recursive: true })
mkdirSync(elsewhere)

const environment = { XDG_CONFIG_HOME: config }
const find = (args: readonly string[], variables: NodeJS.ProcessEnv = {}, folder = elsewhere) =>
  findCluster(parseFlags(clusterFlags, args), { ...environment, ...variables }, folder)

describe('the cluster that is meant', () => {
  beforeEach(() => writeContext({ data: '/srv/last' }, environment))

  it('is that of a kubeconfig before anything else', () => {
    const variables = { SLUICE_DATA: '/srv/variable' }
    expect(find(['--kubeconfig', 'k'], variables, withCluster)).toEqual({ kind: 'kubeconfig', path: 'k' })
    expect(find(['--context', 'east'])).toEqual({ kind: 'kubeconfig', context: 'east' })
  })

  it('is then that of --data, of $SLUICE_DATA, of the folder, and the one that was started last', () => {
    const variables = { SLUICE_DATA: '/srv/variable' }
    const near = join(withCluster, '.sluice')
    expect(find(['--data', '/srv/flag'], variables, withCluster)).toMatchObject({ data: '/srv/flag' })
    expect(find(['--data', 'below'])).toMatchObject({ data: join(elsewhere, 'below'), saidBy: '--data' })
    expect(find([], variables, withCluster)).toMatchObject({ data: '/srv/variable', saidBy: '$SLUICE_DATA' })
    expect(find([], {}, withCluster)).toMatchObject({ data: near, saidBy: 'this folder' })
    expect(find([])).toEqual({ kind: 'data', data: '/srv/last', saidBy: contextPath(environment) })
  })

  it('is not named twice', () => {
    expect(() => find(['--data', 'a', '--kubeconfig', 'b'])).toThrow('not by both')
  })

  it('is asked for where nothing names one, or nothing that can be read', () => {
    for (const text of ['', '{', '{"data":1}']) {
      writeFileSync(contextPath(environment), text)
      const refusal = thrownBy(() => find([]))
      expect(String(refusal)).toContain('Start one with `sluice up`, or name one with --data, $SLUICE_DATA or')
      expect(exitCodeOf(refusal)).toBe(4)
    }
  })

  it('has to run to be asked anything', () => {
    const place = find([], {}, withCluster)
    const refusal = thrownBy(() => kubeconfigOf(place))
    expect(String(refusal)).toContain(`Start it with \`sluice up --data ${join(withCluster, '.sluice')}\``)
    for (const name of ['kubeconfig', 'endpoints.json']) writeFileSync(join(withCluster, '.sluice', name), '{}')
    expect(kubeconfigOf(place)).toEqual({ path: join(withCluster, '.sluice', 'kubeconfig') })
  })
})

describe('the context', () => {
  it('is below XDG_CONFIG_HOME, or below the home', () => {
    expect(contextPath({ HOME: '/home/ada' })).toBe('/home/ada/.config/sluice/context.json')
    expect(contextPath({ HOME: '/home/ada', XDG_CONFIG_HOME: '/etc/x' })).toBe('/etc/x/sluice/context.json')
  })

  it('is no reason to fail where it cannot be written', () => {
    writeFileSync(join(scratch, 'file'), '')
    writeContext({ data: '/srv/a' }, { XDG_CONFIG_HOME: join(scratch, 'file') })
    expect(readContext({ XDG_CONFIG_HOME: join(scratch, 'file') })).toBeUndefined()
  })
})

describe('a directory to be made', () => {
  it('is named by a flag or by the environment, never by the context', () => {
    const flags = [{ name: 'data', value: 'DIR', fallback: '.sluice', help: '' }]
    const parse = (...args: string[]) => parseFlags(flags, args)
    expect(newDataDirectory(parse('--data', 'a'), { SLUICE_DATA: 'b' })).toBe('a')
    expect(newDataDirectory(parse(), { SLUICE_DATA: 'b' })).toBe('b')
    expect(newDataDirectory(parse(), environment)).toBe('.sluice')
  })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
