import { describe, expect, it } from 'vitest'
import { modelSchema } from '../resources/model.ts'
import { podSchema } from '../resources/pod.ts'
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

  it('shortens a long name to what a host name may have', () => {
    const model = modelWith({}, `a${'b'.repeat(40)}.${'c'.repeat(40)}`)
    const { name } = newModelPod(model, { spec: modelPodSpec(model, l40s, facts), hash: '0123456789' }, about).metadata
    expect(name.length).toBeLessThanOrEqual(63)
    expect(name).toMatch(/^model-ab.*-[0-9a-f]{5}-abcde$/)
  })
})
