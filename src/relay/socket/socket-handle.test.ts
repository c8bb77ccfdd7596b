import { once } from 'node:events'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { afterEach, expect, it } from 'vitest'
import { OpenedEnds } from './socket-ends.fixture.ts'
import { handleOf, isUnderWay, readSecureWith, secureHandleOf, writeRequest } from './socket-handle.ts'

const ends = new OpenedEnds()
afterEach(() => ends.clear())

it('is there for both ends of a plain connection', async () => {
  const { accepted, far } = await ends.open()
  expect(handleOf(accepted)).toBeDefined()
  expect(handleOf(far)).toBeDefined()
})

it('is not there for what is not open, or has TLS in between', async () => {
  const { accepted } = await ends.open()
  expect(handleOf(new Socket())).toBeUndefined()
  expect(handleOf(new TLSSocket(accepted, { isServer: true }))).toBeUndefined()
  const closed = once(accepted, 'close')
  accepted.destroy()
  await closed
  expect(handleOf(accepted)).toBeUndefined()
})

it('is there for a connection with TLS, and what Node needs to read it into a buffer of ours', async () => {
  const { accepted } = await ends.open()
  expect(secureHandleOf(accepted)).toBeUndefined()
  const secure = new TLSSocket(accepted, { isServer: true })
  secure.on('error', () => {})
  expect(secureHandleOf(secure)).toBeDefined()
  expect(readSecureWith(secure, { buffer: Buffer.alloc(65_536), callback: () => true })).toBe(true)
})

it('says whether a write goes on after its call', async () => {
  const { accepted, far } = await ends.open()
  far.pause()
  const handle = handleOf(accepted)
  expect(handle?.writeBuffer(writeRequest(), Buffer.from('hello'))).toBe(0)
  expect(isUnderWay()).toBe(false)
  const last = writeRequest()
  const done = new Promise<number>((resolve) => {
    last.oncomplete = resolve
  })
  // More than the system holds for a connection that nobody reads from.
  last.buffer = Buffer.alloc(64_000_000)
  expect(handle?.writeBuffer(last, last.buffer)).toBe(0)
  expect(isUnderWay()).toBe(true)
  far.resume()
  expect(await done).toBe(0)
})
