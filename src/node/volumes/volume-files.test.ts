import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configMapSchema } from '../../resources/config-map.ts'
import { podSchema } from '../../resources/pod.ts'
import { secretSchema } from '../../resources/secret.ts'
import { podVolumes } from '../pods/pod-parts.ts'
import { publishFiles } from './published-folder.ts'
import { type VolumeFiles, volumeFiles } from './volume-files.ts'

const references = {
  configMaps: new Map([
    [
      'c',
      configMapSchema.parse({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'c' },
        data: { 'a.conf': 'alpha', 'b.conf': 'beta' },
      }),
    ],
  ]),
  secrets: new Map([
    [
      's',
      secretSchema.parse({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's' },
        data: { key: Buffer.from('hidden').toString('base64') },
      }),
    ],
  ]),
}

function filesOf(source: Record<string, unknown>): VolumeFiles {
  const pod = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'team', labels: { b: '2', a: '1 "quoted"' } },
    spec: {
      containers: [{ name: 'main', resources: { limits: { memory: '1Gi' } } }],
      volumes: [{ name: 'v', ...source }],
    },
  })
  const [volume] = podVolumes(pod)
  if (!volume) throw new Error('no volume')
  const facts = { podIP: '127.64.0.9', hostIP: '127.0.0.1' }
  return volumeFiles(volume, { pod, facts, references, tokens: new Map([['token', 'jwt']]) })
}

const texts = (files: VolumeFiles) => Object.fromEntries([...files].map(([path, { data }]) => [path, data.toString()]))

describe('volumeFiles', () => {
  it('holds all of a ConfigMap, or the chosen keys under chosen paths and modes', () => {
    expect(texts(filesOf({ configMap: { name: 'c' } }))).toEqual({ 'a.conf': 'alpha', 'b.conf': 'beta' })
    const chosen = filesOf({
      configMap: { name: 'c', defaultMode: 0o440, items: [{ key: 'a.conf', path: 'deep/a', mode: 0o400 }] },
    })
    expect([...chosen]).toEqual([['deep/a', { data: Buffer.from('alpha'), mode: 0o400 }]])
  })

  it('projects several sources into one volume', () => {
    const sources = [
      { configMap: { name: 'c', items: [{ key: 'a.conf', path: 'a' }] } },
      { secret: { name: 's' } },
      { serviceAccountToken: { path: 'token' } },
      {
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            {
              path: 'memory',
              resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1Mi' },
            },
          ],
        },
      },
    ]
    expect(texts(filesOf({ projected: { sources, defaultMode: 0o600 } }))).toEqual({
      a: 'alpha',
      key: 'hidden',
      token: 'jwt',
      labels: String.raw`a="1 \"quoted\""` + '\nb="2"',
      memory: '1024',
    })
  })

  it.each([
    [{ configMap: { name: 'none' } }, 'configmap "none" not found'],
    [{ secret: { secretName: 'none' } }, 'secret "none" not found'],
    [{ secret: { secretName: 's', items: [{ key: 'none', path: 'p' }] } }, 'non-existent key: none'],
    [{ secret: { secretName: 's', items: [{ key: 'key', path: '../../etc/passwd' }] } }, 'not a path inside'],
    [{ secret: { secretName: 's', items: [{ key: 'key', path: '/etc/passwd' }] } }, 'not a path inside'],
    [{ secret: { secretName: 's', items: [{ key: 'key', path: '..data' }] } }, 'not a path inside'],
    [{ projected: { sources: [{ serviceAccountToken: { path: 'other' } }] } }, 'no token for other'],
    [{ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'spec.x' } }] } }, 'spec.x'],
  ])('is not ready with %j', (source, message) => {
    expect(() => filesOf(source)).toThrow(message)
  })

  it('is empty when what it is made of is optional and not there', () => {
    expect(filesOf({ configMap: { name: 'none', optional: true } }).size).toBe(0)
    expect(filesOf({ secret: { secretName: 'none', optional: true } }).size).toBe(0)
  })
})

describe('publishFiles', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-publish-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')

  it('publishes files as links through one that is swapped', async () => {
    expect(
      await publishFiles(
        folder,
        new Map([
          ['a', file('1')],
          ['deep/b', file('2', 0o400)],
        ]),
      ),
    ).toBe(true)
    expect([read('a'), read('deep/b')]).toEqual(['1', '2'])
    expect(readlinkSync(join(folder, 'a'))).toBe('..data/a')
    expect(statSync(join(folder, 'deep/b')).mode & 0o777).toBe(0o400)
    const before = readlinkSync(join(folder, '..data'))
    expect(
      await publishFiles(
        folder,
        new Map([
          ['a', file('new')],
          ['c', file('3')],
        ]),
      ),
    ).toBe(true)
    expect(readlinkSync(join(folder, '..data'))).not.toBe(before)
    expect(
      readdirSync(folder)
        .filter((name) => !name.startsWith('..'))
        .sort(),
    ).toEqual(['a', 'c'])
    expect([read('a'), read('c')]).toEqual(['new', '3'])
    expect(readdirSync(folder).filter((name) => name.startsWith('..'))).toHaveLength(2)
  })

  it('changes nothing when nothing has changed, and mends what a kill left', async () => {
    const files = new Map([['a', file('1')]])
    await publishFiles(folder, files)
    expect(await publishFiles(folder, files)).toBe(false)
    symlinkSync('..gone', join(folder, '..data_tmp'))
    expect(await publishFiles(folder, new Map([['a', file('2')]]))).toBe(true)
    expect(read('a')).toBe('2')
  })

  it('gives others their turn while it writes thousands of keys', async () => {
    const files = new Map(Array.from({ length: 3000 }, (_, index) => [`key-${index}`, file(String(index))]))
    let turns = 0
    let done = false
    const count = () => {
      turns += 1
      if (!done) setImmediate(count)
    }
    count()
    expect(await publishFiles(folder, files)).toBe(true)
    expect(turns).toBeGreaterThan(3000 / 32)
    turns = 0
    expect(await publishFiles(folder, files)).toBe(false)
    expect(turns).toBeGreaterThan(3000 / 64)
    expect(await publishFiles(folder, new Map([['only', file('one')]]))).toBe(true)
    done = true
    expect(readdirSync(folder).filter((name) => !name.startsWith('..'))).toEqual(['only'])
  }, 30_000)
})
