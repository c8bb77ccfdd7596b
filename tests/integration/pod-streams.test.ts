import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Attach, Cp, Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { NamespaceRelay } from '../../src/node/network/namespace-relay.ts'
import { type Finished, kubectlPath, runProgram } from '../support/programs.ts'
import { SluiceProcess, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

const namespace = 'default'

/** Echoes everything that a client sends, to the last byte, even after the client has ended its side. */
const echo = `require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {}).pipe(socket)
}).listen(7000, process.env.POD_IP)`

/** Whether Pods have their own loopback here. */
const ownLoopback = process.getuid?.() === 0 && NamespaceRelay.find() !== undefined && findProgram('ip') !== undefined
const echoWithin = `${echo}
require('node:net').createServer((socket) => socket.end(socket.remoteAddress)).listen(7002, '127.0.0.1')`

describe.skipIf(kubectlPath === undefined)('streams into Pods', () => {
  let data: string
  let sluice: SluiceProcess
  let config: KubeConfig
  const children: ChildProcess[] = []

  const words = (args: string | readonly string[]) => [
    '--kubeconfig',
    sluice.kubeconfig,
    '--namespace',
    namespace,
    ...(typeof args === 'string' ? args.split(' ') : args),
  ]
  const kubectl = (args: string | readonly string[], input?: string): Promise<Finished> =>
    runProgram(kubectlPath ?? '', words(args), input)
  const done = async (args: string, input?: string) => {
    const { code, stderr } = await kubectl(args, input)
    if (code !== 0) throw new Error(stderr)
  }
  const started = (args: string | readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(kubectlPath ?? '', words(args), { env: { ...process.env, ...env } })
    children.push(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
    return { child, said: () => said }
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-streams-'))
    sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
    config = new KubeConfig()
    config.loadFromFile(sluice.kubeconfig)
    const image = `${sluice.endpoints.registry}/sluice/llama-cpp:1`
    const containers = [
      { name: 'main', image, command: [process.execPath, '-e', ownLoopback ? echoWithin : echo] },
      { name: 'reader', image, stdin: true, command: ['sh', '-c', 'echo begun; while read w; do echo "got $w"; done'] },
    ].map((container) => ({
      ...container,
      env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
    }))
    const initContainers = [{ name: 'setup', image, command: ['echo', 'prepared'] }]
    const web = { metadata: { name: 'web' }, spec: { initContainers, containers, terminationGracePeriodSeconds: 0 } }
    const crash = { name: 'main', image, command: ['sh', '-c', 'echo going down; exit 1'] }
    const crashing = { metadata: { name: 'crashing' }, spec: { containers: [crash] } }
    for (const pod of [web, crashing]) {
      await done('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }))
    }
    await done('wait --for=condition=Ready pod/web --timeout=60s')
  })

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  afterAll(() => {
    sluice?.destroy()
    for (const pid of processesMentioning(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
  })

  describe.each([
    ['WebSockets', {}],
    ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
  ])('by kubectl over %s', (_, env) => {
    const run = async (args: readonly string[], input = '') => {
      const { child, said } = started(args, env)
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      const [code]: unknown[] = await once(child, 'close')
      return { code, said: said() }
    }

    it('run a command: its output, its errors, its exit code', async () => {
      const script = 'echo out; echo err >&2; exit 3'
      const { code, said } = await run(['exec', 'web', '-c', 'main', '--', 'sh', '-c', script])
      expect(code).toBe(3)
      expect(said).toContain('out\n')
      expect(said).toContain('err\n')
      expect(said).toContain('command terminated with exit code 3')
    })

    it('hand over what is typed, to its end', async () => {
      const large = 'words and words\n'.repeat(50_000)
      const { code, said } = await run(['exec', '-i', 'web', '-c', 'main', '--', 'sh', '-c', 'cat; echo over'], large)
      expect(code).toBe(0)
      expect(said).toBe(`${large}over\n`)
    })

    it('end the command when the client goes away', async () => {
      const { child, said } = started(['exec', 'web', '-c', 'main', '--', 'sh', '-c', 'echo on; sleep 47114711'], env)
      await until('the command to run', 20_000, () => said().includes('on\n'))
      child.kill('SIGKILL')
      await expect.poll(() => processesMentioning('47114711'), { timeout: 20_000 }).toEqual([])
    })

    it('forward a port for several connections, each to its last byte, and say what does not answer', async () => {
      const { said, child } = started(['port-forward', 'pod/web', ':7000', ':7001'], env)
      await until('the ports', 20_000, () => said().split('Forwarding from 127').length === 3)
      const [first = 0, second = 0] = [...said().matchAll(/127\.0\.0\.1:(\d+) ->/g)].map(([, port]) => Number(port))
      const answers = ['a', 'b', 'c'].map(async (letter) => {
        const socket = connect({ port: first, host: '127.0.0.1', allowHalfOpen: true })
        socket.end(letter.repeat(300_000))
        return text(socket)
      })
      expect((await Promise.all(answers)).map((answer) => [answer[0], answer.length])).toEqual([
        ['a', 300_000],
        ['b', 300_000],
        ['c', 300_000],
      ])
      connect(second, '127.0.0.1').on('error', () => {})
      await once(child, 'close')
      expect(said()).toMatch(/error forwarding port 7001 to pod web, uid [-\w]+: .*connection refused/)
    })

    it.runIf(ownLoopback)('forward a port that is listened on only within the Pod', async () => {
      const { said } = started(['port-forward', 'pod/web', ':7002'], env)
      await until('the port', 20_000, () => said().includes('Forwarding from 127'))
      const port = Number(/127\.0\.0\.1:(\d+) ->/.exec(said())?.[1])
      const [one, other] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
      expect([await text(one), await text(other)]).toEqual(['127.0.0.1', '127.0.0.1'])
    })
  })

  it('give a terminal that can be talked to', async () => {
    const script = `${kubectlPath} --kubeconfig ${sluice.kubeconfig} -n ${namespace} exec -it web -c main -- sh`
    const args = ['--quiet', '--return', '--command', `stty cols 99 rows 33; ${script}`, '/dev/null']
    const child = spawn('script', args, { env: { ...process.env, SHELL: '/bin/sh' } })
    children.push(child)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await until('the prompt', 20_000, () => /[#$] $/.test(said))
    child.stdin.write('stty size; tty\n')
    await until('the answer', 20_000, () => /33 99\r\n\/dev\/pts\/\d+\r\n/.test(said))
    child.stdin.write('exit 6\n')
    const [code]: unknown[] = await once(child, 'close')
    expect(code).toBe(6)
    expect(said).not.toContain('Cannot set')
  })

  it('copy files both ways', async () => {
    const [source, back] = [join(data, 'source'), join(data, 'back')]
    const content = 'x'.repeat(200_000)
    writeFileSync(source, content)
    const remote = '/tmp/in-the-pod'
    expect(await kubectl(['cp', source, `web:${remote}`, '-c', 'main'])).toMatchObject({ code: 0 })
    expect(await kubectl(['cp', `web:${remote}`, back, '-c', 'main'])).toMatchObject({ code: 0 })
    expect(readFileSync(back, 'utf8')).toBe(content)
  })

  it('attach to what a container says and reads', async () => {
    const { child, said } = started('attach -i web -c reader')
    await until('the attachment', 20_000, () => said().includes('command prompt'))
    child.stdin.write('hello\n')
    await until('the answer', 20_000, () => said().includes('got hello\n'))
    child.kill('SIGKILL')
    const { stdout } = await kubectl('get pod web -o jsonpath={.status.containerStatuses[*].restartCount}')
    expect(stdout).toBe('0 0')
  })

  it('show logs as they are asked for', async () => {
    const shown = async (args: string) => (await kubectl(`logs ${args}`)).stdout
    expect(await shown('web -c setup')).toBe('prepared\n')
    expect(await shown('web -c reader --limit-bytes 3')).toBe('beg')
    expect(await shown('web -c reader --tail 1 --timestamps')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z \S/)
    expect(await shown('web -c reader --since-time 2999-01-01T00:00:00Z')).toBe('')
    expect(await shown('web -c reader --since-time 2020-01-01T00:00:00Z')).toContain('begun\n')
    // kubectl may ask for them in any order.
    const all = await shown('web --all-containers --prefix')
    expect(all).toContain('[pod/web/setup] prepared\n')
    expect(all).toContain('[pod/web/reader] begun\n')
    await until('the crash', 30_000, async () => (await kubectl('logs crashing -p')).stdout === 'going down\n')
  })

  it('are refused in words that users of Kubernetes know', async () => {
    const said = async (args: string) => (await kubectl(args)).stderr
    expect(await said('exec web -c nope -- true')).toContain('container nope is not valid for pod web')
    expect(await said('exec nobody -- true')).toContain('pods "nobody" not found')
    expect(await said('exec web -c setup -- true')).toContain(
      'unable to upgrade connection: container not found ("setup")',
    )
    expect(await said('logs web -c main -p')).toContain('previous terminated container "main" in pod "web" not found')
    expect(await said('port-forward pod/nobody 1:1')).toContain('pods "nobody" not found')
    expect(await said('exec web --as=somebody -- true')).toContain('cannot get resource "pods"')
  })

  describe('by the client library of Kubernetes for Node', () => {
    const exec = async (command: string[], input?: string) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const ended = Promise.withResolvers<V1Status>()
      const stdin = input === undefined ? null : Readable.from([input])
      await new Exec(config).exec(namespace, 'web', 'main', command, stdout, stderr, stdin, false, ended.resolve)
      const status = await ended.promise
      return { status, stdout: await text(stdout), stderr: await text(stderr) }
    }

    it('run commands', async () => {
      expect(await exec(['tr', 'a-z', 'A-Z'], 'shout')).toMatchObject({
        status: { status: 'Success' },
        stdout: 'SHOUT',
      })
      const failed = await exec(['sh', '-c', 'echo no >&2; exit 9'])
      expect(failed.stderr).toBe('no\n')
      expect(failed.status.details?.causes).toEqual([{ reason: 'ExitCode', message: '9' }])
    })

    it('copy files', async () => {
      const source = join(data, 'files')
      mkdirSync(source)
      writeFileSync(join(source, 'a.txt'), 'content')
      await new Cp(config).cpToPod(namespace, 'web', 'main', source, '/tmp')
      const copied = async () => (await kubectl('exec web -c main -- cat /tmp/a.txt')).stdout
      await expect.poll(copied, { timeout: 20_000 }).toBe('content')
    })

    it('attach', async () => {
      const stdout = new PassThrough()
      let said = ''
      stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const stdin = new PassThrough()
      const socket = await new Attach(config).attach(namespace, 'web', 'reader', stdout, null, stdin, false)
      stdin.write('again\n')
      await expect.poll(() => said, { timeout: 20_000 }).toContain('got again\n')
      socket.close()
    })

    it('forward ports', async () => {
      const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()]
      let said = ''
      output.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const socket = await new PortForward(config).portForward(namespace, 'web', [7000], output, errors, input)
      input.write('ping')
      await expect.poll(() => said, { timeout: 20_000 }).toBe('ping')
      if (typeof socket === 'object' && socket && 'close' in socket) socket.close()
    })
  })
})
