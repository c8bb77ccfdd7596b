import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, describe, expect, it } from 'vitest'
import { lookForMarks } from './process-identity.ts'
import { ProcessSearch } from './process-search.ts'

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function start(env: Record<string, string>): Promise<number> {
  const child = spawn('/bin/sleep', ['100'], { env })
  children.push(child)
  await once(child, 'spawn')
  return child.pid ?? 0
}

describe('ProcessSearch', () => {
  it('tells everybody who asks at once of those they asked for', async () => {
    const uid = `search-${process.pid}`
    const first = await start({ UID_MARK: uid, NAME_MARK: 'a' })
    const second = await start({ UID_MARK: uid, NAME_MARK: 'ab' })
    const search = new ProcessSearch()
    const found = await Promise.all(
      [[`UID_MARK=${uid}`, 'NAME_MARK=a'], [`UID_MARK=${uid}`], ['UID_MARK=nobody']].map((entries) =>
        search.find(entries),
      ),
    )
    const pids = found.map((list) => new Set(list.map(({ pid }) => pid)))
    expect(pids).toEqual([new Set([first]), new Set([first, second]), new Set()])
  })

  it('gives others a turn while it looks at many processes', async () => {
    const mine = await Promise.all(Array.from({ length: 250 }, () => start({ CROWD_MARK: String(process.pid) })))
    const look = lookForMarks([[`CROWD_MARK=${process.pid}`]])
    expect(look.next().done).toBe(false)
    const found = await new ProcessSearch().find([`CROWD_MARK=${process.pid}`])
    expect(new Set(found.map(({ pid }) => pid))).toEqual(new Set(mine))
  })
})
