import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../src/cli/commands.ts'
import { demandPortName, gatewayRole, gatewayRoleLabel } from '../src/platform/demand/gateway-streams.ts'
import { version } from '../src/platform/version.ts'
import { controllerAccount, gatewayNamespace } from '../src/resources/model-labels.ts'
import { productPolicies } from '../src/resources/product-policies.ts'

const root = join(import.meta.dirname, '..')
const chart = join(root, 'charts/sluice')
const read = (path: string) => readFileSync(join(chart, path), 'utf8')
const values = parse(read('values.yaml')) as Record<string, unknown>
const templates = readdirSync(join(chart, 'templates'))
const roles = ['controller', 'gateway', 'exposure', 'management']

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

/** The paths of all values, such as `gateway.service.type`, down to where the chart lets everything in. */
function pathsOf(schema: Schema, path = ''): string[] {
  if (schema.additionalProperties !== false) return [path]
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    pathsOf(inner, path === '' ? name : `${path}.${name}`),
  )
}

function valueAt(path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], values as unknown)
}

describe('the chart', () => {
  it('has the version of the program', () => {
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version })
  })

  it('uses only flags that the commands have', () => {
    const unknown: string[] = []
    let count = 0
    for (const role of [...roles, 'farewell']) {
      const words = read(`templates/${role}.yaml`)
      const command = commands.find(({ name }) => name === (role === 'farewell' ? 'model sleep' : role))
      const known = new Set(command?.flags.map(({ name }) => name))
      const used = [...words.matchAll(/(?:- |, |printf ")--([a-z-]+)/g)].map((match) => match[1] ?? '')
      unknown.push(...used.filter((flag) => !known.has(flag)).map((flag) => `${role} --${flag}`))
      count += used.length
    }
    expect(unknown).toEqual([])
    expect(count).toBeGreaterThan(15)
  })

  it('calls things as the program looks for them', () => {
    const helpers = read('templates/_helpers.tpl')
    expect(helpers).toMatch(new RegExp(`define "sluice.namespace" -}}\n${gatewayNamespace}\n`))
    expect(helpers).toContain(`${gatewayRoleLabel}: {{ . }}`)
    expect(read('templates/gateway.yaml')).toContain(`$role := "${gatewayRole}"`)
    expect(read('templates/gateway.yaml')).toContain(`name: ${demandPortName},`)
    expect(controllerAccount).toBe('sluice-controller')
    for (const { metadata } of productPolicies) expect(read('templates/policies.yaml')).toContain(`"${metadata.name}"`)
  })

  it('has a default for every value of its schema, and none beside', () => {
    const schema = JSON.parse(read('values.schema.json')) as Schema
    const paths = pathsOf(schema).filter((path) => path !== 'global')
    expect(paths.length).toBeGreaterThan(60)
    expect(paths.filter((path) => valueAt(path) === undefined)).toEqual([])
  })

  it('uses every template’s values as they are called', () => {
    const used = templates.flatMap((name) =>
      [...read(`templates/${name}`).matchAll(/\.Values\.([a-zA-Z.]+)/g)].map((match) => match[1] ?? ''),
    )
    expect(used.filter((path) => valueAt(path) === undefined)).toEqual([])
  })
})

describe('docs/how-to/kubernetes.md', () => {
  const page = readFileSync(join(root, 'docs/how-to/kubernetes.md'), 'utf8')

  it('names values that there are', () => {
    const table = page.split('## Values')[1]?.split('\n## ')[0] ?? ''
    const named = [...table.matchAll(/`([a-z][a-zA-Z]*(?:\.[a-zA-Z]+)*)`/g)].map((match) => match[1] ?? '')
    const paths = named.filter((path) => path.includes('.') || path in values).filter((path) => path !== 'values.yaml')
    expect(paths.length).toBeGreaterThan(12)
    expect(paths.filter((path) => valueAt(path) === undefined)).toEqual([])
  })

  it('tells of every role', () => {
    for (const role of [...roles, 'farewell']) expect(page).toMatch(new RegExp(`^\\| \`${role}\` `, 'm'))
  })
})
