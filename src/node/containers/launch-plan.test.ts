import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type FoundImage, ImageStore, repositoryOf } from '../images/image-store.ts'
import { planLaunch } from './launch-plan.ts'
import { launchOf } from '../pod-runtime.contract.ts'
import { expandVariables } from '../environment/variable-expansion.ts'
import { replaceMountPaths } from '../volumes/volume-mounts.ts'
import { unsupportedPart } from '../pods/unsupported-pod.ts'

describe('expandVariables', () => {
  const variables = new Map([
    ['A', '1'],
    ['B', '$(A)'],
  ])
  it.each([
    ['$(A)', '1'],
    ['x-$(A)-$(A)', 'x-1-1'],
    ['$(B)', '$(A)'],
    ['$(MISSING)', '$(MISSING)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A ${A} $(', '$A ${A} $('],
  ])('%s becomes %s', (text, expected) => {
    expect(expandVariables(text, variables)).toBe(expected)
  })
})

describe('repositoryOf', () => {
  it.each([
    ['registry.test/sluice/vllm:1.2', 'registry.test/sluice/vllm'],
    ['registry.test:5000/sluice/vllm', 'registry.test:5000/sluice/vllm'],
    ['registry.test:5000/sluice/vllm:1@sha256:ab', 'registry.test:5000/sluice/vllm'],
    ['vllm', 'vllm'],
  ])('%s is %s', (image, repository) => {
    expect(repositoryOf(image)).toBe(repository)
  })
})

const root = mkdtempSync(join(tmpdir(), 'sluice-mounts-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
mkdirSync(join(root, 'models'))
writeFileSync(join(root, 'models', 'a.gguf'), '')
symlinkSync('a.gguf', join(root, 'models', 'inner'))
symlinkSync('/etc/passwd', join(root, 'models', 'outer'))
symlinkSync('/etc', join(root, 'evil:dir'))
symlinkSync('/nowhere/at/all', join(root, 'dangling'))
const mounts = [
  { mountPath: '/data/deep', folder: join(root, 'models'), root, readOnly: false },
  { mountPath: '/data', folder: root, root, readOnly: false },
]

describe('replaceMountPaths', () => {
  it.each([
    ['/data/models/a.gguf', `${root}/models/a.gguf`],
    ['/data', root],
    ['/data/', `${root}/`],
    ['ls /data; ls /data|wc', `ls ${root}; ls ${root}|wc`],
    ['--model=/data/models', `--model=${root}/models`],
    ['/data/deep/a.gguf', `${root}/models/a.gguf`],
    ['cat "/data/x" /data/y', `cat "${root}/x" ${root}/y`],
    ['/data/a:/data/b', `${root}/a:${root}/b`],
    ['/database', '/database'],
    ['/other/data', '/other/data'],
    ['/data/models/inner', `${root}/models/inner`],
    ['/data/models/not-there/yet', `${root}/models/not-there/yet`],
    ['plain', 'plain'],
  ])('%s becomes the real path', (text, expected) => {
    expect(replaceMountPaths(text, mounts)).toBe(expected)
  })

  it.each([
    '/data/../etc',
    '/data/models/..',
    '/data/a:b/../../etc',
    '--x=/data/models/../..',
    '/data/models/outer',
    '/data/evil:dir/passwd',
    '/data/dangling',
    '/data/dangling/x',
  ])('refuses %s', (text) => {
    expect(() => replaceMountPaths(text, mounts)).toThrow(/the path/)
  })
})

function foundIn(images: ImageStore, name: string): FoundImage {
  const image = images.lookup(name)
  if (image.found === 'nothing') throw new Error(image.message)
  return image
}

describe('planLaunch', () => {
  const images = new ImageStore({
    'r/engine': { command: ['serve', '--fast'], env: { MODE: 'a' } },
    'r/vllm': { unavailable: 'this machine has no vLLM' },
  })
  const surroundings = {
    mounts: () => mounts,
    isolated: false,
    home: '/home',
    hostIP: '127.0.0.1',
    machineEnv: { PATH: '/bin' },
    marks: { MARK: 'm' },
  }
  const found = (image: string) => foundIn(images, image)
  const plan = (image: string, extra: Record<string, unknown>) =>
    planLaunch(launchOf(image, '', extra), { ...surroundings, image: found(image) })

  it('appends args to the command of the image', () => {
    const { program, args, env } = plan('r/engine:1', { args: ['--host', '$(POD_IP)', '/data/models'] })
    expect([program, ...args]).toEqual(['serve', '--fast', '--host', '127.64.200.1', `${root}/models`])
    expect(env).toMatchObject({ PATH: '/bin', MODE: 'a', MARK: 'm', POD_IP: '127.64.200.1', CUDA_VISIBLE_DEVICES: '' })
  })

  it('tells a container that its cards are only simulated', () => {
    const launch = { ...launchOf('r/engine', '', {}), cards: [0, 2] }
    const given = { ...surroundings, image: found('r/engine') }
    expect(planLaunch({ ...launch, cardsSimulated: true }, given).env).toMatchObject({
      CUDA_VISIBLE_DEVICES: '0,2',
      SLUICE_SIMULATED_CARDS: 'true',
    })
    expect(planLaunch(launch, given).env).not.toHaveProperty('SLUICE_SIMULATED_CARDS')
  })

  it('lets command replace that of the image', () => {
    const { program, args } = plan('r/engine', { command: ['sh', '-c'], args: ['true'] })
    expect([program, ...args]).toEqual(['sh', '-c', 'true'])
  })

  it('says why an image cannot run here', () => {
    expect(images.lookup('r/vllm:9')).toMatchObject({ found: 'nothing', message: 'r/vllm: this machine has no vLLM' })
  })

  it('works only in folders that are mounted', () => {
    expect(plan('r/engine', { workingDir: '/data/models' }).workingDir).toBe(`${root}/models`)
    expect(plan('r/engine', {}).workingDir).toBe('/home')
    expect(() => plan('r/engine', { workingDir: '/app' })).toThrow('/app')
  })
})

describe('unsupportedPart', () => {
  const part = (extra: Record<string, unknown>) => unsupportedPart(launchOf('i', '', extra).pod)
  it.each([
    [{ volumes: [{ name: 'v', nfs: { server: 's', path: '/' } }] }, 'nfs'],
    [{ volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: {} }] } }] }, 'clusterTrustBundle'],
    [{ volumes: [{ name: 'v', configMap: { name: 3 } }] }, 'configMap.name'],
    [{ readinessProbe: { periodSeconds: 1 } }, 'readinessProbe'],
    [{ lifecycle: { preStop: { tcpSocket: { port: 1 } } } }, 'lifecycle.preStop'],
    [{ name: '../../escape' }, 'cannot be the name'],
    [{ volumes: [{ name: '..', emptyDir: {} }] }, 'cannot be the name'],
  ])('names %j', (extra, word) => {
    expect(part(extra)).toContain(word)
  })

  it("allows the machine's own folders only where that is turned on", () => {
    const { pod } = launchOf('i', '', { volumes: [{ name: 'v', hostPath: { path: '/etc' } }] })
    expect(unsupportedPart(pod, false)).toContain('hostPath')
    expect(unsupportedPart(pod, true)).toBeUndefined()
  })

  it('has nothing against an ordinary Pod', () => {
    expect(part({ volumes: [{ name: 'v', emptyDir: {} }], env: [{ name: 'A', value: 'b' }] })).toBeUndefined()
  })
})

