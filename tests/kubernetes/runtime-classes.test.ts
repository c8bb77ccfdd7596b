import { afterEach, expect, it } from 'vitest'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

const made: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const remove of made.splice(0)) await remove()
})

const collection = '/apis/node.k8s.io/v1/runtimeclasses'

/** Creates a class whose name no other test uses. */
async function makeClass(server: ContractServer, fields: Record<string, unknown> = {}): Promise<string> {
  const name = `${server.namespace}-${made.length}`
  const object = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name },
    handler: 'sluice',
    ...fields,
  }
  expect((await server.http('POST', collection, object)).code).toBe(201)
  made.push(() => server.http('DELETE', `${collection}/${name}`))
  return name
}

async function createPod(server: ContractServer, spec: Record<string, unknown>) {
  const containers = [{ name: 'main', image: 'registry.lab-1.localhost/x' }]
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers, ...spec } }
  const { code, body } = await server.http('POST', `${server.path('pods')}?dryRun=All`, pod)
  return { code, message: body['message'], spec: body['spec'] as Record<string, unknown> | undefined }
}

const forbidden = (why: string) => ({ code: 403, message: `pods "p" is forbidden: ${why}` })

onEachServer((server) => {
  it('refuses a Pod whose RuntimeClass is not there', async () => {
    expect(await createPod(server, { runtimeClassName: 'nobody' })).toMatchObject(
      forbidden('pod rejected: RuntimeClass "nobody" not found'),
    )
    const name = await makeClass(server)
    expect(await createPod(server, { runtimeClassName: name })).toMatchObject({ code: 201 })
    await made.pop()?.()
    expect((await createPod(server, { runtimeClassName: name })).code).toBe(403)
  })

  it('adds what running the Pod takes', async () => {
    const overhead = { cpu: '250m', memory: '1Gi' }
    const name = await makeClass(server, { overhead: { podFixed: { cpu: '0.25', memory: '1024Mi' } } })
    expect((await createPod(server, { runtimeClassName: name })).spec).toMatchObject({ overhead })
    expect((await createPod(server, { runtimeClassName: name, overhead })).code).toBe(201)
    expect(await createPod(server, { runtimeClassName: name, overhead: { cpu: '1' } })).toMatchObject(
      forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
    )
  })

  it('refuses a Pod that makes up what running it takes', async () => {
    const name = await makeClass(server)
    const why = forbidden('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
    expect(await createPod(server, { runtimeClassName: name, overhead: { cpu: '1' } })).toMatchObject(why)
    expect(await createPod(server, { overhead: { cpu: '1' } })).toMatchObject(why)
  })

  it('sends the Pod where its runtime is', async () => {
    const tolerations = [
      { key: 'only', operator: 'Equal', value: 'x', effect: 'NoSchedule' },
      { key: 'all', operator: 'Exists' },
    ]
    const name = await makeClass(server, { scheduling: { nodeSelector: { runtime: 'fast' }, tolerations } })
    const own = { key: 'all', operator: 'Equal', value: 'y', effect: 'NoSchedule' }
    const { spec } = await createPod(server, {
      runtimeClassName: name,
      nodeSelector: { zone: 'a' },
      tolerations: [own, tolerations[0]],
    })
    expect(spec?.['nodeSelector']).toEqual({ runtime: 'fast', zone: 'a' })
    const all = (spec?.['tolerations'] ?? []) as Array<{ key: string }>
    const kept = all.filter(({ key }) => !key.includes('kubernetes.io'))
    expect(kept).toEqual(tolerations)
    const other = { runtimeClassName: name, nodeSelector: { runtime: 'slow' } }
    expect(await createPod(server, other)).toMatchObject(
      forbidden(
        'conflict: runtimeClass.scheduling.nodeSelector[runtime] = fast; pod.spec.nodeSelector[runtime] = slow',
      ),
    )
  })

  it('is listed by kubectl', async () => {
    const name = await makeClass(server)
    expect(await server.kubectl(`get runtimeclass ${name}`)).toMatch(new RegExp(`${name} +sluice +`))
  })
})
