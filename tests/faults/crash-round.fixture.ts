import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type SqliteStore, openSqliteStore } from '../../src/store/sqlite-store.ts'
import type { StoreEvent } from '../../src/store/store.ts'

export interface Acknowledged {
  readonly revision: number
  readonly name: string
  /** `-` when the object was deleted. */
  readonly value: string
}

/**
 * Lets the writers run until `enough` writes were acknowledged, kills them in the middle of their work, and returns all
 * acknowledged writes.
 */
export async function writeAndKill(path: string, round: number, enough: number): Promise<readonly Acknowledged[]> {
  const fixture = join(import.meta.dirname, 'store-crash.fixture.ts')
  const child = spawn(process.execPath, [fixture, path, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let output = ''
  let lines = 0
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    const text = String(chunk)
    output += text
    lines += text.split('\n').length - 1
    if (lines > enough) child.kill('SIGKILL')
  }
  await exited
  // The last piece may be half a line, which does not count as acknowledged.
  return output
    .split('\n')
    .slice(1, -1)
    .map((line) => {
      const [revision = '', name = '', value = ''] = line.split(' ')
      return { revision: Number(revision), name, value }
    })
}

/** What a crash did to a store, as far as it contradicts what was acknowledged. */
export interface Damage {
  readonly revision: number
  readonly lost: readonly string[]
  readonly gaps: readonly string[]
}

/**
 * Opens the file as a restart does and compares it with what was acknowledged. `told` is everything of the last round.
 */
export async function inspect(path: string, told: readonly Acknowledged[], from: number): Promise<Damage> {
  const store = await openSqliteStore({ path, historyLimit: 2_000 })
  try {
    const events = await eventsAfter(store, from)
    const byRevision = new Map(events.map((event) => [event.revision, event]))
    const lost = told.filter(({ revision, name, value }) => {
      const event = byRevision.get(revision)
      return event?.key.name !== name || valueOf(event) !== value
    })
    // All writes were to these objects, so a watch of them has every revision exactly once.
    const gaps = events.filter((event, index) => event.revision !== from + index + 1)
    const last = new Map(events.map((event) => [event.key.name, event]))
    const stale = [...last.values()].filter(({ key, type, revision }) =>
      type === 'deleted' ? store.get(key) !== undefined : store.get(key)?.revision !== revision,
    )
    return {
      revision: store.revision,
      lost: lost.map(({ revision, name }) => `${revision} ${name}`),
      gaps: [...gaps, ...stale].map(({ revision, key }) => `${revision} ${key.name}`),
    }
  } finally {
    await store.close()
  }
}

async function eventsAfter(store: SqliteStore, from: number): Promise<StoreEvent[]> {
  const events: StoreEvent[] = []
  if (store.revision === from) return events
  const enough = new AbortController()
  for await (const event of store.watch({ resource: 'configmaps' }, from, enough.signal)) {
    events.push(event)
    if (event.revision >= store.revision) enough.abort()
  }
  return events
}

function valueOf(event: StoreEvent): string {
  const data: unknown = event.object['data']
  if (event.type === 'deleted') return '-'
  return typeof data === 'object' && data !== null && 'value' in data ? String(data.value) : ''
}
