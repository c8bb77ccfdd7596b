import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { ResolversFile, upstreamsIn } from './resolvers-file.ts'

it('the resolvers are those of the file, each once and only what is an address', () => {
  const text =
    '# a comment\nnameserver 192.0.2.1\n nameserver\tfe80::1%eth0 \nnameserver 192.0.2.1\nnameserver no\nnameserver\nsearch x\n'
  expect(upstreamsIn(text)).toEqual([
    { address: '192.0.2.1', port: 53 },
    { address: 'fe80::1%eth0', port: 53 },
  ])
})

it('the resolvers are those of now after the file has changed, and the last known ones while it is away', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'resolv-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'resolv.conf')
  const clock = new FakeClock()
  const file = new ResolversFile(clock, path)
  expect(await file.upstreams()).toEqual([])
  await writeFile(path, 'nameserver 192.0.2.1\n')
  await clock.advance(5_000)
  expect(await file.upstreams()).toEqual([{ address: '192.0.2.1', port: 53 }])
  await writeFile(path, 'nameserver 192.0.2.2\n')
  expect(await file.upstreams()).toEqual([{ address: '192.0.2.1', port: 53 }])
  await clock.advance(5_000)
  expect(await file.upstreams()).toEqual([{ address: '192.0.2.2', port: 53 }])
  await rm(path)
  await clock.advance(5_000)
  expect(await file.upstreams()).toEqual([{ address: '192.0.2.2', port: 53 }])
})
