import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { ManagementStage } from '../../management-stage.fixture.ts'
import { ConsoleStage } from '../console-stage.fixture.ts'

const stage = new ManagementStage()

describe('models that are uploaded by the console', () => {
  let console: ConsoleStage
  const clock = new FakeClock()

  beforeEach(async () => {
    console = new ConsoleStage(stage, clock)
    await console.start()
    await console.enter()
  })
  afterEach(() => console.leave())

  const model = {
    name: 'mine',
    files: [
      { name: 'a.gguf', bytes: 4 },
      { name: 'b.json', bytes: 2 },
    ],
  }
  const piece = (file: string, at: number, bytes: string) => console.send(`uploads/mine/${file}?at=${at}`, 'PUT', bytes)

  it('come in pieces that everybody sees, and become a Model with the last byte', async () => {
    const events = console.live()
    await events.next()
    expect(await console.send('uploads', 'POST', model)).toMatchObject({
      json: { data: { model: 'mine', received: { 'a.gguf': 0, 'b.json': 0 } } },
    })
    await piece('a.gguf', 0, 'GG')
    await clock.advance(200)
    expect(await events.next()).toMatchObject({
      data: { changed: { 'pull/mine': { state: 'fetching', bytes: 2, totalBytes: 6 } } },
    })
    // As after a connection that broke: what is there is asked for, and sending goes on from there.
    expect(await piece('a.gguf', 0, 'GG')).toMatchObject({ status: 409 })
    expect((await console.ask('uploads/mine')).json.data.received).toEqual({ 'a.gguf': 2, 'b.json': 0 })
    await piece('a.gguf', 2, 'UF')
    expect(console.written).toEqual([])
    await piece('b.json', 0, '{}')
    expect(console.uploaded.get('mine')?.toString()).toBe('GGUF{}')
    expect(console.written).toMatchObject([['create', { spec: { url: 'pvc://userdata/models/mine' } }]])
    expect(console.changes).toMatchObject([{ verb: 'create', object: { resource: 'models', name: 'mine' } }])
    expect((await console.ask('uploads/mine')).status).toBe(404)
  })

  it.each([
    ['no name', { ...model, name: 'A B' }, 'name'],
    ['no file', { ...model, files: [] }, 'at least one'],
    ['a path for a file', { ...model, files: [{ name: '../a.gguf', bytes: 1 }] }, 'plain file name'],
    ['a hidden file', { ...model, files: [{ name: '.a.gguf', bytes: 1 }] }, 'plain file name'],
    ['one file twice', { ...model, files: [model.files[0], model.files[0]] }, 'different names'],
    ['nothing', { ...model, files: [{ name: 'a.gguf', bytes: 0 }] }, 'empty'],
  ])('are refused with %s', async (_name, body, words) => {
    const refused = await console.send('uploads', 'POST', body)
    expect(refused).toMatchObject({ status: 400, json: { msg: expect.stringContaining(words) } })
    expect([...console.uploaded]).toEqual([])
  })

  const isGone = async (words: string) => {
    await expect.poll(() => [...console.uploaded.values()]).toEqual([undefined])
    expect(await console.live().next()).toMatchObject({
      data: { changed: { 'pull/mine': { state: 'failed', message: expect.stringContaining(words) } } },
    })
    expect((await console.ask('uploads/mine')).status).toBe(404)
    expect(console.written).toEqual([])
  }

  it('leave nothing behind when they are stopped', async () => {
    await console.send('uploads', 'POST', model)
    expect(await console.send('uploads', 'POST', model)).toMatchObject({ status: 429 })
    await piece('a.gguf', 0, 'GG')
    await console.send('pulls/mine', 'DELETE')
    await isGone('stopped by hand')
  })

  it('leave nothing behind when whoever sends has left', async () => {
    await console.send('uploads', 'POST', model)
    await piece('a.gguf', 0, 'GG')
    await clock.advance(119_000)
    expect((await piece('a.gguf', 2, 'U')).status).toBe(200)
    await clock.advance(119_000)
    expect((await console.ask('uploads/mine')).status).toBe(200)
    await clock.advance(1_000)
    await isGone('Nothing came for 120 seconds')
  })

  it('leave nothing behind when they can be no model', async () => {
    await console.send('uploads', 'POST', model)
    expect(await piece('a.gguf', 0, 'bad')).toMatchObject({ status: 400 })
    await isGone('it is bad')
  })

  it('leave nothing behind when the cluster does not take the Model', async () => {
    await console.start({
      client: { ...console.client, create: () => Promise.reject(new Error('it is full')) },
    })
    await console.enter()
    await console.send('uploads', 'POST', { ...model, files: [{ name: 'a.gguf', bytes: 4 }] })
    expect((await piece('a.gguf', 0, 'GGUF')).status).toBe(500)
    await isGone('it is full')
  })

  it('are not offered where no files are kept', async () => {
    await console.start({ uploads: undefined })
    await console.enter()
    expect((await console.ask('session')).json.data).toMatchObject({ mayFetch: true, mayUpload: false })
    expect(await console.send('uploads', 'POST', model)).toMatchObject({ status: 501 })
  })
})
