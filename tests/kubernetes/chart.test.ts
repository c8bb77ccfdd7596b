import { describe, expect, it } from 'vitest'
import { computeCenterKind } from '../../src/resources/compute-center.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import { chart, helmPath } from '../support/chart-stage.ts'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

const everything = [
  'registry=registry.lab-1.localhost',
  'exposure.enabled=true',
  'management.enabled=true',
  'policies.images=true',
  'policies.nodePorts=true',
  'userData.create=true',
  'monitoring.dashboard.enabled=true',
  'gateway.requireApiKeys=true',
  'gateway.workers=2',
  'image.pullSecrets={ours}',
  'profiles.default.limits.memory=8Gi',
  'engines.VLLM.image=registry.lab-1.localhost/vllm:1',
].flatMap((setting) => ['--set', setting])

/** Resources and verbs, as `kubectl auth can-i` has them. */
interface Rights {
  /** In the namespace of everything. */
  readonly may: readonly string[]
  /** In every namespace. */
  readonly mayEverywhere: readonly string[]
  readonly mayNot: readonly string[]
}

const rights: Readonly<Record<string, Rights>> = {
  controller: {
    may: [
      'watch models.sluice.dev',
      'update models.sluice.dev/status',
      'patch models.sluice.dev/scale',
      'create pods',
      'patch pods',
      'delete pods',
      'get pods/log',
      'create secrets',
      'update secrets',
      'create services',
      'patch services',
      'create leases.coordination.k8s.io',
      'list usagerecords.sluice.dev',
      'update usagerecords.sluice.dev',
      'delete usagerecords.sluice.dev',
    ],
    mayEverywhere: [
      'list pods',
      'watch nodes',
      'create clusters.sluice.dev',
      'update clusters.sluice.dev/status',
      'watch computecenters.sluice.dev',
      'create events',
    ],
    mayNot: [
      'create models.sluice.dev',
      'delete models.sluice.dev',
      'get pods',
      'delete secrets',
      'delete services',
      'create pods/exec',
      'update leases.coordination.k8s.io',
      'get namespaces',
      'update clusters.sluice.dev',
      'list configmaps',
      'create deployments.apps',
      'create roles.rbac.authorization.k8s.io',
    ],
  },
  gateway: {
    may: [
      'watch models.sluice.dev',
      'list pods',
      'watch secrets',
      'list services',
      'create events',
      'get usagerecords.sluice.dev',
      'create usagerecords.sluice.dev',
      'update usagerecords.sluice.dev',
    ],
    mayEverywhere: ['watch apikeys.sluice.dev'],
    mayNot: [
      'patch models.sluice.dev/scale',
      'create pods',
      'delete pods',
      'create secrets',
      'get configmaps',
      'delete usagerecords.sluice.dev',
    ],
  },
  exposure: {
    may: ['create secrets'],
    mayEverywhere: [
      'watch serviceexporters.sluice.dev',
      'update serviceexporters.sluice.dev/status',
      'list services',
      'watch endpointslices.discovery.k8s.io',
      'watch secrets',
      'list computecenters.sluice.dev',
      'create events',
    ],
    mayNot: ['update serviceexporters.sluice.dev', 'create pods', 'get secrets', 'update secrets', 'list configmaps'],
  },
  management: {
    may: ['get secrets', 'watch models.sluice.dev', 'list events', 'get pods/log'],
    mayEverywhere: [
      'watch apikeys.sluice.dev',
      'list clusters.sluice.dev',
      'watch serviceexporters.sluice.dev',
      'list nodes',
      'watch pods',
      'watch usagerecords.sluice.dev',
    ],
    mayNot: [
      'list secrets',
      'create apikeys.sluice.dev',
      'patch clusters.sluice.dev',
      'patch models.sluice.dev/scale',
      'create events',
    ],
  },
  farewell: {
    may: ['list models.sluice.dev', 'patch models.sluice.dev/scale', 'list pods', 'delete pods'],
    mayEverywhere: [],
    mayNot: ['list secrets', 'create pods', 'delete models.sluice.dev', 'create events'],
  },
}

const absent = helmPath === undefined

