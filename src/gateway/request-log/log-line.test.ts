import { describe, expect, it } from 'vitest'
import { createLogger } from '../../foundation/log.ts'
import { lineEnding, LineLog } from './log-line.ts'

describe('LineLog', () => {
  it('writes a line that reads like the others, and none below the level', () => {
    const lines: Array<Record<string, unknown>> = []
    const log = createLogger({ destination: { write: (line: string) => void lines.push(parsed(line)) } })
    const members = new LineLog(log)
    const line = members.begin('warn', Date.now())
    line?.text(',"model":"')
    line?.text('ä'.repeat(5_000))
    line?.bytes(Buffer.from('","status":'))
    line?.number(200)
    line?.text(',"complete":false')
    line?.end(lineEnding('request'))
    expect(members.begin('debug', Date.now())).toBeUndefined()
    log.warn({ model: 'ä'.repeat(5_000), status: 200, complete: false }, 'request')
    expect(lines).toHaveLength(2)
    const [flat, usual] = lines
    expect(Object.keys(flat ?? {})).toEqual(Object.keys(usual ?? {}))
    expect({ ...flat, time: '' }).toEqual({ ...usual, time: '' })
    expect(flat?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
})

function parsed(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
