import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { builtInEngines, engineDefaults } from '../src/operator/engines/built-in-engines.ts'
import { parseEngines } from '../src/operator/engines/engine-file.ts'
import { groupPlaceholders, placeholders } from '../src/operator/engines/placeholders.ts'
import { newGroup } from '../src/operator/groups/group-members.ts'
import { modelPodSpec, newModelPod } from '../src/operator/model-pod.ts'
import { factsWith } from '../src/operator/plan-pods.fixture.ts'
import { resolveProfile } from '../src/operator/resource-profile.ts'
import { readConfigFile } from '../src/platform/data/config-file.ts'
import { modelSchema } from '../src/resources/model.ts'
import { podSchema } from '../src/resources/pod.ts'
import { chart, helmPath } from './support/chart-stage.ts'

const page = readFileSync(join(import.meta.dirname, '../docs/reference/engines.md'), 'utf8')
const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] ?? '')
const about = (word: 'engines' | 'profiles') => blocks.filter((block) => block.startsWith(`${word}:`))
const folder = mkdtempSync(join(tmpdir(), 'sluice-engines-'))

/** What the controller would read, if these were the chart's values. */
function renderedConfig(values: string): string {
  writeFileSync(join(folder, 'values.yaml'), values)
  const words = ['template', 'docs', chart, '--values', join(folder, 'values.yaml')]
  const rendered = execFileSync(helmPath ?? '', words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const objects = parseAllDocuments(rendered).map((document) => document.toJS() as Record<string, unknown> | null)
  const config = objects.find((object) => object?.['kind'] === 'ConfigMap') as { data: Record<string, string> }
  return config.data['config.yaml'] ?? ''
}

function modelOf(engine: string) {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice', uid: 'u' },
    spec: { url: 'pvc://userdata/models/m', engine, resourceProfile: 'nvidia.com/gpu-l40s:2' },
  })
}

afterAll(() => rmSync(folder, { recursive: true }))

describe.skipIf(helmPath === undefined)('a block of docs/reference/engines.md, as values of the chart', () => {
  it('is there for each of the engines that people ask for', () => {
    const named = about('engines').flatMap((block) => Object.keys((parse(block) as { engines: object }).engines))
    expect(named).toEqual(expect.arrayContaining(['VLLM', 'SGLang', 'LlamaServer', 'TEI', 'WhisperCpp']))
  })

  it.each(about('engines').map((block) => [Object.keys((parse(block) as { engines: object }).engines).join(), block]))(
    'makes Pods of %s',
    async (name, block) => {
      const written = (parse(block) as { engines: Record<string, { image: string; port?: number }> }).engines[name]
      writeFileSync(join(folder, 'config.yaml'), renderedConfig(block))
      const { engines } = await readConfigFile(join(folder, 'config.yaml'))
      const model = modelOf(name)
      const facts = { registry: 'registry.example.com', version: '1', engines }
      const spec = modelPodSpec(model, { card: 'nvidia.com/gpu' }, facts)
      const pod = newModelPod(
        model,
        { spec, hash: '0123456789' },
        { suffix: 'abcde', failures: 0, engineKey: 'key-1', engines },
      )
      expect(podSchema.safeParse({ apiVersion: 'v1', kind: 'Pod', ...pod }).success).toBe(true)
      const [container] = pod.spec.containers
      expect(container).toMatchObject({ image: written?.image, ports: [{ containerPort: written?.port ?? 8900 }] })
      expect(container?.args).toEqual(expect.arrayContaining(['/mnt/models/models/m', '$(POD_IP)']))
      const order = { suffix: 'abcde', failures: 0, hash: '0123456789', attempts: 0 }
      const layout = { members: 2, cardsEach: 1 }
      const members = newGroup(model, { ...order, layout, profile: { card: 'nvidia.com/gpu' } }, factsWith(facts))
      // Nothing is left that would have to be filled in.
      expect(JSON.stringify([pod, ...members].map((each) => each.spec))).not.toMatch(/\{[a-z]+\}/i)
    },
  )

  it('makes profiles', async () => {
    for (const block of about('profiles')) {
      writeFileSync(join(folder, 'config.yaml'), renderedConfig(block))
      const { profiles } = await readConfigFile(join(folder, 'config.yaml'))
      const names = Object.keys((parse(block) as { profiles: object }).profiles)
      for (const name of names) expect(resolveProfile(name, { table: profiles, cardKinds: [] })).toBeDefined()
    }
    expect(about('profiles').length).toBeGreaterThan(0)
  })

  it('is refused with a field that there is not', () => {
    expect(() => renderedConfig('engines: { X: { image: x, key: none, arguments: [] } }')).toThrow(/arguments/)
  })
})

describe('docs/reference/engines.md', () => {
  const rows = [...page.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(/`([^`]+)`/g)].map((name) => name[1] ?? ''),
  )

  it('explains every field and every word in braces', () => {
    const fields = Object.keys(schemaFields())
    expect(rows).toEqual(expect.arrayContaining(fields))
    const words = [...placeholders, ...groupPlaceholders].map((word) => `{${word}}`)
    expect(rows).toEqual(expect.arrayContaining(words))
    expect(rows.filter((name) => !fields.includes(name) && !name.startsWith('{'))).toEqual([])
  })

  it('names the defaults that there are', () => {
    expect(page).toMatch(new RegExp(`\`port\`.*\\| ${engineDefaults.port} +\\|`))
    expect(page).toMatch(new RegExp(`\`startupSeconds\`.*\\| ${engineDefaults.startupSeconds} +\\|`))
    expect(page).toMatch(new RegExp(`\`stalledSeconds\`.*\\| ${engineDefaults.stalledSeconds} +\\|`))
    expect(page).toMatch(new RegExp(`\`quietSeconds\`.*\\| ${engineDefaults.quietSeconds} +\\|`))
    const { VLLM, LlamaCpp } = builtInEngines
    expect(page).toContain(`\`VLLM\` has \`${VLLM.progressLines.join()}\``)
    expect(page).toContain(`\`VLLM\` has ${VLLM.startupSeconds} s to start, ${VLLM.graceSeconds} s to end`)
    expect(page).toContain(`${LlamaCpp.startupSeconds} s to start and ${LlamaCpp.stalledSeconds} s without progress`)
  })

  it('shows what the members of a group of vLLM are told', () => {
    const [shown] = blocks.filter((block) => block.startsWith('group:'))
    expect(parse(shown ?? '')).toEqual({ group: builtInEngines.VLLM.group })
  })

  it('has the fields of the chart’s schema, which are those that the controller reads', () => {
    const fields = schemaFields()
    for (const field of Object.keys(fields)) {
      expect(() => parseEngines({ X: { image: 'x', key: 'none', [field]: undefined } }, '--config')).not.toThrow(
        /Unrecognized/,
      )
    }
  })
})

function schemaFields(): Record<string, unknown> {
  const text = readFileSync(join(chart, 'values.schema.json'), 'utf8')
  const schema = JSON.parse(text) as {
    properties: { engines: { additionalProperties: { properties: Record<string, unknown> } } }
  }
  return schema.properties.engines.additionalProperties.properties
}
