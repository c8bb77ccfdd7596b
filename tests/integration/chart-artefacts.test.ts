import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { podKind } from '../../src/resources/pod.ts'
import { version } from '../../src/platform/version.ts'
import { ChartStage, addressOf, helmPath } from '../support/chart-stage.ts'
import { namespace } from '../support/model-stage.ts'
import { runProgram } from '../support/programs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-artefacts-'))
const minutes = (count: number) => count * 60_000
const architecture = process.arch === 'x64' ? 'amd64' : process.arch
const file = (name: string) => join(folder, 'first', name)
const image = file(`sluice-${version}-linux-${architecture}.oci.tar`)
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}

interface PackedManifest {
  readonly dependencies: Record<string, string>
  readonly optionalDependencies: Record<string, string>
  readonly bundleDependencies: readonly string[]
}

async function run(program: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, words, '', minutes(5))
  expect(code, `${program} ${words.join(' ')}: ${stdout}${stderr}`).toBe(0)
  return stdout
}

const makeAll = (name: string) => run(process.execPath, join(root, 'scripts/artefacts/make-all.ts'), join(folder, name))

beforeAll(() => makeAll('first'), minutes(5))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the artefacts', () => {
  it(
    'are the same when they are made again',
    async () => {
      const again = await makeAll('second')
      expect(again).toBe(readFileSync(file('SHA256SUMS'), 'utf8'))
      expect(again.split('\n')).toHaveLength(5)
    },
    minutes(5),
  )

  it('have a package for npm that runs from an empty folder', async () => {
    const modules = join(folder, 'place/node_modules')
    mkdirSync(join(modules, 'sluice'), { recursive: true })
    await run('tar', '-xzf', file(`sluice-${version}.tgz`), '--strip-components=1', '-C', join(modules, 'sluice'))
    const packed = JSON.parse(readFileSync(join(modules, 'sluice/package.json'), 'utf8')) as PackedManifest
    // What npm would fetch is taken from what is installed here: no test needs a network.
    for (const name of Object.keys(packed.dependencies)) {
      if (packed.bundleDependencies.includes(name)) continue
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
    const program = join(modules, 'sluice/bin/sluice')
    expect(await run(program, 'version')).toContain(version)
    expect(await run(program, 'gateway', '--help')).toContain('--demand-port')
    expect(await run(program, 'serve', '--help')).toContain('MODEL_DIR')
    // What the engine's library needs is there, too.
    const library = join(modules, 'sluice/node_modules/node-llama-cpp/dist/index.js')
    const words = ['-e', `import(${JSON.stringify(library)}).then(({ getLlama }) => console.log(typeof getLlama))`]
    expect(await run(process.execPath, ...words)).toBe('function\n')
  })

  it('have a package for npm that asks for no build of llama.cpp but those for processors', async () => {
    const read = async (path: string): Promise<unknown> =>
      JSON.parse(await run('tar', '-xzOf', file(`sluice-${version}.tgz`), `package/${path}`))
    const { optionalDependencies } = (await read('package.json')) as PackedManifest
    expect(Object.keys(optionalDependencies)).toEqual(['@node-llama-cpp/linux-x64', '@node-llama-cpp/linux-arm64'])
    expect(await read('node_modules/node-llama-cpp/package.json')).not.toHaveProperty('optionalDependencies')
    const { packages } = (await read('npm-shrinkwrap.json')) as { packages: Record<string, object> }
    const builds = Object.keys(packages).filter((path) => path.includes('@node-llama-cpp/'))
    expect(builds).toEqual(['node_modules/@node-llama-cpp/linux-arm64', 'node_modules/@node-llama-cpp/linux-x64'])
    expect(packages['node_modules/node-llama-cpp']).toMatchObject({ inBundle: true })
  })

  it('say what they are made of', () => {
    const bill = JSON.parse(readFileSync(file(`sluice-${version}.cdx.json`), 'utf8')) as {
      components: Array<{ name: string; version: string; hashes?: unknown[]; purl: string }>
    }
    const versions = new Map(bill.components.map((part) => [part.name, part.version]))
    for (const [name, wanted] of Object.entries(manifest.dependencies)) expect(versions.get(name)).toBe(wanted)
    expect(bill.components.filter(({ name }) => name === 'vitest' || name === 'typescript')).toEqual([])
    expect(bill.components.filter(({ hashes }) => hashes === undefined)).toEqual([])
  })
})

const [absent, why] =
  process.getuid?.() !== 0
    ? [true, ' (needs root)']
    : helmPath === undefined
      ? [true, ' ($KUBEBUILDER_ASSETS has no helm)']
      : [false, '']

describe.skipIf(absent)(`the image and the chart, from their files alone${why}`, () => {
  const stage = new ChartStage()

  beforeAll(async () => {
    await stage.addFile('models/tiny')
    await stage.start()
    for (const [ref, name] of [
      ['sluice/sluice', 'artefacts/sluice:v1'],
      ['sluice/llama-cpp', 'artefacts/llama-cpp:1'],
    ] as const) {
      const words = ['image', 'import', image, '--data', stage.data, '--ref', `${ref}:${version}`, '--name', name]
      await run(join(root, 'bin/sluice'), ...words)
    }
  }, minutes(5))
  afterAll(() => stage.destroy())

  it(
    'serve a Model',
    async () => {
      const settings = ['image.repository=artefacts/sluice', 'image.tag=v1']
      const chart = file(`sluice-chart-${version}.tgz`)
      const words = settings.flatMap((setting) => ['--set', setting])
      expect(await stage.helm('install', 'demo', chart, '--wait', '--timeout', '4m', ...words)).toMatch(/deployed/)
      await stage.create('tiny', { minReplicas: 0 })
      const [gateway] = await stage.untilPodsOf('gateway', 2)
      if (!gateway) throw new Error('there is no gateway')
      const { status, text } = await stage.ask(addressOf(gateway), 'tiny')
      expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"choices"') as unknown })
      expect(stage.refusals()).toEqual([])
      expect(await stage.helm('uninstall', 'demo', '--timeout', '4m')).toMatch(/uninstalled/)
      expect(await stage.podsOfModel('tiny')).toEqual([])
    },
    minutes(8),
  )

  it(
    'have an engine that loads a model',
    async () => {
      const probe = { httpGet: { path: '/health', port: 8000 }, periodSeconds: 1, timeoutSeconds: 5 }
      const container = {
        name: 'engine',
        image: `${stage.sluice.endpoints.registry}/artefacts/llama-cpp:1`,
        args: ['/models/models/tiny', '--host', '0.0.0.0'],
        readinessProbe: probe,
        volumeMounts: [{ name: 'models', mountPath: '/models', readOnly: true }],
      }
      const volumes = [{ name: 'models', persistentVolumeClaim: { claimName: 'userdata', readOnly: true } }]
      const spec = { containers: [container], volumes }
      await stage.client.create(podKind, { metadata: { name: 'engine', namespace }, spec })
      const ready = await stage.untilPod(
        ({ metadata, status }) =>
          metadata.name === 'engine' &&
          status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true,
      )
      const answer = await fetch(`http://${ready.status?.podIP ?? ''}:8000/v1/models`)
      expect(answer.status).toBe(200)
    },
    minutes(3),
  )
})
