import { expect, it } from 'vitest'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

// The answers were recorded from a real server: vitest run -u --project kubernetes
// tests/kubernetes/ephemeral-containers.test.ts
const answers = (name: string) => `./answers/ephemeral-containers/${name}.txt`

type Fields = Record<string, unknown>

const image = 'registry.lab-1.localhost/x'
const look: Fields = { name: 'look', image }
const volumes = [{ name: 'v', emptyDir: {} }]

async function createPod(server: ContractServer): Promise<void> {
  const spec = { containers: [{ name: 'main', image }], initContainers: [{ name: 'first', image }], volumes }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }
  expect((await server.http('POST', server.path('pods'), pod)).code).toBe(201)
}

const strategic = { headers: { 'content-type': 'application/strategic-merge-patch+json' } }

async function add(server: ContractServer, ephemeralContainers: readonly Fields[], dryRun = '') {
  const path = `${server.path('pods')}/p/ephemeralcontainers${dryRun}`
  return server.http('PATCH', path, { spec: { ephemeralContainers } }, strategic)
}

/** By what is tried: containers that are added to a Pod. */
const additions: Readonly<Record<string, readonly Fields[]>> = {
  plain: [look],
  'with all it can have': [
    {
      ...look,
      command: ['sh'],
      args: ['-c', 'true'],
      workingDir: '/',
      env: [{ name: 'A', value: 'b' }],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      securityContext: { capabilities: { add: ['SYS_PTRACE'] } },
      stdin: true,
      tty: true,
      targetContainerName: 'main',
    },
  ],
  'aimed at an init container': [{ ...look, targetContainerName: 'first' }],
  'aimed at nobody': [{ ...look, targetContainerName: 'other' }],
  'aimed at itself': [{ ...look, targetContainerName: 'look' }],
  'with the name of another': [
    { ...look, name: 'main' },
    { ...look, name: 'first' },
  ],
  'without a name': [{ image, name: '' }],
  'with a bad name': [{ ...look, name: 'A_b' }],
  'without an image': [{ name: 'look' }],
  'with ports': [{ ...look, ports: [{ containerPort: 80 }] }],
  'with resources': [{ ...look, resources: { limits: { cpu: '1' } } }],
  'with probes': [
    {
      ...look,
      livenessProbe: { exec: { command: ['x'] } },
      readinessProbe: { exec: { command: ['x'] } },
      startupProbe: { exec: { command: ['x'] } },
    },
  ],
  'with a hook': [{ ...look, lifecycle: { postStart: { exec: { command: ['x'] } } } }],
  'with a restart policy': [{ ...look, restartPolicy: 'Always' }],
  'with parts of volumes': [
    {
      ...look,
      volumeMounts: [
        { name: 'v', mountPath: '/v', subPath: 'a' },
        { name: 'v', mountPath: '/w', subPathExpr: 'b' },
      ],
    },
  ],
  'with a volume that is not there': [{ ...look, volumeMounts: [{ name: 'w', mountPath: '/v' }] }],
  'with a policy that is not there': [{ ...look, imagePullPolicy: 'x', terminationMessagePolicy: 'y' }],
}

/** Servers write the fields of an object in different orders. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, part]) => [name, sorted(part)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

onEachServer((server) => {
  it.each(Object.keys(additions))('answers for a container %s', async (name) => {
    await createPod(server)
    const { code, body } = await add(server, additions[name] ?? [], '?dryRun=All')
    const spec = body['spec'] as Fields | undefined
    const told = code === 200 ? sorted(spec?.['ephemeralContainers']) : body['message']
    await expect(`${JSON.stringify([code, told], null, 2)}\n`).toMatchFileSnapshot(answers(name.replaceAll(' ', '-')))
  })

  it('adds to those that are there, and takes none away, nor changes it', async () => {
    await createPod(server)
    expect((await add(server, [look])).code).toBe(200)
    const { code, body } = await add(server, [{ ...look, name: 'second' }])
    expect(code).toBe(200)
    expect(body).toMatchObject({ metadata: { generation: 3 } })
    const path = `${server.path('pods')}/p/ephemeralcontainers`
    const { body: pod } = await server.http('GET', path)
    const spec = pod['spec'] as { ephemeralContainers: Fields[] }
    // A patch puts the items it mentions first.
    expect(spec.ephemeralContainers.map(({ name }) => name)).toEqual(['second', 'look'])
    const [second = {}, first = {}] = spec.ephemeralContainers
    const put = async (ephemeralContainers: readonly Fields[]) => {
      const answer = await server.http('PUT', path, { ...pod, spec: { ...spec, ephemeralContainers } })
      return `${answer.code} ${answer.body['message']?.split('\n')[0]}`
    }
    const prefix = '422 Pod "p" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers'
    expect(await put([first])).toBe(`${prefix} "second" may not be removed`)
    expect(await put([first, { ...second, image: `${image}2` }])).toBe(`${prefix} "second" may not be changed`)
    // In any order.
    expect(await put([second, first])).toMatch(/^200 /)
  })

  it('changes nothing else of the Pod on that way', async () => {
    await createPod(server)
    const changed = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'main', image: 'other' }], ephemeralContainers: [look] },
    }
    const path = `${server.path('pods')}/p/ephemeralcontainers`
    const { code, body } = await server.http('PATCH', path, changed, strategic)
    expect(code).toBe(200)
    expect(body).toMatchObject({ spec: { containers: [{ image }], ephemeralContainers: [{ name: 'look' }] } })
    expect((body['metadata'] as Fields)['labels']).toBeUndefined()
  })

  it('takes none with the Pod itself', async () => {
    await createPod(server)
    const path = `${server.path('pods')}/p`
    const { code, body } = await server.http('PATCH', path, { spec: { ephemeralContainers: [look] } }, strategic)
    expect(code).toBe(422)
    expect(body['message']).toContain('pod updates may not change fields other than')
  })
})
