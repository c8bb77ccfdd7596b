import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { isStatusError } from '../../resources/status-error.ts'
import { LargeYaml } from './large-yaml.ts'

/** Would take many seconds to read; refused after ten. */
const endless = `a: ${'['.repeat(400_000)}`

it('does not go on reading for a client that has left, and lets the next one begin', { timeout: 9_000 }, async () => {
  const large = new LargeYaml()
  const client = new AbortController()
  const given = large.parse(endless, { signal: client.signal })
  const next = large.parse('a: b\n')
  expect(large.waiting).toBe(2)
  await nextTurn()
  client.abort()
  await expect(given).rejects.toSatisfy((error) => isStatusError(error, 'ServiceUnavailable'))
  await expect(next).resolves.toMatchObject({ value: { a: 'b' } })
  expect(large.waiting).toBe(0)
})

it('gives up a place in the line at once when its client leaves or the server stops', async () => {
  const large = new LargeYaml()
  const [first, second] = [new AbortController(), new AbortController()]
  const reading = large.parse(endless, { signal: first.signal })
  const waiting = large.parse(endless, { signal: second.signal })
  second.abort()
  await expect(waiting).rejects.toSatisfy((error) => isStatusError(error, 'ServiceUnavailable'))
  expect(large.waiting).toBe(1)
  first.abort()
  await expect(reading).rejects.toSatisfy((error) => isStatusError(error, 'ServiceUnavailable'))
  const late = large.parse('a: b', { signal: second.signal })
  await expect(late).rejects.toSatisfy((error) => isStatusError(error, 'ServiceUnavailable'))
})

it('refuses more fields than may be sent without bringing them over', async () => {
  const many = Array.from({ length: 200 }, (_none, index) => `k${index}: v\n`).join('')
  const refused = new LargeYaml().parse(many, { mostValues: 100 })
  await expect(refused).rejects.toSatisfy((error) => isStatusError(error, 'RequestEntityTooLarge'))
})
