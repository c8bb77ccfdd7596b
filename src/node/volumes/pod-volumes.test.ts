import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { podKind } from '../../resources/pod.ts'
import { PodVolumes, type Tokens } from './pod-volumes.ts'
import { noReferences } from '../environment/referenced-objects.ts'
import type { VolumeFiles } from './volume-files.ts'

const pod = podKind.schema.parse({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'team', uid: 'u' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [
      {
        name: 'access',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', expirationSeconds: 1000 } },
            { serviceAccountToken: { path: 'vault', audience: 'vault', expirationSeconds: 4000 } },
          ],
        },
      },
    ],
  },
})
const facts = { podIP: '127.64.0.1', hostIP: '127.0.0.1' }
const never = new AbortController().signal

function volumesWith(tokens: Tokens) {
  const clock = new FakeClock()
  const written: Record<string, string>[] = []
  const volumes = new PodVolumes({
    clock,
    tokens,
    references: async () => noReferences,
    write: async (_volume: string, files: VolumeFiles) => {
      written.push(Object.fromEntries([...files].map(([path, { data }]) => [path, data.toString()])))
      return true
    },
  })
  return { clock, volumes, written }
}

describe('the tokens of a Pod', () => {
  it('are renewed with a fifth of their life left, each by itself', async () => {
    let count = 0
    const { clock, volumes, written } = volumesWith(async (_pod, audience = 'api') => `${audience}-${++count}`)
    await volumes.refresh(pod, facts, never)
    expect(written).toEqual([{ token: 'api-1', vault: 'vault-2' }])
    expect(volumes.renewAt).toBe(clock.now() + 800_000)
    await clock.advance(799_999)
    expect(await volumes.refresh(pod, facts, never)).toEqual([])
    await clock.advance(1)
    await volumes.refresh(pod, facts, never)
    expect(written.at(-1)).toEqual({ token: 'api-3', vault: 'vault-2' })
  })

  it('are waited for, saying what is missing', async () => {
    const { volumes, written } = volumesWith(() => Promise.reject(new Error('serviceaccounts "nobody" not found')))
    await expect(volumes.refresh(pod, facts, never)).rejects.toThrow(
      'MountVolume.SetUp failed for volume "access" : failed to fetch token: serviceaccounts "nobody" not found',
    )
    expect(written).toEqual([])
  })
})
