import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { isolationModes } from '../../src/node/isolation/permitted-modes.fixture.ts'
import { kubectlPath, runProgram } from '../support/programs.ts'
import { SluiceProcess, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

const permitted = isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is)
const canTalk = permitted && kubectlPath !== undefined && findProgram('script') !== undefined
const flags = ['--no-demo-model', '--no-gateway']
const patienceMs = 30_000

describe.skipIf(!canTalk)('people at a Pod', () => {
  let data: string
  let sluice: SluiceProcess
  let image = ''
  const children: ChildProcess[] = []

  const options = () => ['--kubeconfig', sluice.kubeconfig, '--namespace', 'default']
  const kubectl = async (args: string, input?: string) => {
    const { code, stdout, stderr } = await runProgram(kubectlPath ?? '', [...options(), ...args.split(' ')], input)
    if (code !== 0) throw new Error(stderr)
    return stdout
  }
  /** Runs kubectl in a terminal of 33 lines. */
  const sitDown = (args: string, env: Record<string, string> = {}) => {
    const command = `stty cols 99 rows 33; ${[kubectlPath ?? '', ...options()].join(' ')} ${args}`
    const words = ['--quiet', '--return', '--command', command, '/dev/null']
    const child = spawn('script', words, { env: { ...process.env, SHELL: '/bin/sh', ...env } })
    children.push(child)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const sees = (what: string) =>
      until(`"${what}"`, patienceMs, () => said.includes(what)).catch((error: unknown) => {
        throw new Error(`all that was seen: ${said}`, { cause: error })
      })
    // The terminal echoes what is typed, so expected answers must not look like it.
    const type = (text: string) => child.stdin.write(`${text}\n`)
    return { child, sees, type, said: () => said }
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-people-'))
    sluice = await SluiceProcess.start(data, flags)
    image = `${sluice.endpoints.registry}/sluice/llama-cpp:1`
    const main = {
      name: 'main',
      image,
      command: ['sh'],
      stdin: true,
      tty: true,
      volumeMounts: [{ name: 'fast', mountPath: '/fast' }],
    }
    const volumes = [{ name: 'fast', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }]
    const spec = { containers: [main], volumes, terminationGracePeriodSeconds: 0 }
    await kubectl('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shell' }, spec }))
    await kubectl('wait --for=condition=Ready pod/shell --timeout=60s')
  })

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  afterAll(async () => {
    if (sluice) await kubectl('delete pod --all --force --grace-period=0').catch(() => {})
    await sluice?.stop().catch(() => {})
    sluice?.destroy()
    for (const pid of processesMentioning(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
  })

  describe.each([
    ['WebSockets', {}],
    ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' }],
  ])('by kubectl over %s', (protocol, env) => {
    it('run one, talk to it in a terminal of the right size, and learn how it ended', async () => {
      const name = `run-${protocol.toLowerCase()}`
      const { child, sees, type, said } = sitDown(
        `run ${name} -it --rm --restart=Never --image=${image} --command -- sh`,
        env,
      )
      await sees('press')
      type('echo $((6 * 7))')
      await sees('42')
      // kubectl sends the size separately from what is typed: on a busy machine it may arrive later.
      await until('the size of the terminal', patienceMs, () => {
        type('echo at $(stty size)')
        return said().includes('at 33 99')
      })
      type('exit 6')
      const [code]: unknown[] = await once(child, 'close')
      expect(code).toBe(6)
    })
  })

  it('leave, and find everything as it was after Sluice was killed and started again', async () => {
    const before = sitDown('attach -it shell')
    await before.sees('press')
    before.type('word=re; echo kept >/fast/file; echo "$word"ady')
    await before.sees('ready')
    before.child.kill('SIGKILL')
    await sluice.killHard()
    sluice = await SluiceProcess.start(data, flags)
    const after = sitDown('attach -it shell')
    await after.sees('press')
    after.type('echo "$word"membered and $(cat /fast/file)')
    await after.sees('remembered and kept')
    expect(await kubectl('logs shell')).toContain('ready\r\n')
    expect(await kubectl('get pod shell -o jsonpath={.status.containerStatuses[0].restartCount}')).toBe('0')
  }, 120_000)

  it.runIf(process.getuid?.() === 0)('look at one with a container of their own, among its processes', async () => {
    const { child, sees, type } = sitDown(`debug -it shell --image=${image} --target=main -c look -- sh`)
    await sees('press')
    type(`tr '\\0' ' ' </proc/2/cmdline; echo is $((40 + 2))`)
    await sees('sh is 42')
    type('exit')
    await once(child, 'close')
    const state = 'jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}'
    await until('its end', patienceMs, async () => (await kubectl(`get pod shell -o ${state}`)) === '0')
    expect(await kubectl('get pod shell -o jsonpath={.status.phase}')).toBe('Running')
    expect(await kubectl('logs shell -c look')).toContain('sh is 42')
  })

  it('look at a copy of one, and at a node, in a container of their own', async () => {
    const name = await kubectl('get nodes -o jsonpath={.items[0].metadata.name}')
    for (const where of ['shell --copy-to=copy', `node/${name} --profile=baseline`]) {
      const { child, sees, type, said } = sitDown(`debug -it ${where} --image=${image} -- sh`)
      await sees('press')
      type('echo is $((40 + 2))')
      await sees('is 42')
      expect(said()).not.toContain('Warning')
      child.kill('SIGKILL')
    }
  })

  it('are told what to do instead, where they ask for more than a container may have', async () => {
    const name = await kubectl('get nodes -o jsonpath={.items[0].metadata.name}')
    await kubectl(`debug node/${name} --image=${image} -- sh`)
    const refused = 'get events --field-selector reason=UnsupportedPod -o jsonpath={.items[*].message}'
    await until('the Event', patienceMs, async () => (await kubectl(refused)) !== '')
    expect(await kubectl(refused)).toMatch(
      /^spec\.host\w+ is not supported .* with kubectl debug, --profile=baseline does\.$/,
    )
    const { sees } = sitDown(`debug -it shell --profile=general --image=${image} -c traces -- sh`)
    await sees('SYS_PTRACE would reach beyond the container: leave it out; with kubectl debug, --profile=baseline does')
  })

  it('leave nothing behind', async () => {
    await kubectl('delete pod --all --grace-period=0 --force')
    const isMounted = () => readFileSync('/proc/self/mountinfo', 'utf8').includes(data)
    await expect.poll(isMounted, { timeout: patienceMs }).toBe(false)
  })
})
