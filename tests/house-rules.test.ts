import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

// What every file of the repository keeps to, so that it stays easy to read. `architecture.test.ts` has the rules about
// what may import what.

const root = join(import.meta.dirname, '..')
const folders = ['src', 'tests', 'bench', 'scripts', 'bin', 'web/src', 'web/console/src']
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|tsx|mjs)$/.test(name))
    .map((name) => join(folder, name)),
)
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
const linesOf = (file: string) => textOf(file).split('\n')
const isForTests = (file: string) => file.startsWith('tests/') || /\.(?:test|contract|fixture)\.ts$/.test(file)

const mostLines = 400
/** Files that are to be split. */
const tooLong: readonly string[] = []

const mostFiles = 15
/** Folders that have more source files, and why. */
const largeFolders: Record<string, string> = {
  'src/node/containers': 'the life of a container from its plan to its end; each file is one step or one stream of it',
  'src/node/network': 'two kinds of network behind one interface; rules of the kernel and user networks have folders',
  'src/node/network/rules': 'the tables of the kernel: what is planned, how it is written, how it gets there',
  'src/node/pods': 'the life of a Pod on its node; what is about a single container has its own folder',
  'src/platform': 'the parts that a start puts together; those that belong together have folders',
  'src/resources': 'one file for each kind',
  'src/resources/validation': 'one file for each kind whose rules are long',
}

/** Tests await what happens. These files let time pass on purpose. */
const mayPause: Record<string, string> = {
  'src/platform/serving/serving-threads.fixture.ts': 'polls what other threads do, with a deadline',
  'tests/support/sluice-process.ts': 'polls what other processes do, with a deadline',
  'tests/kubernetes/ask-until.ts': 'polls what a real server does after its answer, with a deadline',
  'tests/faults/api-load.fixture.ts': 'makes requests at a steady rate',
  'tests/faults/gateway-clients-program.fixture.ts': 'makes requests at a steady rate',
  'tests/faults/slow-disk-gateway.test.ts': 'measures for a while',
  'tests/support/fuzz/overseer.ts': 'takes samples at a steady rate',
  'tests/support/fuzz/manifest-fuzzer.ts': 'lets a cluster go on by itself between random steps',
}
const pauses = [
  /\bsetTimeout\b[^'\n]* from 'node:timers\/promises'/,
  /\bsetTimeout\(\s*(?:\(\)\s*=>\s*)?(?:void\s+)?(?:resolve|done)\b/,
  /\bsystemClock\.sleep\(/,
  /\bAtomics\.wait\(/,
]
/** Fails on a busy machine, where nothing is wrong but everything takes longer. */
const timeAssertion = /\bexpect\(\s*(?:Date|performance)\.now\(\)\s*-/

describe('files', () => {
  it.each([
    ['sources', (file: string) => !isForTests(file)],
    ['tests', isForTests],
  ])(`have at most ${mostLines} lines: %s`, (_which, isMeant) => {
    const long = files.filter((file) => isMeant(file) && linesOf(file).length - 1 > mostLines)
    expect(long.filter((file) => !tooLong.includes(file))).toEqual([])
  })

  it('have comments of at most 120 columns', () => {
    const wide = files.flatMap((file) =>
      linesOf(file).flatMap((line, index) =>
        /^\s*(?:\/\/|\/?\*)/.test(line) && line.length > 120 ? [`${file}:${index + 1}`] : [],
      ),
    )
    expect(wide).toEqual([])
  })
})

describe('folders', () => {
  const sources = files.filter((file) => file.startsWith('src/') && !isForTests(file))
  const sizes = Map.groupBy(sources, (file) => dirname(file))
  const large = [...sizes].filter(([, group]) => group.length > mostFiles).map(([folder]) => folder)

  it(`have at most ${mostFiles} source files, or a reason for more`, () => {
    expect(large.filter((folder) => !(folder in largeFolders))).toEqual([])
  })

  it('have no reason that they do not need', () => {
    expect(Object.keys(largeFolders).filter((folder) => !large.includes(folder))).toEqual([])
  })
})

describe('tests', () => {
  const pausing = files.filter((file) => isForTests(file) && pauses.some((pause) => pause.test(textOf(file))))

  it('wait for what happens instead of sleeping', () => {
    expect(pausing.filter((file) => !(file in mayPause) && file !== 'tests/house-rules.test.ts')).toEqual([])
  })

  it('are not excused without need', () => {
    expect(Object.keys(mayPause).filter((file) => !pausing.includes(file))).toEqual([])
  })

  it('assert no time that passed', () => {
    expect(files.filter((file) => isForTests(file) && timeAssertion.test(textOf(file)))).toEqual([])
  })
})
