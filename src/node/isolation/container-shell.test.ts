import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { isAlive, readProcess } from '../processes/process-identity.ts'
import { machineEntry } from './container-entry.fixture.ts'
import { detectIsolation } from './detect-isolation.ts'
import { type NamespaceTools, namespaceCommand } from './isolated-command.ts'
import { ContainerShell } from './container-shell.ts'
import { machineRootAhead } from './container-view.ts'
import { entryMessage } from './entry-steps.ts'
import { isolationModes } from './permitted-modes.fixture.ts'
import { SpareShell } from './spare-shell.ts'

let folder: string
let tools: NamespaceTools
let exits: Promise<unknown>[]
const machine = { nextNetwork: () => '', onNextNetwork: () => () => {} }

const permitted = isolationModes.some((mode) => mode.mode === 'namespaces' && mode.permitted)

describe.skipIf(!permitted)('a shell in namespaces of its own', () => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-shell-'))
    const isolation = await detectIsolation(join(folder, 'try'), 'namespaces')
    if (isolation.mode !== 'namespaces') throw new Error('no namespaces')
    tools = isolation.tools
    exits = []
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function script(words: readonly string[], env: Record<string, string> = {}, workingDir = '/') {
    return machineEntry(tools, folder, { words, env, workingDir })
  }

  async function outputOf(words: readonly string[], env?: Record<string, string>): Promise<string> {
    const shell = new ContainerShell(namespaceCommand(tools, folder), { OWN: 'of the shell' })
    const exited = once(shell.child, 'exit')
    expect(await shell.run(script(words, env), systemClock)).toBe('')
    await exited
    return readFileSync(join(folder, 'output'), 'utf8')
  }

  function startedInto(started: ContainerShell[]): ContainerShell {
    const shell = new ContainerShell(namespaceCommand(tools, folder))
    started.push(shell)
    // Listened for from the beginning, since it may end before anybody asks.
    exits.push(once(shell.child, 'exit'))
    return shell
  }

  it('hands on words and variables exactly, whatever is in them', async () => {
    const strange = `it's "quoted" $HOME \`id\` \\ * \n;|& é`
    const env = {
      PLAIN: strange,
      root: 'r',
      table: 't',
      code: 'c',
      'my.dotted-name': strange,
      UID: '7',
      IFS: 'x',
      PATH: '/bin',
    }
    const print = 'for (const [n, v] of Object.entries(process.env)) console.log(JSON.stringify([n, v]))'
    const words = [process.execPath, '-e', `${print}; console.log(JSON.stringify(process.argv.slice(1)))`, strange, '']
    const lines = (await outputOf(words, env))
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    for (const entry of Object.entries(env)) expect(lines).toContainEqual(entry)
    expect(lines.at(-1)).toEqual([strange, ''])
  })

  it('says what kept the program from being run, and leaves its exit code for whoever comes later', async () => {
    await outputOf(['/bin/sh', '-c', 'exit 7'])
    expect(readFileSync(join(folder, 'exit'), 'utf8')).toBe('started\n7\n')
    const elsewhere = script(['/bin/true'], {}, '/no/such/folder')
    expect(await new ContainerShell(namespaceCommand(tools, folder)).run(elsewhere, systemClock)).toContain(
      '/no/such/folder',
    )
  })

  it('does not end by a signal for the program, however early it comes', async () => {
    const terminate = 1n << 14n
    const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    for (let round = 0; round < 20; round++) {
      const shell = new ContainerShell(namespaceCommand(tools, folder))
      const exited = once(shell.child, 'exit')
      const pid = shell.child.pid ?? 0
      const giveUpAt = Date.now() + 20_000
      // Without a pause, to see it as soon as it has forked.
      while (childrenOf(pid) === '' && Date.now() < giveUpAt);
      const [, caught = ''] = /^SigCgt:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      expect(BigInt(`0x${caught}`) & terminate).toBe(terminate)
      shell.discard()
      await exited
    }
  })

  it('runs nothing of a script that did not come whole', async () => {
    const shell = new ContainerShell(namespaceCommand(tools, folder))
    const whole = script(['/bin/sh', '-c', 'echo ran'])
    const cut = { ...whole, program: whole.program.slice(0, -1) }
    expect(await shell.run(cut, systemClock)).not.toBe('')
    expect(readFileSync(join(folder, 'output'), 'utf8')).toBe('')
  })

  it('runs no program that must not run, and runs one only when it may', async () => {
    const print = script(['/bin/sh', '-c', 'echo ran'])
    const refused = new ContainerShell(namespaceCommand(tools, folder))
    expect(await refused.run(print, systemClock, Promise.reject(new Error('no')))).not.toBe('')
    const shell = new ContainerShell(namespaceCommand(tools, folder))
    const exited = once(shell.child, 'exit')
    const permitted = Promise.withResolvers<void>()
    const running = shell.run(print, systemClock, permitted.promise)
    const mounted = () => readFileSync(`/proc/${shell.child.pid}/task/${shell.child.pid}/children`, 'utf8')
    await expect.poll(mounted).not.toBe('')
    expect(readFileSync(join(folder, 'output'), 'utf8')).toBe('')
    permitted.resolve()
    expect(await running).toBe('')
    await exited
    expect(readFileSync(join(folder, 'output'), 'utf8')).toBe('ran\n')
  })

  it.skipIf(process.getuid?.() !== 0)('has the base of a root made before it knows of its container', async () => {
    const ahead = (name: string) => {
      const base = join(folder, name)
      mkdirSync(base)
      return { folder: base, message: entryMessage(machineRootAhead(base)), groups: [], letGo: () => {} }
    }
    const own = join(folder, 'own')
    const words = ['/bin/sh', '-c', 'ls /etc/passwd; touch /mine; ls /mine']
    const entry = { words, env: { PATH: '/bin' }, output: join(folder, 'output'), root: join(own, 'root') }
    const shell = new ContainerShell(namespaceCommand(tools, folder), {}, { base: ahead('first') })
    const exited = once(shell.child, 'exit')
    expect(await shell.run(machineEntry(tools, own, entry), systemClock)).toBe('')
    await exited
    expect(readFileSync(join(folder, 'output'), 'utf8')).toBe('/etc/passwd\n/mine\n')
    expect([existsSync(join(folder, 'first')), existsSync(join(own, 'root/mine'))]).toEqual([false, true])
    // A container with another kind of root makes that one, and the base is removed.
    const other = new ContainerShell(namespaceCommand(tools, folder), {}, { base: ahead('second') })
    const ended = once(other.child, 'exit')
    const elsewhere = machineEntry(tools, join(folder, 'other'), { words: ['/bin/true'] })
    expect(await other.run(elsewhere, systemClock)).toBe('')
    await ended
    await expect.poll(() => existsSync(join(folder, 'second'))).toBe(false)
  })

  it('is made ahead, taken once, and replaced later', async () => {
    const clock = new FakeClock()
    const started: ContainerShell[] = []
    const spare = new SpareShell({ clock, start: () => startedInto(started), ...machine })
    spare.refillSoon()
    await clock.advance(1000)
    expect(started).toHaveLength(1)
    expect(spare.take('')).toBe(started[0])
    // The next spare shell is started, but not waited for.
    expect(spare.take('')).toBe(started[1])
    await clock.advance(1000)
    expect(started).toHaveLength(3)
    const [, , third] = started
    expect(third?.isWaiting).toBe(true)
    const alive = started.map(({ child }) => readProcess(child.pid ?? 0))
    started[0]?.discard()
    started[1]?.discard()
    spare.close()
    await Promise.all(exits)
    expect(alive.map((facts) => facts && isAlive(facts))).toEqual([false, false, false])
    await clock.advance(1000)
    expect(started).toHaveLength(3)
  })

  it('is not handed out when it has ended meanwhile', async () => {
    const clock = new FakeClock()
    const started: ContainerShell[] = []
    const spare = new SpareShell({ clock, start: () => startedInto(started), ...machine })
    spare.refillSoon()
    await clock.advance(1000)
    const [first] = started
    if (!first) throw new Error('there is none')
    const exited = once(first.child, 'exit')
    process.kill(-(first.child.pid ?? 0), 'SIGKILL')
    await exited
    const second = spare.take('')
    expect(second).toBe(started[1])
    expect(second.isWaiting).toBe(true)
    second.discard()
    spare.close()
  })

  it('waits in the network of the next Pod, and in no other', async () => {
    const clock = new FakeClock()
    const started: ContainerShell[] = []
    const networks: string[] = []
    let next: string | undefined
    const start = (network: string) => {
      networks.push(network)
      return startedInto(started)
    }
    let told = () => {}
    const onNextNetwork = (listener: () => void) => {
      told = listener
      return () => {}
    }
    const spare = new SpareShell({ clock, start, nextNetwork: () => next, onNextNetwork })
    spare.refillSoon()
    await clock.advance(1000)
    expect(networks).toEqual([])
    next = 'first'
    told()
    await clock.advance(1000)
    expect(networks).toEqual(['first'])
    // A second container of a running Pod, in another network than the expected one.
    expect(spare.take('other')).toBe(started[1])
    expect(spare.take('first')).toBe(started[0])
    next = 'second'
    await clock.advance(1000)
    next = 'third'
    expect(spare.take('fourth')).toBe(started[3])
    await clock.advance(1000)
    expect(networks).toEqual(['first', 'other', 'second', 'fourth', 'third'])
    for (const shell of started) shell.discard()
    spare.close()
    await Promise.all(exits)
  })
})
