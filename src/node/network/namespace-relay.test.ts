import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NamespaceRelay, RelayRefused } from './namespace-relay.ts'
import { mayMakeRules } from './network-stage.fixture.ts'
import { NetworkNames } from './network-names.ts'

const run = promisify(execFile)
const never = new AbortController().signal
const relay = NamespaceRelay.find()

/** Three servers: one echoes everything, one tells who connected, one says nothing. */
const servers = `
const { createServer } = require('node:net')
createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(7000, '127.0.0.1')
createServer((socket) => socket.end(socket.remoteAddress)).listen(7001, '127.0.0.1')
createServer((socket) => socket.on('error', () => {}).on('data', () => {}))
  .listen(7002, '127.0.0.1', () => console.log('listens'))
`

describe.runIf(mayMakeRules && relay)('a relay into a network namespace', () => {
  const name = `sluice-relay-${randomUUID().slice(0, 8)}`
  const namespace = `${NetworkNames.namespaceFolder}/${name}`
  let server: ChildProcess
  const connectTo = (port: number, signal = never) => {
    if (!relay) throw new Error('there is no relay')
    return relay.connect(namespace, port, signal)
  }

  beforeAll(async () => {
    await run('ip', ['netns', 'add', name])
    await run('ip', ['-n', name, 'link', 'set', 'lo', 'up'])
    const words = [`--net=${namespace}`, process.execPath, '-e', servers]
    server = spawn('nsenter', words, { stdio: ['ignore', 'pipe', 'inherit'] })
    if (server.stdout) await once(server.stdout, 'data')
  })
  afterAll(async () => {
    server.kill('SIGKILL')
    await run('ip', ['netns', 'del', name])
  })

  it('carries everything both ways to its last byte, though only one side has said all it has to say', async () => {
    const connection = await connectTo(7000)
    // More than all buffers on the way can hold, and nothing is read before everything is sent.
    const large = 'words and words\n'.repeat(400_000)
    connection.end(large)
    expect(await text(connection)).toBe(large)
  })

  it('comes from the loopback of the namespace, as what is inside does', async () => {
    const connection = await connectTo(7001)
    expect(await text(connection)).toBe('127.0.0.1')
    expect(connection.writable).toBe(true)
    connection.destroy()
  })

  it('says that nobody listens', async () => {
    const refused = connectTo(7009)
    await expect(refused).rejects.toBeInstanceOf(RelayRefused)
    await expect(refused).rejects.toThrow('connection refused')
  })

  it('ends with the connection, whatever the server does', async () => {
    const connection = await connectTo(7002)
    const inside = async () => (await run('ip', ['netns', 'pids', name])).stdout.trim().split('\n').length
    expect(await inside()).toBe(2)
    connection.destroy()
    await expect.poll(inside, { timeout: 5_000 }).toBe(1)
  })

  it('is not begun for who has left', async () => {
    await expect(connectTo(7000, AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
  })
})
