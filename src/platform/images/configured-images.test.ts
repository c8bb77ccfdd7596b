import { describe, expect, it } from 'vitest'
import { createLogger } from '../../foundation/log.ts'
import { ConfiguredImages } from './configured-images.ts'

const log = createLogger({ level: 'silent' })
const images = { 'r/a': { oci: '/srv/a' }, 'r/b': { command: ['x'] }, 'r/c': { oci: '/srv/c', ref: 'v1' } }

describe('configured images', () => {
  it('are imported one after another, and one that fails keeps nobody from the next', async () => {
    const seen: string[][] = []
    const run = async (words: readonly string[]) => {
      seen.push([...words])
      if (words.includes('/srv/a')) throw new Error('damaged')
    }
    const configured = new ConfiguredImages({ images, dataDirectory: '/data', log, run })
    configured.start()
    await configured.finished
    expect(seen).toEqual([
      ['image', 'import', '/srv/a', '--data', '/data', '--name', 'r/a:latest'],
      ['image', 'import', '/srv/c', '--data', '/data', '--name', 'r/c:latest', '--ref', 'v1'],
    ])
  })

  it('are given up when everything stops', async () => {
    const seen: string[] = []
    const run = (words: readonly string[], signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        seen.push(words[2] ?? '')
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      })
    const configured = new ConfiguredImages({ images, dataDirectory: '/data', log, run })
    configured.start()
    await configured.stop()
    expect(seen).toEqual(['/srv/a'])
  })
})
