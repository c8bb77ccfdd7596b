import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { apiKeySpec, generateKeyPair } from '../../src/management/key-pair.ts'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { CertificateAuthority } from '../../src/platform/data/certificates.ts'
import { DataFolder } from '../../src/platform/data/data-directory.ts'
import { apiKeyKind } from '../../src/resources/api-key.ts'
import { clusterKind, controlPlaneName } from '../../src/resources/cluster.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { serviceAccountKind } from '../../src/resources/service-account.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { type ControlPlane, missingControlPlane, startRealControlPlane } from '../kubernetes/real-control-plane.ts'
import { administratorOf, card, messageOf, reasonOf, sluiceCluster, untilPhase } from '../support/cluster-stage.ts'
import { managementCredential } from '../support/management-credential.ts'
import { SluiceProcess, until } from '../support/sluice-process.ts'
import { type Answer, type Tenant, ask, furnish } from '../support/tenants.ts'

const ownNetworks = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))

describe.skipIf(missingControlPlane() !== undefined)('clusters of one program, and one that is attached to it', () => {
  let data: string
  let sluice: SluiceProcess
  let real: ControlPlane
  let home: Tenant
  let two: Tenant
  const clients: KubernetesClient[] = []

  const tenantOf = async (name: string, folder: string, kubeconfig: string): Promise<Tenant> => {
    const client = await connectKubernetes(kubeconfig)
    clients.push(client)
    const id = client.server.split('/').at(-1) ?? ''
    const server = new URL(client.server).origin
    const adminToken = /token: "(.+)"/.exec(readFileSync(kubeconfig, 'utf8'))?.[1] ?? ''
    const authority = await CertificateAuthority.open(new DataFolder(folder), Date.now())
    const certificate = await authority.issueClient({ name: 'carol', groups: ['system:masters'] }, Date.now())
    const serverName = id === sluice.endpoints.clusterId ? undefined : controlPlaneName(id)
    const made = await ask(
      { server, serverName },
      `/vks/${id}/api/v1/namespaces/default/serviceaccounts/default/token`,
      {
        token: adminToken,
        method: 'POST',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      },
    )
    const accountToken = (JSON.parse(made.text) as { status: { token: string } }).status.token
    const mark = `only-of-${name}-${id}`
    await furnish(client, mark, sluice.endpoints.registry)
    return { name, id, client, server, adminToken, accountToken, certificate, serverName, mark }
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-tenancy-'))
    ;[sluice, real] = await Promise.all([
      SluiceProcess.start(data, ['--no-demo-model', '--no-gateway', '--gpus', `${card}=2`]),
      startRealControlPlane(),
    ])
    await sluiceCluster(data, 'create', 'two', '--enterprise', 'acme')
    home = await tenantOf('home', data, sluice.kubeconfig)
    const { kubeconfig, client } = await administratorOf(sluice, 'two')
    client.close()
    const id = (await home.client.get(clusterKind, { name: 'two' }))?.status?.id ?? ''
    two = await tenantOf('two', join(data, 'clusters', id), kubeconfig)
  })

  afterAll(async () => {
    for (const client of clients) client.close()
    await real?.stop()
    await sluice?.stop().catch(() => sluice.destroy())
    rmSync(data, { recursive: true, force: true })
  })

  it('knows its own: tokens and certificates count in the cluster that they are of', async () => {
    for (const tenant of [home, two]) {
      const path = `/vks/${tenant.id}/api/v1/namespaces/default/configmaps/ours`
      for (const token of [tenant.adminToken]) {
        expect(await ask(tenant, path, { token })).toMatchObject({
          code: 200,
          text: expect.stringContaining(tenant.mark),
        })
      }
      expect(await ask(tenant, path, { certificate: tenant.certificate })).toMatchObject({ code: 200 })
      // A service account is known, and may not read this.
      expect(await ask(tenant, path, { token: tenant.accountToken })).toMatchObject({ code: 403 })
    }
  })

  it('is attached by a kubeconfig: its figures are those of its nodes and Pods, and it says when it does not answer', async () => {
    const admin = await connectKubernetes(real.kubeconfig)
    clients.push(admin)
    await sluiceCluster(data, 'create', 'real', '--attach', real.kubeconfig).catch(() => {})
    const empty = await untilPhase(home.client, 'real', 'Abnormal')
    expect(reasonOf(empty)).toBe('NoNodeReady')
    expect(messageOf(empty)).toBe('It has no node.')
    expect(empty.status?.controlPlane).toBe(real.server)

    await admin.create(nodeKind, { metadata: { name: 'rack-1' }, spec: {} })
    const capacity = { cpu: '64', memory: '256Gi', [card]: '8', pods: '110' }
    const node = await admin.get(nodeKind, { name: 'rack-1' })
    if (!node) throw new Error('there is no node')
    const ready = [
      { type: 'Ready', status: 'True' as const, reason: 'Up', lastHeartbeatTime: new Date().toISOString() },
    ]
    await admin.updateStatus(nodeKind, { ...node, status: { capacity, allocatable: capacity, conditions: ready } })
    // A controller would make it.
    await admin.create(serviceAccountKind, { metadata: { name: 'default', namespace: 'default' } })
    const limits = { [card]: '3', cpu: '2', memory: '4Gi' }
    await admin.create(podKind, {
      metadata: { name: 'busy', namespace: 'default' },
      spec: { nodeName: 'rack-1', containers: [{ name: 'main', image: 'any', resources: { limits } }] },
    })
    const running = await untilPhase(home.client, 'real', 'Running')
    const id = running.status?.id ?? ''
    expect(id).toMatch(/^vks/)
    await until('the figures to tell of the Pod', 10_000, async () =>
      (await management(id, managementCredential(data))).text.includes('"used":3'),
    )
    const said = await management(id, managementCredential(data))
    expect(JSON.parse(said.text)).toMatchObject({
      code: 0,
      data: {
        id,
        status: 'Running',
        utilizationRate: {
          gpu: [{ name: card, hard: 8, used: 3 }],
          cpu: { hard: 64, used: 2 },
          mem: { hard: 256, used: 4 },
        },
      },
    })
    expect(await sluiceCluster(data, 'kubeconfig', 'real')).toBe(readFileSync(real.kubeconfig, 'utf8'))

    await admin.updateStatus(nodeKind, {
      ...((await admin.get(nodeKind, { name: 'rack-1' })) ?? node),
      status: { capacity, conditions: [{ type: 'Ready', status: 'False' }] },
    })
    expect(messageOf(await untilPhase(home.client, 'real', 'Abnormal'))).toBe('None of its 1 nodes is Ready.')
    for (const pid of real.pids) process.kill(pid, 'SIGSTOP')
    try {
      await until('it to be silent', 30_000, async () => {
        const cluster = await home.client.get(clusterKind, { name: 'real' })
        return cluster !== undefined && reasonOf(cluster) === 'ApiNotAnswering'
      })
    } finally {
      for (const pid of real.pids) process.kill(pid, 'SIGCONT')
    }
    await until('it to answer again', 30_000, async () => {
      const cluster = await home.client.get(clusterKind, { name: 'real' })
      return cluster !== undefined && reasonOf(cluster) === 'NoNodeReady'
    })
  })

  it('refuses a kubeconfig that would have it run a program, and says why', async () => {
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'touch' } } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    })
    const secret = { kubeconfig: Buffer.from(text).toString('base64') }
    await home.client.create(secretKind, { metadata: { name: 'sly', namespace: 'sluice' }, data: secret })
    const spec = {
      displayName: 'sly',
      enterprise: 'home',
      center: 'local-1',
      deletionPolicy: 'Retain' as const,
      kubeconfigSecret: { namespace: 'sluice', name: 'sly', key: 'kubeconfig' },
    }
    await home.client.create(clusterKind, { metadata: { name: 'sly' }, spec })
    const refused = await untilPhase(home.client, 'sly', 'Abnormal')
    expect(reasonOf(refused)).toBe('KubeconfigRefused')
    expect(messageOf(refused)).toContain('the user u has exec')
    await home.client.delete(clusterKind, { name: 'sly' })
  })

  it('lets none of 200 tries cross from one cluster to another', async () => {
    const tries: Array<{ readonly what: string; readonly answer: () => Promise<Answer>; readonly mark: string }> = []
    const pairs = [
      { from: home, to: two },
      { from: two, to: home },
    ]
    const reads = [
      '/api/v1/namespaces',
      '/api/v1/secrets',
      '/api/v1/configmaps?watch=true&timeoutSeconds=1',
      '/api/v1/namespaces/default/configmaps/ours',
      '/api/v1/namespaces/default/secrets/ours',
      '/api/v1/namespaces/default/pods',
      '/api/v1/namespaces/default/pods/web/log',
      '/api/v1/namespaces/default/pods/web/proxy/',
      '/api/v1/namespaces/default/services/web/proxy/',
      '/apis/sluice.dev/v1/namespaces/default/serviceexporters',
      '/apis/apps/v1/deployments',
      '/metrics',
    ]
    const writes = [
      ['POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'theirs' } }],
      ['DELETE', '/api/v1/namespaces/default/pods/web', {}],
      ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: {} }],
    ] as const
    const streams = ['exec?command=cat&stdout=true', 'attach?stdout=true', 'portforward?ports=8000']
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
    }
    for (const { from, to } of pairs) {
      // What is shown there is of the other cluster, or of the attached one; the handshake names either, or none.
      const credentials = [
        { what: 'the administrator', token: from.adminToken },
        { what: 'a service account', token: from.accountToken },
        { what: 'a certificate', certificate: from.certificate },
        { what: "the attached cluster's token", token: real.token },
        { what: "the attached cluster's certificate", certificate: real.certificate },
      ]
      for (const { what, ...shown } of credentials) {
        for (const path of reads) {
          const names = shown.certificate ? [to.serverName, from.serverName] : [to.serverName]
          for (const serverName of names) {
            const at = { server: to.server, serverName }
            tries.push({
              what: `${what} of ${from.name} reads ${path} of ${to.name}`,
              answer: () => ask(at, `/vks/${to.id}${path}`, shown),
              mark: to.mark,
            })
          }
        }
        for (const [method, path, body] of writes) {
          tries.push({
            what: `${what} of ${from.name}: ${method} ${path}`,
            answer: () => ask(to, `/vks/${to.id}${path}`, { ...shown, method, body }),
            mark: to.mark,
          })
        }
        for (const path of streams) {
          const target = `/vks/${to.id}/api/v1/namespaces/default/pods/web/${path}`
          tries.push({
            what: `${what} of ${from.name}: ${path}`,
            answer: () => ask(to, target, { ...shown, headers: upgrade }),
            mark: to.mark,
          })
        }
      }
      // What the whole program measures is not for those who have one cluster of it.
      tries.push({
        what: `${two.name} reads all metrics`,
        answer: () => ask(home, '/metrics', { token: two.adminToken }),
        mark: home.mark,
      })
      // The names of one cluster with the ID of the other lead to the other's services, or nowhere.
      for (const host of [`web-x-default-x-${to.id}x`, `web-x-sluice-x-${to.id}`, `ours-x-default-x-${to.id}`]) {
        tries.push({ what: `the host ${host}`, answer: () => exposed(host), mark: to.mark })
      }
      tries.push({
        what: `a token of ${to.name} for a host`,
        answer: () => exposed(`web-x-default-x-${from.id}`),
        mark: to.mark,
      })
    }
    tries.push({
      what: "another enterprise's cluster",
      answer: () => management(two.id, managementCredential(data)),
      mark: two.id.repeat(2),
    })
    expect(tries.length).toBeGreaterThanOrEqual(200)

    const crossed: string[] = []
    for (const { what, answer, mark } of tries) {
      const { code, text } = await answer()
      const isOwnHost = what.startsWith('a token of')
      if (text.includes(mark) || (!isOwnHost && ![401, 403, 404].includes(code)))
        crossed.push(`${what}: ${code} ${text.slice(0, 200)}`)
    }
    expect(crossed).toEqual([])
    for (const { client } of [home, two]) {
      expect(await client.get(configMapKind, { namespace: 'default', name: 'theirs' })).toBeUndefined()
      expect(
        (await client.get(podKind, { namespace: 'default', name: 'web' }))?.metadata.deletionTimestamp,
      ).toBeUndefined()
    }
    // And each host leads to its own.
    for (const tenant of [home, two]) {
      expect(await exposed(`web-x-default-x-${tenant.id}`)).toEqual({ code: 200, text: tenant.mark })
    }
  })

  it('shows an enterprise its own clusters, and nothing of others', async () => {
    const pair = generateKeyPair()
    await home.client.create(apiKeyKind, {
      metadata: { name: pair.accessKey.toLowerCase() },
      spec: apiKeySpec(pair, 'acme'),
    })
    const theirs = `plain Credential=${pair.accessKey},Signature=${pair.secretKey}`
    await until('the key to count', 10_000, async () => (await management(two.id, theirs)).code === 200)
    const refused = await management(home.id, theirs)
    const unknown = await management('vksnothing99', theirs)
    expect(refused).toEqual({ code: 404, text: unknown.text.replace('vksnothing99', home.id) })
    expect((await management(two.id, managementCredential(data))).code).toBe(404)
    const { origin } = new URL(sluice.endpoints.management)
    const metrics = await fetch(`${origin}/metrics`, { headers: { authorization: theirs } })
    expect(metrics.status).not.toBe(200)
  })

  it.runIf(ownNetworks)('keeps Pods of one cluster from Pods, Services and the API of another', async () => {
    const placeOf = async ({ client }: Tenant) => {
      const pod = await client.get(podKind, { namespace: 'default', name: 'web' })
      const service = await client.get(serviceKind, { namespace: 'default', name: 'web' })
      const api = await client.get(serviceKind, { namespace: 'default', name: 'kubernetes' })
      return [`${pod?.status?.podIP}:8000`, `${service?.spec.clusterIP}:80`, `${api?.spec.clusterIP}:443`]
    }
    for (const [from, to] of [
      [home, two],
      [two, home],
    ] as const) {
      const [own, other] = [await placeOf(from), await placeOf(to)]
      const list = [...own, ...other].join(' ')
      await from.client.patch(configMapKind, { namespace: 'default', name: 'targets' }, { data: { list } })
      let log = ''
      await until('it to have tried all', 60_000, async () => {
        const path = `/vks/${from.id}/api/v1/namespaces/default/pods/web/log`
        log = (await ask(from, path, { token: from.adminToken })).text
        return [...own, ...other].every((target) => log.includes(` ${target}\n`))
      })
      for (const target of own) expect(log).toContain(`reached ${target}\n`)
      for (const target of other) expect(log).toContain(`silent ${target}\n`)
    }
  })

  function exposed(label: string): Promise<Answer> {
    const host = `${label}.local-1.localhost`
    const { port } = new URL(sluice.endpoints.exposure)
    return ask({ server: sluice.endpoints.exposure, serverName: host }, '/', { headers: { host: `${host}:${port}` } })
  }

  async function management(id: string, authorization: string): Promise<Answer> {
    const answer = await fetch(`${sluice.endpoints.management}/api/vks/v1/${id}`, { headers: { authorization } })
    return { code: answer.status, text: await answer.text() }
  }
})
