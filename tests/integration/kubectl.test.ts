import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { knownTokens } from '../../src/apiserver/access/identity/authentication.ts'
import { createTestCertificates } from '../../src/apiserver/test-support/certificates.fixture.ts'
import { ClusterApi } from '../../src/apiserver/cluster-api.ts'
import { imagesFrom } from '../../src/apiserver/admission/image-registry-rule.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { coreKinds, customKinds } from '../../src/resources/all-kinds.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { podKind } from '../../src/resources/pod.ts'
import { type SqliteStore, openSqliteStore } from '../../src/store/sqlite-store.ts'
import { kubectlPath } from '../support/programs.ts'

const clusterId = 'vks-test-1'

let directory: string
let store: SqliteStore
let server: ApiServer
let api: ClusterApi
let address: string

beforeAll(async () => {
  if (!kubectlPath) return
  directory = await mkdtemp(join(tmpdir(), 'sluice-kubectl-'))
  const certificates = await createTestCertificates('CN=somebody')
  store = await openSqliteStore({ path: join(directory, 'sluice.db') })
  const admission = [imagesFrom('registry.test')]
  api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock, admission })
  for (const name of ['default', 'sluice']) await api.create(namespaceKind, undefined, { metadata: { name } })
  const tls = { ...certificates.server, ca: certificates.ca }
  server = new ApiServer({ tls, log: silentLogger, clock: systemClock, metrics: new Metrics() })
  server.mount({
    id: clusterId,
    api,
    podAccess: {
      async *logs(_pod, { follow }) {
        yield Buffer.from('one line\n')
        if (follow) yield Buffer.from('and another\n')
      },
      usage: async () => ({
        endedAt: Date.now(),
        windowMs: 1_000,
        machine: { cpus: 1.5, memoryBytes: 3 * 2 ** 30 },
        containers: api.list(podKind).items.map(({ metadata: { uid = '' } }) => {
          return { podUid: uid, container: 'main', cpus: 0.25, memoryBytes: 100 * 2 ** 20 }
        }),
      }),
    },
    authenticate: knownTokens([{ token: 'test-token', user: { name: 'admin', groups: ['system:masters'] } }]),
  })
  const { port } = await server.listen('127.0.0.1', 0)
  address = `https://127.0.0.1:${port}/vks/${clusterId}`
  await writeFile(join(directory, 'ca.crt'), certificates.ca)
  await writeKubeconfig('kubeconfig', 'test-token')
  await writeKubeconfig('stranger', 'another-token')
})

afterAll(async () => {
  if (!kubectlPath) return
  await server.close(1_000)
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

async function writeKubeconfig(name: string, token: string): Promise<void> {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: address, 'certificate-authority': join(directory, 'ca.crt') } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  await writeFile(join(directory, name), JSON.stringify(config))
}

function commandLine(args: readonly string[], kubeconfig = 'kubeconfig'): string[] {
  const cache = join(directory, 'cache')
  return ['--kubeconfig', join(directory, kubeconfig), '--cache-dir', cache, ...args]
}

interface Result {
  readonly code: number
  readonly output: string
}

/** Runs a command line, with an object as standard input if there is one. */
function kubectl(line: string, input?: unknown, kubeconfig?: string): Promise<Result> {
  return new Promise((resolve) => {
    const args = commandLine(line.split(' '), kubeconfig)
    const env = { HOME: directory, PATH: process.env['PATH'] }
    const child = execFile(kubectlPath ?? '', args, { env, timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr })
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end(input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
  })
}

/** Runs a command line that must succeed, and returns its output. */
async function done(line: string, input?: unknown): Promise<string> {
  const { code, output } = await kubectl(line, input)
  expect(code, `kubectl ${line}: ${output}`).toBe(0)
  return output
}

/** Runs a command line that must be refused, and returns the message. */
async function refused(line: string, input?: unknown): Promise<string> {
  const { code, output } = await kubectl(line, input)
  expect(code, `kubectl ${line}: ${output}`).not.toBe(0)
  return output
}

const model = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'sluice.dev/v1',
  kind: 'Model',
  metadata: { name, namespace: 'sluice' },
  spec: { url: 'pvc://userdata/models/smollm2', engine: 'LlamaCpp', ...spec },
})
const pod = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: 'main', image: 'registry.test/app:1', env: [{ name: 'A', value: '1' }] }], ...spec },
})

