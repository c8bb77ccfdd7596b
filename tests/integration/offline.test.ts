import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { SluiceProcess, killIfThere, podProcesses, until } from '../support/sluice-process.ts'

const minutes = (count: number) => count * 60_000

describe('a first start without the internet', () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-offline-'))
  const folder = join(data, 'volumes/userdata/models/smollm2')
  let sluice: SluiceProcess | undefined
  let proxy: Server | undefined

  afterEach(() => {
    sluice?.destroy()
    if (existsSync(join(data, 'node/id'))) for (const pid of podProcesses(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
    proxy?.closeAllConnections()
    proxy?.close()
  })

  /** Everything that is fetched goes through a proxy that does nothing but this. */
  async function startBehind(onConnect: (socket: Socket) => void): Promise<SluiceProcess> {
    proxy = createServer().on('connect', (_request, socket) => onConnect(socket as Socket))
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    sluice = await SluiceProcess.start(data, ['--no-safe-mode'], {
      XDG_CACHE_HOME: join(data, 'cache'),
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: url,
      PIP_PROXY: url,
      PIP_RETRIES: '0',
    })
    return sluice
  }

  function chat({ endpoints }: SluiceProcess): Promise<Response> {
    return fetch(`${endpoints.gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'smollm2', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 }),
      signal: AbortSignal.timeout(minutes(1)),
    })
  }

  const putFile = () => writeTinyModel(join(folder, 'mine.gguf'), { chatTemplate: tinyPlainTemplate })

  it(
    'says in the terminal that the model was not fetched and where to put it, and serves it once it is there',
    async () => {
      const running = await startBehind((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
      await until('the message', minutes(2), () => running.output.includes('could not be fetched'))
      expect(running.output).toMatch(/^sluice: The model smollm2 could not be fetched: .* put .* into (\S+) by hand/m)
      expect(/ into (\S+) by hand/.exec(running.output)?.[1]).toBe(folder)
      expect(existsSync(folder)).toBe(true)
      const refused = await chat(running)
      expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining(folder) as string])
      await putFile()
      await until('an answer', minutes(1), async () => (await chat(running)).status === 200)
      expect(running.output).toMatch(/^sluice: The model smollm2 is there now\.$/m)
    },
    minutes(5),
  )

  it(
    'serves a file that is put there while a fetch hangs, to a request that waits for it',
    async () => {
      const running = await startBehind(() => {})
      const answer = chat(running)
      await putFile()
      expect((await answer).status).toBe(200)
    },
    minutes(5),
  )
})
