import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataFolder } from '../data/data-directory.ts'
import { ClusterFolders } from './cluster-folders.ts'

describe('ClusterFolders', () => {
  let root: string
  let folders: ClusterFolders

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-folders-'))
    folders = new ClusterFolders(new DataFolder(root))
  })

  afterEach(() => rmSync(root, { recursive: true }))

  it('finds what a cluster had, for its own enterprise only', () => {
    const made = folders.make('team', 'acme')
    expect(made.id).toMatch(/^vks[bcdfghjkmnpqrstvwxz2-9]{9}$/)
    expect(new ClusterFolders(new DataFolder(root)).find('team', 'acme')).toMatchObject({
      id: made.id,
      adminToken: made.adminToken,
    })
    expect(folders.find('team', 'other')).toBeUndefined()
    expect(folders.find('another', 'acme')).toBeUndefined()
  })

  it('gives every cluster another ID and another token', () => {
    const made = Array.from({ length: 100 }, (_, index) => folders.make(`c${index}`, 'acme'))
    expect(new Set(made.map(({ id }) => id)).size).toBe(100)
    expect(new Set(made.map(({ adminToken }) => adminToken)).size).toBe(100)
  })

  it('does not begin anew with nothing where what it has cannot be read, and has the others all the same', () => {
    const lost = folders.make('lost', 'acme')
    folders.make('well', 'acme')
    writeFileSync(lost.folder.path('cluster.json'), '{"id"')
    expect(folders.find('well', 'acme')).toBeDefined()
    expect(() => folders.find('lost', 'acme')).toThrow(lost.folder.path('cluster.json'))
  })

  it('removes everything of one that is purged, also what a killed removal left', async () => {
    const made = folders.make('team', 'acme')
    new DataFolder(join(root, 'clusters')).folder('.removed-old', 'volumes')
    await folders.purge(made)
    expect(readdirSync(join(root, 'clusters'))).toEqual([])
    expect(folders.find('team', 'acme')).toBeUndefined()
    await folders.purge(made)
    expect(existsSync(join(root, 'clusters'))).toBe(true)
  })
})