// What a real server does as well is tested in tests/kubernetes/; this is for what only the embedded one has.
describe.skipIf(!kubectlPath)(
  `kubectl (${kubectlPath ?? '1.27 or newer is neither in $KUBEBUILDER_ASSETS nor on the PATH'})`,
  () => {
    it('finds the cluster, its version and its resources', async () => {
      expect(await done('cluster-info')).toContain(address)
      expect(await done('version')).toContain('Server Version: v1.34.0+sluice')
      const resources = await done('api-resources')
      expect(resources).toMatch(/^models +mdl +sluice\.dev\/v1 +true +Model$/m)
      expect(resources).toMatch(/^pods +po +v1 +true +Pod$/m)
      expect(await done('get --raw /readyz')).toBe('ok')
    })

    it('is turned away with another token', async () => {
      const { code, output } = await kubectl('get pods', undefined, 'stranger')
      expect([code, output]).toEqual([1, expect.stringContaining('You must be logged in to the server')])
    })

    it('applies a Model, changes it, scales it, describes it and deletes it', async () => {
      expect(await done('apply -f -', model('smollm2'))).toBe('model.sluice.dev/smollm2 created\n')
      expect(await done('apply -f -', model('smollm2'))).toBe('model.sluice.dev/smollm2 unchanged\n')
      expect(await done('apply -f -', model('smollm2', { maxReplicas: 3 }))).toBe(
        'model.sluice.dev/smollm2 configured\n',
      )
      expect(await done('scale model smollm2 -n sluice --replicas=2')).toBe('model.sluice.dev/smollm2 scaled\n')
      // The number of replicas that the autoscaler wrote survives an apply that does not mention it.
      await done('apply -f -', model('smollm2', { maxReplicas: 4 }))
      const jsonPath = 'jsonpath={.spec.replicas}/{.spec.maxReplicas}/{.metadata.generation}'
      expect(await done(`get model smollm2 -n sluice -o ${jsonPath}`)).toBe('2/4/4')
      const table = await done('get models -A')
      expect(table).toMatch(/^NAMESPACE +NAME +PHASE +LOADING +READY +REPLICAS +ENGINE +PROFILE +AGE$/m)
      expect(table).toMatch(/^sluice +smollm2 +LlamaCpp +default:1 +\d+s$/m)
      expect(await done('get mdl -n sluice -o wide')).toContain('pvc://userdata/models/smollm2')
      expect(await done('describe model smollm2 -n sluice')).toMatch(/Target Requests: +100/)
      expect(await done('delete model smollm2 -n sluice')).toContain('model.sluice.dev "smollm2" deleted')
      expect(await refused('get model smollm2 -n sluice')).toContain('models.sluice.dev "smollm2" not found')
    })

    it('walks a Pod through apply, patch, label, replace, logs and delete', async () => {
      expect(await done('apply -f -', pod('web'))).toBe('pod/web created\n')
      expect(await done('apply -f -', pod('web'))).toBe('pod/web unchanged\n')
      expect(await done('get pods')).toMatch(/^web +0\/1 +Pending +0 +\d+s$/m)
      expect(await done('label pod web tier=front')).toBe('pod/web labeled\n')
      expect(await done('annotate pod web note=kept')).toBe('pod/web annotated\n')
      const image = '{"spec":{"containers":[{"name":"main","image":"registry.test/app:2"}]}}'
      expect(await done(`patch pod web -p ${image}`)).toBe('pod/web patched\n')
      const path = 'jsonpath={.spec.containers[0].image},{.spec.containers[0].env[0].value},{.metadata.labels.tier}'
      expect(await done(`get pod web -o ${path}`)).toBe('registry.test/app:2,1,front')
      expect(await refused('patch pod web -p {"spec":{"restartPolicy":"Never"}}')).toContain(
        'spec: Forbidden: pod updates may not change fields other than',
      )
      expect(await done('replace -f -', JSON.parse(await done('get pod web -o json')))).toBe('pod/web replaced\n')
      expect(await done('describe pod web')).toMatch(/Image: +registry\.test\/app:2/)
      expect(await done('logs web')).toBe('')
      const hosted = pod('hosted')
      await done('apply -f -', { ...hosted, spec: { ...hosted.spec, nodeName: 'here' } })
      expect(await done('logs hosted')).toBe('one line\n')
      expect(await done('logs -f hosted')).toBe('one line\nand another\n')
      expect(await done('top pod hosted --containers')).toMatch(/^hosted +main +250m +100Mi *$/m)
      expect(await done('top pods --sort-by=cpu')).toMatch(/^NAME +CPU\(cores\) +MEMORY\(bytes\) *\n(web|hosted) +250m/)
      await done('apply -f -', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'here' } })
      const room = '{"status":{"allocatable":{"cpu":"4","memory":"8Gi"}}}'
      await done(`patch node here --subresource=status --type=merge -p ${room}`)
      expect(await done('top node')).toMatch(/^here +1500m +37% +3072Mi +37% *$/m)
      await done('delete node here')
      await done('delete pod hosted --force --grace-period=0')
      expect(await refused('exec web -- ls')).toContain('pods/exec is not offered by this cluster')
      expect(await done('delete pod web')).toContain('pod "web" deleted')
      expect(await done('get pods')).toContain('No resources found in default namespace.')
    })

    it('applies on the server’s side, explains what there is, and creates workloads', async () => {
      expect(await done('apply --server-side -f -', model('ssa'))).toBe('model.sluice.dev/ssa serverside-applied\n')
      expect(await done('explain pod.spec.containers --recursive')).toMatch(/env\t<\[\]EnvVar>/)
      expect(await done('explain models.spec')).toMatch(/url\t<string> -required-/)
      // kubectl sends these as protobuf.
      expect(await done('create deployment web --image=registry.test/web:1 --replicas=0')).toContain('created')
      expect(await done('get deployment web -o jsonpath={.spec.replicas}/{.spec.strategy.type}')).toBe(
        '0/RollingUpdate',
      )
      expect(await done('scale deployment web --replicas=2')).toBe('deployment.apps/web scaled\n')
      expect(await done('set image deployment/web web=registry.test/web:2')).toContain('image updated')
      expect(await done('get deploy -o wide')).toMatch(/^web +0\/2 +0 +0 +\d+s +web +registry\.test\/web:2 +app=web$/m)
      expect(await done('create job once --image=registry.test/web:1 -- true')).toContain('created')
      expect(await refused('create deployment foreign --image=nginx')).toContain(
        "spec.template.spec.containers[0].image: Forbidden: the image nginx is not from this cluster's registry; use registry.test/<repository>:<tag>",
      )
      expect(await done('create quota q --hard=cpu=2000m')).toContain('created')
      expect(await done('get quota q -o jsonpath={.spec.hard.cpu}')).toBe('2')
      expect(await done('expose deployment web --port=80')).toContain('exposed')
    })
  },
)
