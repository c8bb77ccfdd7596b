import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inspect, writeAndKill } from './crash-round.fixture.ts'

const rounds = 50
const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe(`a store whose process is killed ${rounds} times in the middle of concurrent writes`, () => {
  it('loses nothing it acknowledged, uses no revision twice, and lets watches go on from where they were', async () => {
    const path = join(folder, 'sluice.db')
    const used = new Map<number, string>()
    let revision = 0
    for (let round = 0; round < rounds; round += 1) {
      const told = await writeAndKill(path, round, 1 + ((round * 37) % 400))
      for (const { revision, name, value } of told) {
        expect(used.get(revision), `revision ${revision} was used twice`).toBeUndefined()
        used.set(revision, `${name} ${value}`)
      }
      const damage = await inspect(path, told, revision)
      expect(damage, `round ${round}`).toMatchObject({ lost: [], gaps: [] })
      expect(damage.revision).toBeGreaterThanOrEqual(Math.max(...told.map(({ revision }) => revision)))
      revision = damage.revision
    }
    expect(used.size).toBeGreaterThan(rounds * 100)
  })
})