describe('what no program can be told', () => {
  const plan = (container: Record<string, unknown>) => {
    const launch = launchOf('r/sh', 'true')
    const surroundings = {
      image: foundIn(new ImageStore({ 'r/sh': { command: ['/bin/sh', '-c'] } }), 'r/sh'),
      mounts: () => [],
      isolated: false,
      home: '/tmp',
      hostIP: '127.0.0.1',
      machineEnv: {},
      marks: {},
    }
    return planLaunch({ ...launch, container: { ...launch.container, ...container } }, surroundings)
  }
  const many = (count: number, value: string) =>
    Array.from({ length: count }, (_, index) => ({ name: `V${index}`, value }))

  it('is refused with a word on what to do, before the kernel only says E2BIG', () => {
    expect(() => plan({ env: many(1, 'x'.repeat(200_000)) })).toThrow(/argument list too long.*Mount it as a file/)
    expect(() => plan({ env: many(30, 'x'.repeat(100_000)) })).toThrow(/argument list too long/)
    expect(() => plan({ args: ['x'.repeat(200_000)] })).toThrow(/argument list too long/)
    expect(plan({ env: many(10, 'x'.repeat(100_000)) }).env['V9']).toHaveLength(100_000)
  })

  it('is not made, where variables that refer to each other would grow without end', () => {
    const env = [{ name: 'V0', value: 'x'.repeat(1000) }]
    for (let index = 1; index < 40; index += 1) {
      env.push({ name: `V${index}`, value: `$(V${index - 1})`.repeat(10) })
    }
    expect(() => plan({ env })).toThrow(/argument list too long/)
    const large = [{ name: 'LARGE', value: 'x'.repeat(100_000) }, ...many(9000, '$(LARGE)')]
    expect(() => plan({ env: large })).toThrow(/argument list too long/)
  })

  it('is looked up on the disk only so often, however often it names a mount', () => {
    const mount = { mountPath: '/m', folder: join(root, 'models'), root: join(root, 'models'), readOnly: false }
    expect(replaceMountPaths('/m/a.gguf,'.repeat(900), [mount])).toContain('a.gguf')
    expect(() => replaceMountPaths('/m/a.gguf,'.repeat(9000), [mount])).toThrow(/more than 1000 times/)
  })
})
