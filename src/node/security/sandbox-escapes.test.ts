import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { canBeTried, escapeAttempts } from './escape-attempts.fixture.ts'
import { EscapeStage } from './escape-stage.fixture.ts'

const permitted =
  isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is) && process.getuid?.() === 0
const names = escapeAttempts.map(({ name }) => name)
const restricted = {
  runAsNonRoot: true,
  runAsUser: 1000,
  runAsGroup: 1000,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
/** Attempts that succeed in a Pod without a system call filter, as docs/explanation/sandbox.md says. */
const withoutFilter = new Set([
  'takes a network of its own',
  'becomes root of other users',
  'becomes root of other users, by clone',
  'mounts the control groups',
  'has the kernel run a program when a group is empty',
  "finds a key of the machine's root",
])

describe.skipIf(!permitted)('a program in a container', () => {
  let stage: EscapeStage
  beforeAll(async () => {
    stage = new EscapeStage()
    await stage.open()
  }, 60_000)
  afterAll(() => stage.close())

  it('is tried at least sixty ways, each of which works where nothing keeps it', () => {
    const reached = stage.onMachine()
    const here = escapeAttempts.filter(canBeTried)
    expect(here.map(({ name }) => name).filter((name) => reached.get(name) !== 'escaped')).toEqual([])
    expect(reached.size).toBeGreaterThan(60)
  }, 120_000)

  describe.each<[string, (on: EscapeStage) => Promise<ReadonlyMap<string, string>>]>([
    ['as root with the usual rights', (on) => on.inContainer({})],
    ['as another user', (on) => on.inContainer({ runAsUser: 1000, runAsGroup: 1000 })],
    ['of the restricted profile', (on) => on.inContainer(restricted)],
    ['as root, run by exec', (on) => on.byExec({})],
    ['of the restricted profile, run by exec', (on) => on.byExec(restricted)],
    ['as root with a terminal', (on) => on.inTerminal({})],
    ['of the restricted profile with a terminal', (on) => on.inTerminal(restricted)],
    ['as root, added to look at another', (on) => on.besideAnother({})],
    ['of the restricted profile, added to look at another', (on) => on.besideAnother(restricted)],
    ['as root, that another was added to look at', (on) => on.underEyes({})],
  ])('%s', (_who, attempt) => {
    let reached: ReadonlyMap<string, string>
    beforeAll(async () => {
      reached = await attempt(stage)
    }, 120_000)

    it.each(names)('does not get out: %s', (name) => {
      expect(reached.get(name)).toBe('kept')
    })
  })

  it('as root without the filter of calls, reaches what is said and nothing else', async () => {
    const reached = await stage.inContainer({ seccompProfile: { type: 'Unconfined' } })
    expect(names.filter((name) => reached.get(name) !== 'kept' && !withoutFilter.has(name))).toEqual([])
  }, 120_000)
})

/** Whether another user can run this checkout and make namespaces. */
const program = fileURLToPath(new URL('escape-as-user.fixture.ts', import.meta.url))
const ordinary = { uid: 65_534, gid: 65_534 }
const mayRun =
  permitted &&
  spawnSync(process.execPath, ['-e', 'require("fs").readFileSync(process.argv[1])', program], ordinary).status === 0 &&
  spawnSync('/usr/bin/unshare', ['-Ur', 'true'], ordinary).status === 0
const attempted = z.array(z.tuple([z.string(), z.string()]))

describe.skipIf(!mayRun)('a program in a container of an ordinary user', () => {
  it('does not get out either', async () => {
    const env = { PATH: '/usr/bin:/bin' }
    const child = spawn(process.execPath, [program], {
      ...ordinary,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: '/',
    })
    const said = z.record(z.string(), attempted).parse(JSON.parse(await text(child.stdout)))
    expect(Object.keys(said)).toEqual(['root', 'other', 'exec'])
    for (const results of Object.values(said)) {
      const reached = new Map(results)
      expect(names.filter((name) => reached.get(name) !== 'kept')).toEqual([])
    }
  }, 120_000)
})