onEachServer((server) => {
  describe.skipIf(absent)(`the chart${absent ? ' ($KUBEBUILDER_ASSETS has no helm)' : ''}`, () => {
    const helm = async (...words: string[]) => {
      const { code, stdout, stderr } = await server.run(helmPath ?? '', words)
      expect(code, `helm ${words.join(' ')}: ${stdout}${stderr}`).toBe(0)
      return stdout
    }
    const rendered = (...words: string[]) =>
      helm('template', 'demo', chart, '--dry-run=server', '--kubeconfig', server.address.kubeconfig, ...words)

    it('has values that fit it, and says what is wrong with others', async () => {
      await helm('lint', '--strict', chart)
      await helm('lint', '--strict', chart, ...everything)
      const wrong = await server.run(helmPath ?? '', ['template', chart, '--set', 'gateway.replica=3'])
      expect(wrong.code).toBe(1)
      expect(wrong.stderr).toMatch(/gateway.*replica/s)
    })

    it.each([
      ['as it comes', ['--set', 'registry=registry.lab-1.localhost']],
      ['with everything turned on', everything],
    ])('consists of objects that the server takes, %s', async (_name, settings) => {
      await haveNamespace(server)
      const taken = await server.kubectl(
        'apply --namespace=sluice --dry-run=server --server-side -f -',
        await rendered(...settings),
      )
      expect(taken).toMatch(/^deployment.apps\/gateway serverside-applied \(server dry run\)$/m)
      expect(taken.match(/^\S+ serverside-applied/gm)?.length).toBeGreaterThan(20)
    })

    it('says so when images of engines come from elsewhere, because the compute center was there before', async () => {
      await haveNamespace(server)
      const code = 'lab-7'
      const [there, wanted] = ['registry.before.example.com', 'registry.lab-7.example.com']
      const facts = { name: code, nameEn: code, country: '', address: '', proxyDomain: 'lab-7.example.com' }
      const spec = { id: '7', code, ...facts, registry: there }
      await server.client.create(computeCenterKind, { metadata: { name: code }, spec })
      const settings = ['--kubeconfig', server.address.kubeconfig, '--set', `center.code=${code}`]
      const notes = (registry: string) =>
        helm('install', 'notes', chart, '--dry-run=server', ...settings, '--set', `registry=${registry}`)
      try {
        expect(await notes(wanted)).toContain(
          `kubectl patch computecenter ${code} --type=merge -p '{"spec":{"registry":"${wanted}"}}'`,
        )
        expect(await notes(there)).not.toContain('kubectl patch computecenter')
      } finally {
        await server.client.delete(computeCenterKind, { name: code })
      }
    })

    it('gives its accounts the rights that they need, and no more', async () => {
      await haveNamespace(server)
      const roles = (await rendered(...everything))
        .split('\n---\n')
        .filter((text) => /^kind: (Cluster)?Role(Binding)?$/m.test(text))
      const objects = roles.join('\n---\n')
      await server.kubectl('apply --namespace=sluice -f -', objects)
      try {
        for (const [role, { may, mayEverywhere, mayNot }] of Object.entries(rights)) {
          const can = (question: string, namespace: string) => canI(server, role, question, namespace)
          const last = [...may, ...mayEverywhere].at(-1) ?? ''
          // A real server hears of roles a moment later.
          await expect.poll(() => can(last, 'sluice'), { timeout: 10_000 }).toBe(true)
          expect(await refused(may, (question) => can(question, 'sluice'))).toEqual([])
          expect(await refused(mayEverywhere, (question) => can(question, server.namespace))).toEqual([])
          expect(await refused(mayNot, (question) => can(question, 'sluice'))).toEqual(mayNot)
          expect(await refused(may, (question) => can(question, server.namespace))).toEqual(
            may.filter((question) => !mayEverywhere.includes(question)),
          )
        }
      } finally {
        await server.kubectl('delete --namespace=sluice --ignore-not-found -f -', objects)
      }
    })
  })
})

async function haveNamespace(server: ContractServer): Promise<void> {
  try {
    await server.client.create(namespaceKind, { metadata: { name: 'sluice' } })
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
}

async function refused(questions: readonly string[], ask: (question: string) => Promise<boolean>): Promise<string[]> {
  const answers = await Promise.all(questions.map(async (question) => ({ question, may: await ask(question) })))
  return answers.filter(({ may }) => !may).map(({ question }) => question)
}

/** Whether a role of the chart may do something, such as `patch models.sluice.dev/scale`. */
async function canI(server: ContractServer, role: string, question: string, namespace: string): Promise<boolean> {
  const [verb = '', what = ''] = question.split(' ')
  const [plural = '', subresource] = what.split('/')
  const [resource = '', ...group] = plural.split('.')
  const resourceAttributes = { verb, resource, subresource, group: group.join('.'), namespace }
  const review = { spec: { user: `system:serviceaccount:sluice:sluice-${role}`, resourceAttributes } }
  const answer = await server.ok('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
  return (answer['status'] as { allowed?: boolean }).allowed === true
}
