import { describe, expect, it } from 'vitest'
import { modelSchema } from '../resources/model.ts'
import { podSchema } from '../resources/pod.ts'
import { parseEngines } from './engines/engine-file.ts'
import { modelPodSpec, newModelPod } from './model-pod.ts'
import type { ResolvedProfile } from './resource-profile.ts'

const about = { suffix: 'abcde', failures: 0, engineKey: undefined }
const l40s = { card: 'nvidia.com/gpu-l40s' }
const facts = { registry: 'registry.local-1.localhost', version: '0.1.0' }

function modelWith(spec: Record<string, unknown>, name = 'smollm2') {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', uid: 'u' },
    spec: { url: 'pvc://userdata/models/smol/file.gguf', engine: 'LlamaCpp', ...spec },
  })
}

function engineOf(spec: Record<string, unknown>, profile: ResolvedProfile = l40s) {
  const podSpec = modelPodSpec(modelWith(spec), profile, facts)
  return { podSpec, container: podSpec.containers[0] }
}

describe('the Pod of a Model', () => {
  it('serves with the built-in engine', () => {
    const { podSpec, container } = engineOf({ args: ['--max-model-len', '2048'], imagePullSecrets: ['pull'] })
    expect(container).toMatchObject({
      image: 'registry.local-1.localhost/sluice/llama-cpp:0.1.0',
      args: [
        '/mnt/models/models/smol/file.gguf',
        '--host',
        '$(POD_IP)',
        '--port',
        '8900',
        '--served-model-name',
        'smollm2',
        '--tensor-parallel-size',
        '1',
        '--max-model-len',
        '2048',
      ],
      env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
      ports: [{ name: 'http', containerPort: 8900 }],
      resources: { limits: { 'nvidia.com/gpu-l40s': '1' } },
      volumeMounts: [{ name: 'models', mountPath: '/mnt/models', readOnly: true }],
      readinessProbe: { httpGet: { path: '/health', port: 'http' } },
    })
    expect(podSpec).toMatchObject({
      restartPolicy: 'Always',
      imagePullSecrets: [{ name: 'pull' }],
      volumes: [{ name: 'models', persistentVolumeClaim: { claimName: 'userdata', readOnly: true } }],
    })
  })

  it('serves with vLLM over several cards, with shared memory and a start of many minutes', () => {
    const { podSpec, container } = engineOf(
      { engine: 'VLLM', resourceProfile: 'nvidia.com/gpu-h800:8' },
      { card: 'nvidia.com/gpu-h800' },
    )
    expect(container?.image).toBe('registry.local-1.localhost/sluice/vllm:0.1.0')
    expect(container?.args).toEqual(expect.arrayContaining(['--tensor-parallel-size', '8']))
    expect(container?.resources?.limits).toEqual({ 'nvidia.com/gpu-h800': '8' })
    expect(container?.volumeMounts).toContainEqual({ name: 'shared-memory', mountPath: '/dev/shm' })
    expect(podSpec.volumes).toContainEqual({ name: 'shared-memory', emptyDir: { medium: 'Memory' } })
    const { periodSeconds = 0, failureThreshold = 0 } = container?.startupProbe ?? {}
    expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(30 * 60)
  })

  it('goes where its profile says, with what its profile gives', () => {
    const { podSpec, container } = engineOf(
      { resourceProfile: 'nvidia.com/gpu-l40s:2' },
      {
        ...l40s,
        requests: { cpu: '4' },
        limits: { memory: '16Gi' },
        nodeSelector: { pool: 'cards' },
        tolerations: [{ key: 'cards', operator: 'Exists' }],
      },
    )
    expect(podSpec).toMatchObject({
      nodeSelector: { pool: 'cards' },
      tolerations: [{ key: 'cards', operator: 'Exists' }],
    })
    expect(container?.resources).toEqual({
      requests: { cpu: '8', 'nvidia.com/gpu-l40s': '2' },
      limits: { memory: '32Gi', 'nvidia.com/gpu-l40s': '2' },
    })
  })

  it('does not take a path for a variable', () => {
    const { container } = engineOf({ url: 'pvc://userdata/$(HOME)/x' })
    expect(container?.args?.[0]).toBe('/mnt/models/$$(HOME)/x')
  })

  it('has a name, labels and an owner, and is valid', () => {
    const model = modelWith({})
    const pod = newModelPod(model, { spec: modelPodSpec(model, l40s, facts), hash: '0123456789' }, about)
    expect(pod.metadata.name).toMatch(/^model-smollm2-[0-9a-f]{5}-abcde$/)
    expect(pod.metadata).toMatchObject({
      namespace: 'sluice',
      labels: { 'sluice.dev/model': 'smollm2', 'sluice.dev/spec-hash': expect.stringMatching(/^[0-9a-f]{10}$/) },
      ownerReferences: [{ apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'smollm2', uid: 'u', controller: true }],
    })
    expect(podSchema.safeParse({ apiVersion: 'v1', kind: 'Pod', ...pod }).success).toBe(true)
  })

  it.each([
    ['LlamaCpp', 'LLAMA_API_KEY'],
    ['VLLM', 'VLLM_API_KEY'],
  ])('hands the key of its start to %s by a Secret, in the variable that it looks at', (engine, variable) => {
    const model = modelWith({ engine })
    const template = { spec: modelPodSpec(model, l40s, facts), hash: '0123456789' }
    const { spec } = newModelPod(model, template, { ...about, engineKey: 'key-7' })
    expect(spec.containers[0]?.env).toContainEqual({
      name: variable,
      valueFrom: { secretKeyRef: { name: 'model-smollm2-keys', key: 'key-7' } },
    })
    expect(newModelPod(model, template, about).spec).toBe(template.spec)
  })

  describe('whose engine is data', () => {
    const engines = parseEngines(
      {
        Lab: {
          image: '{registry}/lab/server:v7',
          command: ['/opt/{cards}/serve'],
          args: ['--weights', '{modelPath}', '--as={modelName}', '--listen', '{host}:{port}', '--opts', '{"a": {}}'],
          env: { LISTEN_PORT: '{port}', CARDS: '{cards}' },
          port: 30_000,
          healthPath: '/v1/ready',
          key: { flag: '--token' },
          requestCapacity: 7,
          startupSeconds: 3600,
          graceSeconds: 5,
          sharedMemory: '8Gi',
          requests: { cpu: '2' },
          requestsPerCard: { memory: '16Gi' },
          imagePullPolicy: 'Always',
          imagePullSecrets: ['lab', 'both'],
          runtimeClassName: 'lab',
          securityContext: { runAsUser: 1000 },
          podSecurityContext: { fsGroup: 1000 },
          volumes: [{ name: 'scratch', emptyDir: {} }],
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
        },
        Open: { image: 'x', key: 'none' },
      },
      '--config',
    )
    const lab = modelWith({ engine: 'Lab', resourceProfile: 'nvidia.com/gpu-l40s:2', args: ['--more'] })

    it('is what the data says', () => {
      const spec = modelPodSpec(lab, l40s, { ...facts, engines })
      expect(spec).toMatchObject({
        terminationGracePeriodSeconds: 5,
        runtimeClassName: 'lab',
        securityContext: { fsGroup: 1000 },
        imagePullSecrets: [{ name: 'lab' }, { name: 'both' }],
      })
      expect(spec.volumes?.slice(1)).toEqual([
        { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: '8Gi' } },
        { name: 'scratch', emptyDir: {} },
      ])
      expect(spec.containers).toEqual([
        {
          name: 'engine',
          image: 'registry.local-1.localhost/lab/server:v7',
          imagePullPolicy: 'Always',
          command: ['/opt/2/serve'],
          args: [
            '--weights',
            '/mnt/models/models/smol/file.gguf',
            '--as=smollm2',
            '--listen',
            '$(POD_IP):30000',
            '--opts',
            '{"a": {}}',
            '--more',
          ],
          env: [
            { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'LISTEN_PORT', value: '30000' },
            { name: 'CARDS', value: '2' },
          ],
          ports: [{ name: 'http', containerPort: 30_000, protocol: 'TCP' }],
          resources: {
            requests: { cpu: '2', memory: '32Gi', 'nvidia.com/gpu-l40s': '2' },
            limits: { 'nvidia.com/gpu-l40s': '2' },
          },
          volumeMounts: [
            { name: 'models', mountPath: '/mnt/models', readOnly: true },
            { name: 'shared-memory', mountPath: '/dev/shm' },
            { name: 'scratch', mountPath: '/scratch' },
          ],
          startupProbe: expect.objectContaining({
            httpGet: { path: '/v1/ready', port: 'http' },
            failureThreshold: 3600,
          }),
          readinessProbe: expect.objectContaining({ httpGet: { path: '/v1/ready', port: 'http' } }),
          securityContext: { runAsUser: 1000 },
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ])
    })

    it('heeds what its profile says about the same', () => {
      const profile = {
        ...l40s,
        runtimeClassName: 'nvidia',
        sharedMemory: 'unlimited',
        images: { Lab: '{registry}/lab/server:rocm' },
        imagePullSecrets: ['both', 'cards'],
      }
      const spec = modelPodSpec(lab, profile, { ...facts, engines })
      expect(spec).toMatchObject({
        runtimeClassName: 'nvidia',
        imagePullSecrets: [{ name: 'lab' }, { name: 'both' }, { name: 'cards' }],
        containers: [{ image: 'registry.local-1.localhost/lab/server:rocm' }],
      })
      expect(spec.volumes).toContainEqual({ name: 'shared-memory', emptyDir: { medium: 'Memory' } })
    })

    it('reads its files from the node, where its profile has a cache', () => {
      const weightsCache = { hostPath: '/var/cache/weights', size: '2Ti' }
      const spec = modelPodSpec(lab, { ...l40s, weightsCache }, { ...facts, engines })
      const [copier] = spec.initContainers ?? []
      expect(copier).toMatchObject({
        image: 'registry.local-1.localhost/sluice/sluice:0.1.0',
        restartPolicy: 'Always',
        args: expect.arrayContaining([
          'model',
          'cache',
          '--size=2Ti',
          '--claim-name=userdata',
          'models/smol/file.gguf',
        ]),
        startupProbe: { failureThreshold: 3600 },
        securityContext: { runAsUser: 0, capabilities: { drop: ['ALL'] } },
      })
      const writable = (copier?.volumeMounts ?? []).filter(({ readOnly }) => readOnly !== true).map(({ name }) => name)
      expect(writable).toEqual(['weights-cache', 'weights-links'])
      const [engine] = spec.containers
      expect(engine?.volumeMounts?.slice(0, 3)).toEqual([
        { name: 'weights-links', mountPath: '/mnt/models', readOnly: true },
        { name: 'weights-cache', mountPath: '/mnt/cache', readOnly: true },
        { name: 'models', mountPath: '/mnt/claim', readOnly: true },
      ])
      expect(engine?.args).toContain('/mnt/models/models/smol/file.gguf')
      expect(spec.volumes?.slice(0, 3)).toEqual([
        { name: 'models', persistentVolumeClaim: { claimName: 'userdata', readOnly: true } },
        { name: 'weights-cache', hostPath: { path: '/var/cache/weights', type: 'DirectoryOrCreate' } },
        { name: 'weights-links', emptyDir: {} },
      ])
      const pod = newModelPod(lab, { spec, hash: '0123456789' }, { ...about, engineKey: 'key-7', engines })
      expect(JSON.stringify(pod.spec.initContainers)).not.toContain('secretKeyRef')
      expect(podSchema.safeParse({ apiVersion: 'v1', kind: 'Pod', ...pod }).success).toBe(true)
    })

    it('is told its key by an argument, which Kubernetes fills in from the Secret', () => {
      const template = { spec: modelPodSpec(lab, l40s, { ...facts, engines }), hash: '0123456789' }
      const { spec, metadata } = newModelPod(lab, template, { ...about, engineKey: 'key-7', engines })
      expect(spec.containers[0]?.args?.slice(-3)).toEqual(['--more', '--token', '$(SLUICE_ENGINE_KEY)'])
      expect(spec.containers[0]?.env?.at(-1)).toEqual({
        name: 'SLUICE_ENGINE_KEY',
        valueFrom: { secretKeyRef: { name: 'model-smollm2-keys', key: 'key-7' } },
      })
      expect(metadata.annotations).toEqual({ 'sluice.dev/request-capacity': '7' })
    })

    it('is told none, if it would not heed it', () => {
      const open = modelWith({ engine: 'Open' })
      const template = { spec: modelPodSpec(open, l40s, { ...facts, engines }), hash: '0123456789' }
      expect(newModelPod(open, template, { ...about, engineKey: 'key-7', engines }).spec).toBe(template.spec)
    })
  })

  it('shortens a long name to what a host name may have', () => {
    const model = modelWith({}, `a${'b'.repeat(40)}.${'c'.repeat(40)}`)
    const { name } = newModelPod(model, { spec: modelPodSpec(model, l40s, facts), hash: '0123456789' }, about).metadata
    expect(name.length).toBeLessThanOrEqual(63)
    expect(name).toMatch(/^model-ab.*-[0-9a-f]{5}-abcde$/)
  })
})
