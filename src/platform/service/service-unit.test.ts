import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ServiceScope, renderServiceUnit } from './service-unit.ts'
import { SystemService } from './system-service.ts'

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-service-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

describe('the unit', () => {
  it('keeps the words of the command as they are, whatever is in them', () => {
    const command = ['/opt/sluice', 'up', '--data', '/var/my data', '--cluster', 'a"b\\c', '--config', '/100%/$HOME']
    expect(renderServiceUnit({ scope: 'system', command })).toContain(
      'ExecStart=/opt/sluice up --data "/var/my data" --cluster "a\\"b\\\\c" --config /100%%/$$HOME\n',
    )
  })

  it.skipIf(!canVerify).each<ServiceScope>(['system', 'user'])(
    'is one that systemd finds nothing wrong with: %s',
    (scope) => {
      const path = join(folder, 'sluice-tried.service')
      writeFileSync(path, renderServiceUnit({ scope, command: ['/bin/true', 'up', '--data', '/tmp/a b'] }))
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', `--${scope}`, '--man=no', path], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: folder },
      })
      expect([status, stderr.split('\n').filter((line) => line.includes('sluice-tried'))]).toEqual([0, []])
    },
  )
})

describe('a service', () => {
  let calls: () => string[]
  beforeEach(() => {
    // Remembers what it is asked, and whether the unit runs.
    const script = `#!/bin/sh
echo "$@" >> ${folder}/calls
case "$*" in
  *restart*) touch ${folder}/active ;;
  *disable*) rm -f ${folder}/active ;;
  *is-active*) [ -e ${folder}/active ] && echo active || { echo inactive; exit 3; } ;;
  *is-enabled*) echo enabled ;;
esac`
    mkdirSync(join(folder, 'bin'))
    writeFileSync(join(folder, 'bin/systemctl'), script)
    chmodSync(join(folder, 'bin/systemctl'), 0o755)
    vi.stubEnv('PATH', `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`)
    calls = () => {
      const lines = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')
      writeFileSync(join(folder, 'calls'), '')
      return lines.filter((line) => !line.includes('--property=Version'))
    }
  })
  const service = () => new SystemService('sluice', 'user', { XDG_CONFIG_HOME: folder })

  it('is installed once, changed when it is another, and taken away', async () => {
    const { path } = service()
    expect(await service().install('one')).toBe('installed')
    expect(readFileSync(path, 'utf8')).toBe('one')
    expect(calls()).toEqual([
      '--user daemon-reload',
      '--user enable sluice.service',
      '--user is-active sluice.service',
      '--user restart sluice.service',
    ])
    expect(await service().install('one')).toBe('unchanged')
    expect(calls()).toEqual(['--user enable sluice.service', '--user is-active sluice.service'])
    expect(await service().install('other')).toBe('changed')
    expect(calls()).toContain('--user restart sluice.service')
    expect(await service().state()).toEqual({ isInstalled: true, active: 'active', enabled: 'enabled' })
    expect(await service().uninstall()).toBe(true)
    expect([existsSync(path), await service().uninstall()]).toEqual([false, false])
    expect(await service().state()).toMatchObject({ isInstalled: false, active: 'inactive' })
  })

  it('changes nothing where no systemd answers, says what it says, and can be taken away all the same', async () => {
    const { path } = service()
    writeFileSync(join(folder, 'bin/systemctl'), '#!/bin/sh\necho "Failed to connect to bus: No medium found"; exit 1')
    await expect(service().install('one')).rejects.toThrow('says: Failed to connect to bus: No medium found.')
    expect(existsSync(path)).toBe(false)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'one')
    expect([await service().uninstall(), existsSync(path)]).toEqual([true, false])
  })
})
