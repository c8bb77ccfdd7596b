import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataDirectory } from './data-directory.ts'

describe('DataDirectory', () => {
  let root: string
  beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'sluice-data-'))))
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const openInChild = () => {
    const module = JSON.stringify(new URL('data-directory.ts', import.meta.url).href)
    const code = `
      const { DataDirectory } = await import(${module})
      try { DataDirectory.open(process.argv[1]); console.log('open') } catch (error) { console.log(error.code + ': ' + error.message) }
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, root], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.setEncoding('utf8')
    return child
  }

  it('refuses a second process and names the first', async () => {
    const directory = DataDirectory.open(root)
    const child = openInChild()
    const [line] = (await once(child.stdout, 'data')) as [string]
    child.kill('SIGKILL')
    expect(line).toContain('data_directory_in_use')
    expect(line).toContain(`process ${process.pid}`)
    directory.close()
  })

  it('is free again when its owner was killed', async () => {
    const child = openInChild()
    expect((await once(child.stdout, 'data'))[0]).toContain('open')
    child.kill('SIGKILL')
    await once(child, 'exit')
    DataDirectory.open(root).close()
  })

  it('keeps what it writes to its owner', () => {
    const directory = DataDirectory.open(root)
    directory.write('secret', 'x')
    expect(statSync(directory.path('secret')).mode & 0o777).toBe(0o600)
    expect(directory.read('secret')).toBe('x')
    expect(directory.read('missing')).toBeUndefined()
    directory.close()
  })
})
