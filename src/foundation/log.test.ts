import { describe, expect, it } from 'vitest'
import { createLogger } from './log.ts'

describe('createLogger', () => {
  it('keeps secrets out of the log, at the top and one level down', () => {
    const lines: string[] = []
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } })
    log.info(
      { token: 'sesame', request: { authorization: 'sesame', path: '/x' }, secret: { data: { a: 'sesame' } } },
      'done',
    )
    expect(lines.join('')).not.toContain('sesame')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'done', request: { path: '/x' } })
  })
})
