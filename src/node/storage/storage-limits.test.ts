import { describe, expect, it } from 'vitest'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { type StorageUse, exceededStorage, storageLimits } from './storage-limits.ts'

const limited = (size: string) => ({ resources: { limits: { 'ephemeral-storage': size } } })

function podWith(spec: Record<string, unknown>): Pod {
  return podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec })
}

const mebibyte = 2 ** 20

function verdict(spec: Record<string, unknown>, use: Partial<StorageUse>): string | undefined {
  const limits = storageLimits(podWith({ containers: [{ name: 'main' }], ...spec }))
  return limits && exceededStorage(limits, { volumes: new Map(), containers: new Map(), pod: 0, ...use })
}

describe('storageLimits', () => {
  it('are none where none are set, or where they are zero', () => {
    expect(storageLimits(podWith({ containers: [{ name: 'main' }] }))).toBeUndefined()
    const volumes = [
      { name: 'v', emptyDir: { sizeLimit: '0' } },
      { name: 'w', emptyDir: {} },
    ]
    expect(storageLimits(podWith({ containers: [{ name: 'main' }], volumes }))).toBeUndefined()
  })

  it.each([
    [[['10Mi'], ['20Mi']], '30Mi'],
    [[['10Mi'], []], '10Mi'],
    [[['1G'], ['500M']], '1500M'],
  ])('of a Pod are the sum of those of its containers: %j', (sizes, whole) => {
    const containers = sizes.map(([size], index) => ({ name: `c${index}`, ...(size !== undefined && limited(size)) }))
    expect(storageLimits(podWith({ containers }))?.pod?.text).toBe(whole)
  })

  it('of a Pod grow with what its init containers may use', () => {
    const containers = [{ name: 'main', ...limited('1Gi') }]
    const sidecar = { name: 'side', restartPolicy: 'Always', ...limited('1Gi') }
    const init = { name: 'init', ...limited('3Gi') }
    const whole = (initContainers: object[]) => storageLimits(podWith({ containers, initContainers }))?.pod?.text
    expect(whole([])).toBe('1Gi')
    expect(whole([sidecar])).toBe('2Gi')
    expect(whole([init])).toBe('3Gi')
    expect(whole([sidecar, init])).toBe('4Gi')
  })
})

describe('exceededStorage', () => {
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }]

  it('is about volumes first', () => {
    const use = (bytes: number) => ({ volumes: new Map([['scratch', bytes]]), pod: 10 * mebibyte })
    expect(verdict({ volumes }, use(mebibyte))).toBeUndefined()
    expect(verdict({ volumes }, use(mebibyte + 1))).toBe('Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ')
  })

  it('is about the whole Pod next, then about single containers', () => {
    const containers = [
      { name: 'a', ...limited('1Mi') },
      { name: 'b', ...limited('2Mi') },
    ]
    const use = (a: number, b: number, pod: number) => ({
      containers: new Map([
        ['a', a * mebibyte],
        ['b', b * mebibyte],
      ]),
      pod: pod * mebibyte,
    })
    expect(verdict({ containers }, use(1, 2, 3))).toBeUndefined()
    expect(verdict({ containers }, use(0, 0, 4))).toBe(
      'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
    )
    expect(verdict({ containers }, use(2, 0, 2))).toBe('Container a exceeded its local ephemeral storage limit "1Mi". ')
  })
})
