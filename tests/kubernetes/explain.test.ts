import { describe, expect, it } from 'vitest'
import { type TypeWords, coreWords } from '../../src/resources/facts/core-words.ts'
import { kubectlPath } from '../support/programs.ts'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

// The answers were recorded from a real server: vitest run -u --project kubernetes tests/kubernetes/explain.test.ts
const answers = (name: string) => `./answers/explain/${name}.txt`

interface Schema {
  readonly description?: string | undefined
  readonly properties?: Readonly<Record<string, Schema>>
}

/** What a server says about its types, by their names, from the documents of all groups that it has. */
async function wordsOf(server: ContractServer): Promise<Record<string, TypeWords>> {
  const { paths } = await server.ok('GET', '/openapi/v3')
  const words: Record<string, TypeWords> = {}
  for (const path of Object.keys(paths as object).filter((name) => name.startsWith('api'))) {
    const document = await server.ok('GET', `/openapi/v3/${path}`)
    const { schemas = {} } = (document['components'] ?? {}) as { schemas?: Record<string, Schema> }
    for (const [name, schema] of Object.entries(schemas)) words[name] = wordsIn(schema)
  }
  return words
}

function wordsIn({ description, properties = {} }: Schema): TypeWords {
  const said: Record<string, string> = {}
  for (const [name, part] of Object.entries<Schema>({ '': { description }, ...properties })) {
    if (part.description !== undefined) said[name] = part.description
  }
  return said
}

onEachServer((server) => {
  it('says about each of Kubernetes’ own types and fields what Kubernetes says', async () => {
    const said = await wordsOf(server)
    const recorded = coreWords()
    expect(Object.keys(recorded).length).toBeGreaterThan(250)
    const differing = Object.keys(recorded).filter(
      // The real server only shows types that one of its paths leads to.
      (name) =>
        said[name] !== undefined && JSON.stringify(sorted(said[name])) !== JSON.stringify(sorted(recorded[name])),
    )
    expect(differing).toEqual([])
    for (const name of ['Pod', 'PodSpec', 'Container', 'ServiceSpec', 'NodeStatus', 'PersistentVolumeClaimSpec']) {
      expect(said[`io.k8s.api.core.v1.${name}`]).toEqual(recorded[`io.k8s.api.core.v1.${name}`])
    }
  })

  describe.skipIf(kubectlPath === undefined)('kubectl', () => {
    it.each([
      'configmap',
      'deployment.spec',
      'event.involvedObject',
      'job.spec.backoffLimit',
      'model',
      'model.metadata',
      'model.status.conditions',
      'pod.spec.containers.resources',
      'service.spec.ports',
      'serviceexporter.spec',
    ])('explains %s in these words', async (field) => {
      await expect(await server.kubectl(`explain ${field}`)).toMatchFileSnapshot(answers(field))
    })
  })
})

function sorted(words: TypeWords | undefined): Array<[string, string]> {
  return Object.entries(words ?? {}).toSorted(([left], [right]) => (left < right ? -1 : 1))
}
